/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a perf map and a jitdump, whichever it looks like. Any bytes give entries that can
 * be: not empty, within the address space, with names that end and lines within the code.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/code_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LOOK_AT = 64 };

static bool wanted(void *user, uint64_t start, uint64_t size_bytes)
{
    (void)user;
    return ((start ^ size_bytes) & 7) != 7;
}

static void require(int holds)
{
    if (!holds)
        abort();
}

static void check(int fd, const kymo_jitdump *info, const kymo_code_entries *entries)
{
    static char name[KYMO_CODE_ENTRY_NAME_MAX + 1];
    kymo_code_lines lines = {0};
    for (size_t i = 0; i < entries->len; i++) {
        const kymo_code_entry *e = &entries->data[i];
        require(e->size_bytes > 0 && e->start <= UINT64_MAX - e->size_bytes);
        if (i >= LOOK_AT)
            continue;
        kymo_code_entry_name(fd, e, name);
        require(strlen(name) <= e->name_len);
        if (!info)
            continue;
        require(kymo_jitdump_lines(fd, info, e, &lines) == KYMO_OK);
        for (size_t k = 0; k < lines.lines.len; k++) {
            require(lines.lines.data[k].offset < e->size_bytes);
            require(lines.lines.data[k].file < lines.files.len);
        }
        for (size_t k = 0; k < lines.files.len; k++)
            require(strlen(lines.files.data[k]) <= e->lines_bytes);
    }
    kymo_code_lines_deinit(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    kymo_code_entries entries = {0};
    kymo_jitdump info = {0};
    bool cut;
    int fd = memfd_create("code", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    require(kymo_perf_map_read(fd, wanted, NULL, &entries, &cut) == KYMO_OK);
    check(fd, NULL, &entries);
    entries.len = 0;
    if (kymo_jitdump_read(fd, &info, &entries) == KYMO_OK)
        check(fd, &info, &entries);
    kymo_vec_deinit(&entries);
    close(fd);
    return 0;
}
