/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/import.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "import/importer.h"
#include "import/input.h"

/* The first one that takes the beginning of a file for its own reads it. */
static const struct row {
    kymo_import_format format;
    kymo_format_is *is;
    kymo_format_read *read;
} formats[] = {
    {{"pprof", "a pprof profile"}, kymo_pprof_is, kymo_pprof_read},
    {{"jfr", "a JFR file"}, kymo_jfr_is, kymo_jfr_read},
    {{"firefox", "a Firefox profile"}, kymo_firefox_is, kymo_firefox_read},
    {{"collapsed", "collapsed stacks"}, kymo_collapsed_is, kymo_collapsed_read},
};

const kymo_import_format *kymo_import_format_at(size_t index)
{
    return index < KYMO_ARRAY_LEN(formats) ? &formats[index].format : NULL;
}

static const struct row *row_of(const char *plain, size_t len)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(formats); i++)
        if (formats[i].is(plain, len))
            return &formats[i];
    return NULL;
}

const kymo_import_format *kymo_import_format_of(const void *head, size_t len)
{
    char plain[KYMO_INPUT_HEAD];
    const struct row *row = row_of(plain, kymo_input_plain_head(head, len, plain));
    return row ? &row->format : NULL;
}

const kymo_import_format *kymo_import_format_of_fd(int fd)
{
    char head[KYMO_INPUT_HEAD];
    size_t len = kymo_input_peek(fd, head);
    return len ? kymo_import_format_of(head, len) : NULL;
}

/* ---- reading ---- */

static void deinit(kymo_importer *d)
{
    kymo_arena_deinit(&d->arena);
    kymo_vec_deinit(&d->threads);
    kymo_index_deinit(&d->thread_index);
    kymo_vec_deinit(&d->pids);
    kymo_index_deinit(&d->process_index);
}

static kymo_err read_into(const struct row *row, kymo_importer *d)
{
    kymo_err err = row->read(d);
    if (err == KYMO_OK)
        err = kymo_profile_finish(d->profile);
    return err;
}

kymo_err kymo_import_as(const kymo_import_format *format, const void *data, size_t len,
                        kymo_profile **out, kymo_error *detail)
{
    const struct row *row = (const struct row *)(const void *)format; /* its first member */
    kymo_importer d = {.data = data, .len = len, .format = format->name, .detail = detail};
    KYMO_TRY(kymo_profile_create(&d.profile));
    kymo_err err = read_into(row, &d);
    deinit(&d);
    if (err == KYMO_OK)
        *out = d.profile;
    else
        kymo_profile_destroy(d.profile);
    return err;
}

static kymo_err import(const kymo_bytes *bytes, kymo_profile **out, kymo_error *detail)
{
    const char *data = (const char *)bytes->data;
    size_t head = bytes->len < KYMO_INPUT_HEAD ? bytes->len : KYMO_INPUT_HEAD;
    const struct row *row = head ? row_of(data, head) : NULL;
    if (!row)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "not a format that Kymo reads");
    return kymo_import_as(&row->format, data, bytes->len, out, detail);
}

/* An error without a text of its own has its code's. */
static kymo_err explain(kymo_err err, const kymo_error *why, kymo_error *detail)
{
    if (err == KYMO_OK || !detail)
        return err;
    if (why->code != err)
        return kymo_error_set(detail, err, 0, "%s", kymo_err_text(err));
    *detail = *why;
    return err;
}

/* fd -1: of memory. */
static kymo_err read_and_import(int fd, const void *data, size_t len, kymo_profile **out,
                                kymo_error *detail)
{
    kymo_bytes bytes;
    kymo_error why = {.code = KYMO_OK};
    kymo_bytes_init(&bytes, KYMO_IMPORT_BYTES_MAX);
    kymo_err err = fd < 0 ? kymo_input_read_memory(data, len, &bytes, &why)
                          : kymo_input_read_fd(fd, &bytes, &why);
    if (err == KYMO_OK)
        err = import(&bytes, out, &why);
    kymo_bytes_deinit(&bytes);
    return explain(err, &why, detail);
}

kymo_err kymo_import_memory(const void *data, size_t len, kymo_profile **out, kymo_error *detail)
{
    return read_and_import(-1, data, len, out, detail);
}

kymo_err kymo_import_fd(int fd, kymo_profile **out, kymo_error *detail)
{
    return read_and_import(fd, NULL, 0, out, detail);
}

kymo_err kymo_import_file(const char *path, kymo_profile **out, kymo_error *detail)
{
    if (strcmp(path, "-") == 0)
        return kymo_import_fd(STDIN_FILENO, out, detail);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kymo_error_set_errno(detail, "%s", path);
    kymo_err err = kymo_import_fd(fd, out, detail);
    close(fd);
    return err;
}
