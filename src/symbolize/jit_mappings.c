/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/jit_files.h"

#include <stdlib.h>
#include <string.h>

#define MODULES_MAX 4096
#define MAPPINGS_MAX 4096

void kymo_jit_mappings_deinit(struct kymo_jit_mappings *m)
{
    for (size_t i = 0; i < m->modules.len; i++) {
        free((void *)(uintptr_t)m->modules.data[i].path);
        free((void *)(uintptr_t)m->modules.data[i].build_id);
    }
    kymo_vec_deinit(&m->modules);
    kymo_vec_deinit(&m->mappings);
}

kymo_err kymo_jit_mappings_module(struct kymo_jit_mappings *m, const kymo_event_module *module)
{
    kymo_event_module copy = *module;
    if (module->path[0] != '/' || m->modules.len >= MODULES_MAX)
        return KYMO_OK;
    uint8_t *build_id = malloc(module->build_id_len + 1u);
    char *path = strdup(module->path);
    if (build_id && module->build_id_len)
        memcpy(build_id, module->build_id, module->build_id_len);
    copy.build_id = build_id;
    copy.path = path;
    kymo_err err = build_id && path ? kymo_vec_push(&m->modules, copy) : KYMO_E_NOMEM;
    if (err != KYMO_OK) {
        free(build_id);
        free(path);
    }
    return err;
}

static int is_known(const struct kymo_jit_mappings *m, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < m->mappings.len; i++)
        if (m->mappings.data[i].start == start && m->mappings.data[i].end == end)
            return 1;
    return 0;
}

static void take_mapping(struct kymo_jit_mappings *m, const struct kymo_proc_mapping *mapping)
{
    struct kymo_jit_mapping at = {.start = mapping->start,
                                  .end = mapping->end,
                                  .offset = mapping->offset,
                                  .module = SIZE_MAX};
    for (size_t i = 0; i < m->modules.len; i++) {
        const kymo_event_module *module = &m->modules.data[i];
        if (at.start < module->end && module->start < at.end)
            return; /* mapped by its loader */
        if (strcmp(module->path, mapping->path) == 0)
            at.module = i;
    }
    if (at.module != SIZE_MAX && m->mappings.len < MAPPINGS_MAX && !is_known(m, at.start, at.end))
        (void)kymo_vec_push(&m->mappings, at);
}

int kymo_jit_mapping_next(FILE *maps, char line[KYMO_JIT_LINE_MAX], struct kymo_proc_mapping *out)
{
    while (fgets(line, KYMO_JIT_LINE_MAX, maps))
        if (kymo_proc_mapping_parse(line, out) && out->is_executable)
            return 1;
    return 0;
}

void kymo_jit_mappings_look(struct kymo_jit_mappings *m, pid_t pid)
{
    char line[KYMO_JIT_LINE_MAX];
    struct kymo_proc_mapping at;
    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(line, "re");
    while (maps && kymo_jit_mapping_next(maps, line, &at))
        if (at.path[0] == '/')
            take_mapping(m, &at);
    if (maps)
        fclose(maps);
}

void kymo_jit_mappings_get(const struct kymo_jit_mappings *m, size_t mapping,
                           kymo_event_module *out)
{
    const struct kymo_jit_mapping *at = &m->mappings.data[mapping];
    *out = m->modules.data[at->module];
    /* The same byte of the file has the same address in the ELF file. */
    uint64_t address = out->start - out->load_bias + (at->offset - out->file_offset);
    out->load_bias = at->start - address;
    out->start = at->start;
    out->end = at->end;
    out->file_offset = at->offset;
    out->load_ns = 0;
}
