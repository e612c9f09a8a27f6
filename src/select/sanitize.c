/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitize.c - what becomes of text, by its role.
 *
 * Names of functions stay, since a profile without them is worthless, and so do the base names of
 * files of code. Both may hold more: generated code is called "py::f:/home/ann/x.py", a source of a
 * script is a URL. So paths, URLs and the host's name are looked for in names, too.
 *
 * Names of threads, processes, markers and tracks are constants in most programs, but a program may
 * make them of its data. One that looks like data is replaced; is_name says what does.
 */
#include "select/sanitize.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kymo/profile.h"

enum {
    NAME_MAX_KEPT = 80,  /* bytes; longer names are data */
    DIGITS_MAX_KEPT = 4, /* together; more are the number of an account, say */
    HOSTNAME_LEAST = 2,  /* bytes; shorter ones are in any word */
    DOTTED_MAX_KEPT = 1, /* "3.11" is a version, "10.0.0.1" an address */
};

/* Each profile is a table of strings only: the number of a text is its id, from 1 on. */
struct kymo_sanitizer {
    kymo_profile *texts;
    kymo_profile *names;
    kymo_profile *folders;
    kymo_profile *files;
    char *hostname; /* NULL: not known */
};

kymo_err kymo_sanitizer_create(const char *hostname, kymo_sanitizer **out)
{
    kymo_sanitizer *s = calloc(1, sizeof *s);
    if (!s)
        return KYMO_E_NOMEM;
    kymo_profile **tables[] = {&s->texts, &s->names, &s->folders, &s->files};
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < KYMO_ARRAY_LEN(tables); i++)
        err = kymo_profile_create(tables[i]);
    if (err == KYMO_OK && hostname && strlen(hostname) >= HOSTNAME_LEAST) {
        s->hostname = strdup(hostname);
        err = s->hostname ? KYMO_OK : KYMO_E_NOMEM;
    }
    if (err == KYMO_OK)
        *out = s;
    else
        kymo_sanitizer_destroy(s);
    return err;
}

void kymo_sanitizer_destroy(kymo_sanitizer *sanitizer)
{
    if (!sanitizer)
        return;
    kymo_profile_destroy(sanitizer->texts);
    kymo_profile_destroy(sanitizer->names);
    kymo_profile_destroy(sanitizer->folders);
    kymo_profile_destroy(sanitizer->files);
    free(sanitizer->hostname);
    free(sanitizer);
}

static kymo_err put_number(kymo_profile *table, const char *what, const char *text, size_t len,
                           kymo_str *out)
{
    uint32_t number;
    KYMO_TRY(kymo_profile_add_string(table, text, len, &number));
    kymo_str_printf(out, "%s%u", what, number);
    return KYMO_OK;
}

/* ---- the host's name ---- */

static int is_at(const char *text, size_t at, size_t len, const char *word, size_t word_len)
{
    return word_len >= HOSTNAME_LEAST && len - at >= word_len &&
           strncasecmp(text + at, word, word_len) == 0 &&
           (at == 0 || !isalnum((unsigned char)text[at - 1])) &&
           (at + word_len == len || !isalnum((unsigned char)text[at + word_len]));
}

/* The host's name as a word at this place, or its part up to the first dot, is so long; 0: none is.
 */
static size_t host_len(const kymo_sanitizer *s, const char *text, size_t at, size_t len)
{
    size_t full = s->hostname ? strlen(s->hostname) : 0;
    size_t first = s->hostname ? strcspn(s->hostname, ".") : 0;
    return is_at(text, at, len, s->hostname, full)    ? full
           : is_at(text, at, len, s->hostname, first) ? first
                                                      : 0;
}

static int has_host(const kymo_sanitizer *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (host_len(s, text, i, len))
            return 1;
    return 0;
}

static void put_without_host(const kymo_sanitizer *s, const char *text, size_t len, kymo_str *out)
{
    for (size_t i = 0, n; i < len; i += n) {
        n = host_len(s, text, i, len);
        if (n > 0)
            kymo_str_puts(out, "[host]");
        else
            kymo_str_append(out, text + i, n = 1);
    }
}

/* ---- paths ---- */

static const char *find_url(const char *text, size_t len)
{
    return memmem(text, len, "://", 3);
}

/* The base name of a path without a URL's query. */
static const char *base_of(const char *path, size_t len, size_t *base_len)
{
    const char *end = path + len;
    for (const char *c = path; find_url(path, len) && c < end; c++)
        if (*c == '?' || *c == '#')
            end = c;
    const char *slash = memrchr(path, '/', (size_t)(end - path));
    const char *base = slash ? slash + 1 : path;
    *base_len = (size_t)(end - base);
    return base;
}

static kymo_err put_folder(kymo_sanitizer *s, const char *path, const char *base, kymo_str *out)
{
    if (base == path)
        return KYMO_OK;
    KYMO_TRY(put_number(s->folders, "dir", path, (size_t)(base - path), out));
    kymo_str_append(out, "/", 1);
    return KYMO_OK;
}

