/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "profile/tables.h"

#include <string.h>

static int is_libc(const char *base)
{
    static const char *const starts[] = {"libc.so",     "libc-2",  "ld-linux",  "ld-2",
                                         "libpthread.", "libm.so", "libm-2",    "libdl.so",
                                         "librt.so",    "[vdso]",  "linux-vdso"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(starts); i++)
        if (kymo_str_starts(base, starts[i]))
            return 1;
    return 0;
}

static uint32_t judge_category(const kymo_module *m)
{
    const char *base = kymo_path_base(m->path);
    if (is_libc(base))
        return KYMO_CATEGORY_LIBC;
    if (m->is_main)
        return KYMO_CATEGORY_PROGRAM;
    if (kymo_str_starts(base, "[kernel") || kymo_str_ends(base, ".ko") ||
        strcmp(base, "[vsyscall]") == 0)
        return KYMO_CATEGORY_KERNEL;
    return base[0] == '[' ? KYMO_CATEGORY_OTHER : KYMO_CATEGORY_LIBRARY;
}

static uint64_t file_hash(const kymo_module *m, uint32_t path)
{
    return kymo_hash_bytes(m->build_id, m->build_id_len, kymo_hash_secret() ^ path);
}

static int find_file(const kymo_profile *p, const kymo_module *m, uint32_t path, uint32_t *file)
{
    uint32_t id;
    for (size_t probe = 0;
         kymo_index_find(&p->module_file_index, file_hash(m, path), &probe, &id);) {
        const kymo_module *other = &p->modules.data[id];
        if (p->module_ids.data[id].path == path && other->build_id_len == m->build_id_len &&
            memcmp(other->build_id, m->build_id, m->build_id_len) == 0) {
            *file = id;
            return 1;
        }
    }
    return 0;
}

kymo_err kymo_profile_add_module(kymo_profile *profile, const kymo_module *module, uint32_t *id)
{
    kymo_module row;
    kymo_module_ids ids;
    if (module->size < sizeof *module || module->process >= profile->processes.len ||
        module->build_id_len > KYMO_BUILD_ID_MAX || module->start > module->end ||
        module->category >= KYMO_CATEGORY_COUNT)
        return KYMO_E_INVALID;
    if (profile->modules.len >= KYMO_MODULES_MAX)
        return KYMO_E_TOO_BIG;
    row = *module;
    row.size = sizeof row;
    row.is_main = module->is_main != 0;
    row.symbols = KYMO_SYMBOLS_UNKNOWN;
    memset(row.build_id + row.build_id_len, 0, sizeof row.build_id - row.build_id_len);
    KYMO_TRY(kymo_profile_intern(profile, module->path, &ids.path, &row.path));
    const char *name = module->name && *module->name ? module->name : kymo_path_base(row.path);
    KYMO_TRY(kymo_profile_intern(profile, name, &ids.name, &row.name));
    const char *arch = module->arch && *module->arch ? module->arch : profile->meta.arch;
    KYMO_TRY(kymo_profile_intern(profile, arch, NULL, &row.arch));
    if (row.category == KYMO_CATEGORY_AUTO)
        row.category = judge_category(&row);

    KYMO_TRY(kymo_vec_reserve(&profile->modules, 1));
    KYMO_TRY(kymo_vec_reserve(&profile->module_ids, 1));
    uint32_t new_id = (uint32_t)profile->modules.len;
    ids.file = new_id;
    if (!find_file(profile, &row, ids.path, &ids.file))
        KYMO_TRY(kymo_index_put(&profile->module_file_index, file_hash(&row, ids.path), new_id));
    profile->modules.data[profile->modules.len++] = row;
    profile->module_ids.data[profile->module_ids.len++] = ids;
    *id = new_id;
    return KYMO_OK;
}

kymo_err kymo_profile_set_module_unload(kymo_profile *profile, uint32_t id, uint64_t unload_ns)
{
    if (id >= profile->modules.len)
        return KYMO_E_INVALID;
    profile->modules.data[id].unload_ns = unload_ns;
    return KYMO_OK;
}

kymo_err kymo_profile_set_module_symbols(kymo_profile *profile, uint32_t id, uint32_t state)
{
    if (id >= profile->modules.len || state >= KYMO_SYMBOLS_STATE_COUNT)
        return KYMO_E_INVALID;
    profile->modules.data[profile->module_ids.data[id].file].symbols = state;
    return KYMO_OK;
}

uint32_t kymo_profile_module_file(const kymo_profile *profile, uint32_t id)
{
    return id < profile->modules.len ? profile->module_ids.data[id].file : id;
}
