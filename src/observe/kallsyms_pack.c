/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms_pack.c - a table of symbols as bytes for a file, and back without reading them all.
 *
 *   header | modules | symbols | text
 *
 * The symbols are as they are in memory: a table of a hundred thousand is there as soon as its
 * bytes are. Their positions are looked at when they are used (kallsyms.c), the modules' here. The
 * checksum finds a file that was not written to its end; it is no defence, and the bounds are.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "observe/kallsyms_table.h"

#define MAGIC "KYMOKSY1"

struct packed_header {
    char magic[8];
    uint64_t key;
    uint64_t checksum; /* of all that follows the header */
    uint32_t module_count;
    uint32_t symbol_count;
    uint64_t text_bytes;
};

struct packed_module {
    uint64_t base;
    uint32_t name;
    uint32_t reserved;
};

static_assert(sizeof(struct packed_header) % 8 == 0, "symbols are aligned");
static_assert(sizeof(struct packed_module) % 8 == 0, "symbols are aligned");
static_assert(sizeof(struct kymo_kallsyms_symbol) == 16, "no padding");

static uint64_t checksum_of(const unsigned char *bytes, size_t len)
{
    return kymo_hash_bytes(bytes, len, 0);
}

/* What the kernel makes as it goes: "[bpf]", "[__builtin__ftrace]". */
static int is_passing(const char *module)
{
    return strcmp(module, "[bpf]") == 0 || strncmp(module, "[__builtin__", 12) == 0;
}

struct packing {
    kymo_bytes *out;
    kymo_bytes text;
    KYMO_VEC(uint16_t) module_of; /* by number: its new one; KYMO_KALLSYMS_MODULES_MAX: none */
};

static kymo_err put_text(struct packing *p, const char *text, uint32_t *offset)
{
    *offset = (uint32_t)p->text.len;
    return kymo_bytes_append(&p->text, text, strlen(text) + 1);
}

static kymo_err put_modules(struct packing *p, const kymo_kallsyms *table, uint32_t *count)
{
    *count = 0;
    for (size_t i = 0; i < table->modules.len; i++) {
        struct packed_module row = {.base = table->modules.data[i].base};
        uint16_t number = KYMO_KALLSYMS_MODULES_MAX;
        if (!is_passing(table->modules.data[i].name)) {
            number = (uint16_t)(*count)++;
            KYMO_TRY(put_text(p, table->modules.data[i].name, &row.name));
            KYMO_TRY(kymo_bytes_append(p->out, &row, sizeof row));
        }
        KYMO_TRY(kymo_vec_push(&p->module_of, number));
    }
    return KYMO_OK;
}

/* Of data in a row the first is enough: it says where the code before it ends. */
static kymo_err put_symbols(struct packing *p, const kymo_kallsyms *table, uint32_t *count)
{
    int after_data_of = -1;
    *count = 0;
    for (size_t i = 0; i < table->symbols.len; i++) {
        struct kymo_kallsyms_symbol row = table->symbols.data[i];
        const char *name = table->text + row.name;
        int is_code = kymo_kallsyms_is_code(row.type);
        row.module = p->module_of.data[row.module];
        if (row.module == KYMO_KALLSYMS_MODULES_MAX || (!is_code && after_data_of == row.module))
            continue;
        after_data_of = is_code ? -1 : row.module;
        KYMO_TRY(put_text(p, is_code ? name : "", &row.name));
        KYMO_TRY(kymo_bytes_append(p->out, &row, sizeof row));
        (*count)++;
    }
    return KYMO_OK;
}

static kymo_err put_all(struct packing *p, const kymo_kallsyms *table, uint64_t key)
{
    struct packed_header header = {.magic = MAGIC, .key = key};
    KYMO_TRY(kymo_bytes_append(p->out, &header, sizeof header));
    KYMO_TRY(put_modules(p, table, &header.module_count));
    KYMO_TRY(put_symbols(p, table, &header.symbol_count));
    header.text_bytes = p->text.len;
    KYMO_TRY(kymo_bytes_append(p->out, p->text.data, p->text.len));
    header.checksum = checksum_of(p->out->data + sizeof header, p->out->len - sizeof header);
    memcpy(p->out->data, &header, sizeof header);
    return KYMO_OK;
}

kymo_err kymo_kallsyms_pack(const kymo_kallsyms *table, uint64_t key, kymo_bytes *out)
{
    struct packing p = {.out = out};
    if (table->packed)
        return KYMO_E_INVALID;
    kymo_bytes_init(&p.text, UINT32_MAX);
    kymo_err err = put_all(&p, table, key);
    kymo_bytes_deinit(&p.text);
    kymo_vec_deinit(&p.module_of);
    return err;
}

static kymo_err take_modules(kymo_kallsyms *t, const unsigned char *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct packed_module row;
        memcpy(&row, rows + i * sizeof row, sizeof row);
        if (row.name >= t->text_len)
            return KYMO_E_CORRUPT;
        struct kymo_kallsyms_module module = {t->text + row.name, row.base};
        KYMO_TRY(kymo_vec_push(&t->modules, module));
    }
    return KYMO_OK;
}

static kymo_err check_header(const kymo_bytes *bytes, uint64_t key, struct packed_header *h)
{
    if (bytes->len < sizeof *h)
        return KYMO_E_CORRUPT;
    memcpy(h, bytes->data, sizeof *h);
    if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0 || h->key != key)
        return KYMO_E_NOT_FOUND;
    uint64_t rows = (uint64_t)h->module_count * sizeof(struct packed_module) +
                    (uint64_t)h->symbol_count * sizeof(struct kymo_kallsyms_symbol);
    size_t rest = bytes->len - sizeof *h;
    if (rows >= rest || h->text_bytes != rest - rows || h->module_count == 0 ||
        h->module_count > KYMO_KALLSYMS_MODULES_MAX || bytes->data[bytes->len - 1] != '\0' ||
        h->checksum != checksum_of(bytes->data + sizeof *h, rest))
        return KYMO_E_CORRUPT;
    return KYMO_OK;
}

kymo_err kymo_kallsyms_unpack(kymo_bytes *bytes, uint64_t key, kymo_kallsyms **out)
{
    struct packed_header h;
    KYMO_TRY(check_header(bytes, key, &h));
    kymo_kallsyms *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    unsigned char *modules = bytes->data + sizeof h;
    unsigned char *symbols = modules + h.module_count * sizeof(struct packed_module);
    t->packed = bytes->data;
    /* malloc's memory, and what lies before it is a multiple of 8 long. */
    t->symbols.data = (void *)symbols;
    t->symbols.len = h.symbol_count;
    t->text = (char *)symbols + h.symbol_count * sizeof *t->symbols.data;
    t->text_len = h.text_bytes;
    kymo_err err = take_modules(t, modules, h.module_count);
    if (err != KYMO_OK) {
        t->packed = NULL; /* the bytes stay the caller's */
        t->text = NULL;
        t->symbols.data = NULL;
        kymo_kallsyms_destroy(t);
        return err;
    }
    bytes->data = NULL;
    bytes->len = bytes->cap = 0;
    *out = t;
    return KYMO_OK;
}
