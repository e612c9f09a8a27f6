/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of /proc about memory, and what is written of them. The first byte says which text it is.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/parse.h"
#include "memory/process.h"
#include "memory/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct kymo_figures *f, char which, const char *text)
{
    switch (which) {
    case 's':
        kymo_memory_parse_lines(f, KYMO_GROUP_PROCESS, text);
        break;
    case 'r':
        kymo_memory_parse_lines(f, KYMO_GROUP_MAPS, text);
        break;
    case 't':
        kymo_memory_parse_stat(f, text, 100, 1);
        break;
    case 'l':
        kymo_memory_parse_limits(f, text);
        break;
    case 'p':
        for (unsigned i = 0; i < 3; i++)
            kymo_memory_parse_pressure(f, KYMO_GROUP_CGROUP_PRESSURE, i, text);
        break;
    case 'm':
        kymo_memory_parse_malloc_info(f, text);
        break;
    default:
        kymo_memory_parse_words(f, KYMO_GROUP_CGROUP_STAT, 0, text);
        kymo_memory_parse_words(f, KYMO_GROUP_CGROUP_EVENTS, 1, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    struct kymo_memory_view *view = calloc(1, sizeof *view);
    kymo_str out = {0};
    if (text && view) {
        memcpy(text, data + 1, size - 1);
        text[size - 1] = '\0';
        parse(&view->figures, (char)data[0], text);
        kymo_utf8_copy(view->name, sizeof view->name, text, strlen(text));
        kymo_memory_write_json(&out, view);
        kymo_memory_write_prometheus(&out, view);
    }
    kymo_str_deinit(&out);
    free(view);
    free(text);
    return 0;
}
