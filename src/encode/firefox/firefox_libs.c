/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox_libs.c - the files of code, with the names and ids that symbol servers use.
 */
#include "encode/firefox/firefox.h"

/* The debug id as Breakpad makes it: the first 16 bytes of the build-id as a GUID, whose first
 * three fields are little-endian, and the age, which is 0 for ELF. */
static void breakpad_id(const kymo_module *m, char out[33])
{
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < 16; i++) {
        uint8_t byte = m->build_id[order[i]]; /* zeros beyond its length */
        out[2 * i] = hex[byte >> 4];
        out[2 * i + 1] = hex[byte & 15];
    }
    out[32] = '0';
}

static void write_code_id(kymo_json *j, const kymo_module *m)
{
    static const char hex[] = "0123456789abcdef";
    kymo_json_key(j, "codeId");
    if (m->build_id_len == 0) {
        kymo_json_null(j);
        return;
    }
    char text[2 * KYMO_BUILD_ID_MAX];
    for (uint32_t i = 0; i < m->build_id_len; i++) {
        text[2 * i] = hex[m->build_id[i] >> 4];
        text[2 * i + 1] = hex[m->build_id[i] & 15];
    }
    kymo_json_string(j, text, 2 * (size_t)m->build_id_len);
}

void kymo_firefox_put_libs(kymo_firefox *w)
{
    kymo_json *j = w->json;
    char id[33];
    kymo_json_key_array(j, "libs");
    for (uint32_t i = 0; i < w->p->modules.len; i++) {
        const kymo_module *m = &w->p->modules.data[i];
        if (w->p->module_ids.data[i].file != i)
            continue;
        kymo_json_begin_object(j);
        kymo_json_key_cstr(j, "arch", m->arch);
        kymo_json_key_cstr(j, "name", m->name);
        kymo_json_key_cstr(j, "path", m->path);
        kymo_json_key_cstr(j, "debugName", m->name);
        kymo_json_key_cstr(j, "debugPath", m->path);
        breakpad_id(m, id);
        kymo_json_key(j, "breakpadId");
        kymo_json_string(j, id, sizeof id);
        write_code_id(j, m);
        kymo_json_end_object(j);
    }
    kymo_json_end_array(j);
}