static kymo_err put_path(kymo_sanitizer *s, const char *path, size_t len, kymo_str *out)
{
    size_t base_len;
    const char *base = base_of(path, len, &base_len);
    KYMO_TRY(put_folder(s, path, base, out));
    put_without_host(s, base, base_len, out);
    return KYMO_OK;
}

/* "[heap]" is no file. */
static kymo_err put_file(kymo_sanitizer *s, const char *path, size_t len, kymo_str *out)
{
    size_t base_len;
    const char *base = base_of(path, len, &base_len);
    if (*path == '[') {
        put_without_host(s, path, len, out);
        return KYMO_OK;
    }
    KYMO_TRY(put_folder(s, path, base, out));
    return put_number(s->files, "file ", base, base_len, out);
}

/* ---- names in code ---- */

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static int ends_token(char c)
{
    return c == '\0' || strchr("()[]<>\"'`,;|", c) != NULL;
}

/* What ends a path or URL within a name. */
static size_t token_len(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && !isspace((unsigned char)text[n]) && !ends_token(text[n]))
        n++;
    return n;
}

/* A folder's name may have blanks: a path goes on to its last slash. */
static size_t path_len(const char *text, size_t len)
{
    size_t last = 0;
    for (size_t n = 0; n < len && !ends_token(text[n]); n++)
        if (text[n] == '/')
            last = n;
    return last + token_len(text + last, len - last);
}

/* "operator/(" and "github.com/x" are no absolute paths. */
static int begins_path(const char *text, size_t at, size_t len)
{
    if (text[at] != '/' || at + 1 >= len || !is_word(text[at + 1]))
        return 0;
    return at == 0 || !(is_word(text[at - 1]) || text[at - 1] == ')' || text[at - 1] == '/');
}

/* The scheme of a URL that begins here is so long; 0: none does. */
static size_t scheme_len(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && (isalnum((unsigned char)text[n]) || text[n] == '+' || text[n] == '-'))
        n++;
    return n > 0 && len - n > 3 && memcmp(text + n, "://", 3) == 0 ? n : 0;
}

static void put_code(const kymo_sanitizer *s, const char *text, size_t len, kymo_str *out)
{
    for (size_t i = 0, n; i < len; i += n) {
        size_t base_len;
        int is_start = i == 0 || !isalnum((unsigned char)text[i - 1]);
        if (is_start && scheme_len(text + i, len - i)) {
            n = token_len(text + i, len - i);
            kymo_str_puts(out, "[url]");
        } else if (begins_path(text, i, len)) {
            n = path_len(text + i, len - i);
            const char *base = base_of(text + i, n, &base_len);
            put_without_host(s, base, base_len, out);
        } else if ((n = host_len(s, text, i, len)) > 0) {
            kymo_str_puts(out, "[host]");
        } else {
            kymo_str_append(out, text + i, n = 1);
        }
    }
}

/* ---- names that may be chosen at run time ---- */

static int is_name_byte(unsigned char c)
{
    return isalnum(c) || (c && strchr(" _-.:()<>[]", c));
}

static int is_name(const kymo_sanitizer *s, const char *text, size_t len)
{
    size_t digits = 0, dotted = 0;
    if (len > NAME_MAX_KEPT || has_host(s, text, len))
        return 0;
    for (size_t i = 0; i < len; i++) {
        digits = isdigit((unsigned char)text[i]) ? digits + 1 : 0;
        dotted += text[i] == '.' && i > 0 && i + 1 < len && isdigit((unsigned char)text[i - 1]) &&
                  isdigit((unsigned char)text[i + 1]);
        if (!is_name_byte((unsigned char)text[i]) || digits > DIGITS_MAX_KEPT)
            return 0;
    }
    return dotted <= DOTTED_MAX_KEPT;
}

/* ---- */

kymo_err kymo_sanitize(kymo_sanitizer *sanitizer, kymo_text_role role, const char *text, size_t len,
                       kymo_str *out)
{
    size_t base_len;
    kymo_err err = KYMO_OK;
    switch (len > 0 ? role : KYMO_TEXT_LITERAL) {
    case KYMO_TEXT_CODE:
        put_code(sanitizer, text, len, out);
        break;
    case KYMO_TEXT_NAME:
        if (!is_name(sanitizer, text, len))
            err = put_number(sanitizer->names, "name ", text, len, out);
        else
            kymo_str_append(out, text, len);
        break;
    case KYMO_TEXT_PATH:
        err = put_path(sanitizer, text, len, out);
        break;
    case KYMO_TEXT_FILE:
        err = put_file(sanitizer, text, len, out);
        break;
    case KYMO_TEXT_PROGRAM:
        text = base_of(text, len, &base_len);
        put_without_host(sanitizer, text, base_len, out);
        break;
    case KYMO_TEXT_VALUE:
        err = put_number(sanitizer->texts, "text ", text, len, out);
        break;
    default:
        kymo_str_append(out, text, len);
    }
    return err == KYMO_OK && out->failed ? KYMO_E_NOMEM : err;
}
