/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_dump.c - prints the events of a .kymo file as text.
 *
 * usage: recording_dump FILE              to standard output; the report to standard error
 *        recording_dump FILE EXPECTED     compares the text with a file; exit status 1 if they
 * differ recording_dump --update FILE EXPECTED recording_dump --make FILE [--compress]    writes
 * the sample recording
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/event_text.h"
#include "recording/recording.h"
#include "recording/sample_recording.h"

static int die(const char *what, const char *why)
{
    fprintf(stderr, "recording_dump: %s: %s\n", what, why);
    return 1;
}

static int make(const char *path, unsigned flags)
{
    kymo_bytes file;
    kymo_bytes_init(&file, 1u << 20);
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return die(path, "cannot be created");
    int ok = sample_recording_write(flags, &file) == KYMO_OK &&
             fwrite(file.data, 1, file.len, f) == file.len;
    ok = fclose(f) == 0 && ok;
    kymo_bytes_deinit(&file);
    return ok ? 0 : die(path, "cannot be written");
}

/* The dump and, as its last line, how the file ended. */
static int dump(const char *path, kymo_str *text)
{
    kymo_recording_report report;
    kymo_error detail;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return die(path, "cannot be opened");
    kymo_err err = kymo_recording_read_fd(fd, 0, &event_text_handler, text, &report, &detail);
    close(fd);
    if (err != KYMO_OK)
        kymo_str_printf(text, "# %s: %s\n", kymo_err_name(err), detail.message);
    else
        kymo_str_printf(text, "# version %u.%u: %s\n", report.major, report.minor,
                        report.text[0] != '\0' ? report.text : "whole");
    return 0;
}

static int compare(const kymo_str *text, const char *path)
{
    kymo_str expected = {0};
    char buffer[4096];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return die(path, "cannot be opened");
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
        kymo_str_append(&expected, buffer, n);
    fclose(f);
    const char *a = kymo_str_cstr(text);
    const char *b = kymo_str_cstr(&expected);
    int line = 1;
    size_t start = 0;
    for (size_t i = 0; a[i] == b[i] && a[i] != '\0'; i++) {
        if (a[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    int same = strcmp(a, b) == 0;
    if (!same)
        fprintf(stderr, "%s:%d: expected: %.*s\n%s:%d: found:    %.*s\n", path, line,
                (int)strcspn(b + start, "\n"), b + start, path, line, (int)strcspn(a + start, "\n"),
                a + start);
    kymo_str_deinit(&expected);
    return same ? 0 : 1;
}

static int update(const kymo_str *text, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return die(path, "cannot be created");
    int ok = fwrite(kymo_str_cstr(text), 1, text->len, f) == text->len;
    return fclose(f) == 0 && ok ? 0 : die(path, "cannot be written");
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "--make") == 0)
        return make(argv[2], argc > 3 ? KYMO_RECORDING_COMPRESS : 0);
    int to_update = argc == 4 && strcmp(argv[1], "--update") == 0;
    if (!to_update && argc != 2 && argc != 3) {
        fprintf(stderr, "usage: recording_dump [--update] FILE [EXPECTED]\n"
                        "       recording_dump --make FILE [--compress]\n");
        return 2;
    }
    kymo_str text = {0};
    int status = dump(argv[1 + to_update], &text);
    if (status == 0 && to_update)
        status = update(&text, argv[3]);
    else if (status == 0 && argc == 3)
        status = compare(&text, argv[2]);
    else if (status == 0)
        fputs(kymo_str_cstr(&text), stdout);
    kymo_str_deinit(&text);
    return status;
}
