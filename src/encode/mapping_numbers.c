/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/mapping_numbers.h"

#include <stdlib.h>

static int same_mapping(const kymo_profile *p, uint32_t a, uint32_t b)
{
    const kymo_module *x = &p->modules.data[a];
    const kymo_module *y = &p->modules.data[b];
    return p->module_ids.data[a].file == p->module_ids.data[b].file && x->start == y->start &&
           x->end == y->end && x->file_offset == y->file_offset && x->load_bias == y->load_bias;
}

static kymo_err number(kymo_mapping_numbers *n, kymo_index *seen, uint32_t module)
{
    const kymo_module *m = &n->p->modules.data[module];
    uint64_t words[] = {n->p->module_ids.data[module].file, m->start, m->end, m->file_offset,
                        m->load_bias};
    uint64_t hash = kymo_hash_words(words, KYMO_ARRAY_LEN(words), kymo_hash_secret());
    uint32_t other;
    for (size_t probe = 0; kymo_index_find(seen, hash, &probe, &other);)
        if (same_mapping(n->p, module, other)) {
            n->of[module] = n->of[other];
            return KYMO_OK;
        }
    n->of[module] = ++n->count;
    n->module[n->count] = module;
    return kymo_index_put(seen, hash, module);
}

static int rank_of(const kymo_profile *p, uint32_t module)
{
    const kymo_module *m = &p->modules.data[module];
    return !m->is_main ? 2 : p->processes.data[m->process].is_main ? 0 : 1;
}

kymo_err kymo_mapping_numbers_init(kymo_mapping_numbers *n, const kymo_profile *p)
{
    kymo_index seen = {0};
    *n = (kymo_mapping_numbers){.p = p,
                                .of = calloc(p->modules.len + 1, sizeof(uint32_t)),
                                .module = calloc(p->modules.len + 1, sizeof(uint32_t))};
    kymo_err err = n->of && n->module ? KYMO_OK : KYMO_E_NOMEM;
    for (int rank = 0; rank < 3; rank++)
        for (uint32_t i = 0; err == KYMO_OK && i < p->modules.len; i++)
            if (rank_of(p, i) == rank)
                err = number(n, &seen, i);
    kymo_index_deinit(&seen);
    return err;
}

void kymo_mapping_numbers_deinit(kymo_mapping_numbers *n)
{
    free(n->of);
    free(n->module);
}

uint32_t kymo_mapping_number(const kymo_mapping_numbers *n, const kymo_frame *f, uint64_t *address)
{
    *address = f->address == KYMO_NO_ADDRESS ? 0 : f->address;
    if (f->module == KYMO_NONE)
        return 0;
    const kymo_module *m = &n->p->modules.data[f->module];
    *address = f->address + m->load_bias;
    return *address >= m->start && *address < m->end ? n->of[f->module] : 0;
}

size_t kymo_build_id_hex(const kymo_module *m, char out[2 * KYMO_BUILD_ID_MAX])
{
    static const char hex[] = "0123456789abcdef";
    for (uint32_t i = 0; i < m->build_id_len; i++) {
        out[2 * i] = hex[m->build_id[i] >> 4];
        out[2 * i + 1] = hex[m->build_id[i] & 15];
    }
    return 2 * (size_t)m->build_id_len;
}
