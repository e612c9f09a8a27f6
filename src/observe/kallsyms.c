/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms.c - see kallsyms.h.
 *
 * A line is "ffffffff81000000 T name" or, for a module's symbol, "... t name\t[module]". The text
 * stays as it was read, with its line ends made NUL, and a symbol is 16 bytes that point into it.
 * Nothing says how long a function is: it reaches to whatever symbol comes next, data included. Of
 * several names for one address the one that a person would use stays.
 */
#include "observe/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/str.h"
#include "observe/kallsyms_table.h"

#define FILE_PATH "/proc/kallsyms"
#define TEXT_MAX (256u << 20)
/* A name says nothing of an address that lies farther behind it: modules leave gaps. */
#define FUNCTION_MAX (1ull << 20)
#define PREFIX "__pfx_"
/* The per-CPU variables that some kernels list first take less; one of them is not at 0. */
#define PROBE_BYTES 65536u

/* ---- reading ---- */

static int read_some(int fd, kymo_bytes *to, size_t most)
{
    char piece[16384];
    while (to->len < most) {
        ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (kymo_bytes_append(to, piece, (size_t)n) != KYMO_OK)
            return 0;
    }
    return 1;
}

static int has_address(const kymo_bytes *text)
{
    for (size_t at = 0; at < text->len;) {
        if (text->data[at] != '0' || strspn((char *)text->data + at, "0") < 16)
            return 1;
        const unsigned char *end = memchr(text->data + at, '\n', text->len - at);
        at = end ? (size_t)(end - text->data) + 1 : text->len;
    }
    return 0;
}

int kymo_kallsyms_is_readable(void)
{
    kymo_bytes text;
    kymo_bytes_init(&text, TEXT_MAX);
    int fd = open(FILE_PATH, O_RDONLY | O_CLOEXEC);
    int found = 0;
    /* As little as will do: the kernel takes half a microsecond for each line. */
    for (size_t most = 1; fd >= 0 && !found && most <= PROBE_BYTES; most *= 4) {
        if (!read_some(fd, &text, most) || kymo_bytes_append(&text, "", 1) != KYMO_OK)
            break;
        text.len--; /* the NUL that ends it */
        found = has_address(&text);
    }
    if (fd >= 0)
        close(fd);
    kymo_bytes_deinit(&text);
    return found;
}

kymo_err kymo_kallsyms_read(kymo_kallsyms **out)
{
    kymo_bytes text;
    kymo_bytes_init(&text, TEXT_MAX);
    int fd = open(FILE_PATH, O_RDONLY | O_CLOEXEC);
    kymo_err err = KYMO_E_NOT_FOUND;
    if (fd >= 0 && read_some(fd, &text, TEXT_MAX))
        err = kymo_kallsyms_parse((const char *)text.data, text.len, out);
    if (fd >= 0)
        close(fd);
    kymo_bytes_deinit(&text);
    return err;
}

/* ---- parsing ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of the module of this name; KYMO_KALLSYMS_MODULES_MAX when there are too many. */
static kymo_err find_module(kymo_kallsyms *t, const char *name, uint64_t address, uint32_t *number)
{
    uint64_t hash = kymo_hash_bytes(name, strlen(name), kymo_hash_secret());
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&t->module_index, hash, &probe, &at)) {
        if (strcmp(t->modules.data[at].name, name) == 0) {
            *number = at;
            return KYMO_OK;
        }
    }
    *number = (uint32_t)t->modules.len;
    if (*number == KYMO_KALLSYMS_MODULES_MAX)
        return KYMO_OK;
    KYMO_TRY(kymo_vec_push(&t->modules, (struct kymo_kallsyms_module){name, address}));
    return kymo_index_put(&t->module_index, hash, *number);
}

/* One line, NUL-terminated. What is not one is left out. */
static kymo_err add_line(kymo_kallsyms *t, char *line)
{
    uint64_t address = 0;
    uint32_t module = 0;
    int digits = 0;
    for (int value; digits < 16 && (value = hex_value(line[digits])) >= 0; digits++)
        address = address << 4 | (uint64_t)value;
    /* Those at 0 are hidden, the lowest ones offsets of variables: no code of a kernel. */
    if (digits != 16 || address < 1ull << 63 || line[16] != ' ' || !line[17] || line[18] != ' ')
        return KYMO_OK;
    char *name = line + 19;
    char *end = name + strcspn(name, "\t ");
    if (end == name)
        return KYMO_OK;
    char *bracket = *end ? end + 1 : end;
    *end = '\0';
    if (bracket[0] == '[')
        KYMO_TRY(find_module(t, bracket, address, &module));
    if (module == KYMO_KALLSYMS_MODULES_MAX)
        return KYMO_OK;
    if (address < t->modules.data[module].base)
        t->modules.data[module].base = address;
    struct kymo_kallsyms_symbol symbol = {.address = address,
                                          .name = (uint32_t)(name - t->text),
                                          .module = (uint16_t)module,
                                          .type = line[17]};
    return kymo_vec_push(&t->symbols, symbol);
}

static unsigned underscores(const char *name)
{
    return (unsigned)strspn(name, "_");
}

/* Whether a is the better name of the two: code, then global, then what is less internal. */
static int is_better(const kymo_kallsyms *t, const struct kymo_kallsyms_symbol *a,
                     const struct kymo_kallsyms_symbol *b)
{
    if (kymo_kallsyms_is_code(a->type) != kymo_kallsyms_is_code(b->type))
        return kymo_kallsyms_is_code(a->type);
    if ((a->type == 'T') != (b->type == 'T'))
        return a->type == 'T';
    return underscores(t->text + a->name) < underscores(t->text + b->name);
}

static int by_address(const void *a, const void *b)
{
    const struct kymo_kallsyms_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void keep_one_each(kymo_kallsyms *t)
{
    size_t kept = 0;
    int sorted = 1;
    for (size_t i = 1; sorted && i < t->symbols.len; i++)
        sorted = t->symbols.data[i - 1].address <= t->symbols.data[i].address;
    if (!sorted)
        qsort(t->symbols.data, t->symbols.len, sizeof *t->symbols.data, by_address);
    for (size_t i = 0; i < t->symbols.len; i++) {
        const struct kymo_kallsyms_symbol *s = &t->symbols.data[i];
        if (kept == 0 || t->symbols.data[kept - 1].address != s->address)
            t->symbols.data[kept++] = *s;
        else if (is_better(t, s, &t->symbols.data[kept - 1]))
            t->symbols.data[kept - 1] = *s;
    }
    t->symbols.len = kept;
}

/* The kernel has a symbol for the room before each function (__pfx_NAME), which is half of its
 * symbols. What runs there, if anything, counts the call of the function. */
static void join_prefixes(kymo_kallsyms *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->symbols.len; i++) {
        struct kymo_kallsyms_symbol s = t->symbols.data[i];
        const struct kymo_kallsyms_symbol *next = &t->symbols.data[i + 1];
        if (i + 1 < t->symbols.len && next->module == s.module &&
            next->address - s.address <= UINT8_MAX && kymo_kallsyms_is_code(next->type) &&
            kymo_str_starts(t->text + s.name, PREFIX) &&
            !kymo_str_starts(t->text + next->name, PREFIX)) {
            uint64_t begin = s.address;
            s = *next;
            s.prefix = (uint8_t)(s.address - begin);
            s.address = begin;
            i++;
        }
        t->symbols.data[kept++] = s;
    }
    t->symbols.len = kept;
}

static kymo_err parse_lines(kymo_kallsyms *t, size_t len)
{
    KYMO_TRY(
        kymo_vec_push(&t->modules, (struct kymo_kallsyms_module){KYMO_KERNEL_NAME, UINT64_MAX}));
    uint64_t text_address = 0;
    for (size_t at = 0; at < len;) {
        char *line = t->text + at;
        char *end = memchr(line, '\n', len - at);
        size_t line_len = end ? (size_t)(end - line) : len - at;
        line[line_len] = '\0';
        size_t before = t->symbols.len;
        KYMO_TRY(add_line(t, line));
        if (t->symbols.len > before && strcmp(line + 19, "_text") == 0)
            text_address = t->symbols.data[before].address;
        at += line_len + 1;
    }
    if (text_address)
        t->modules.data[0].base = text_address;
    return t->symbols.len ? KYMO_OK : KYMO_E_NOT_FOUND;
}

kymo_err kymo_kallsyms_parse(const char *text, size_t len, kymo_kallsyms **out)
{
    if (len > TEXT_MAX)
        return KYMO_E_TOO_BIG;
    kymo_kallsyms *t = calloc(1, sizeof *t);
    if (!t)
        return KYMO_E_NOMEM;
    t->text = malloc(len + 1);
    kymo_err err = t->text ? KYMO_OK : KYMO_E_NOMEM;
    if (err == KYMO_OK) {
        if (len)
            memcpy(t->text, text, len);
        t->text[len] = '\0';
        err = parse_lines(t, len);
    }
    if (err != KYMO_OK) {
        kymo_kallsyms_destroy(t);
        return err;
    }
    keep_one_each(t);
    join_prefixes(t);
    *out = t;
    return KYMO_OK;
}

void kymo_kallsyms_destroy(kymo_kallsyms *t)
{
    if (!t)
        return;
    if (t->packed)
        free(t->packed); /* symbols and text lie in it */
    else
        kymo_vec_deinit(&t->symbols);
    kymo_vec_deinit(&t->modules);
    kymo_index_deinit(&t->module_index);
    if (!t->packed)
        free(t->text);
    free(t);
}

/* ---- asking ---- */

size_t kymo_kallsyms_count(const kymo_kallsyms *t)
{
    return t->symbols.len;
}

/* Whether the packed symbol at the position, and the next one, say what lies between them. Code
 * that the kernel makes as it goes (BPF, trampolines) is not in the cache, but lies neither in the
 * kernel itself nor between two functions of a module. */
static int is_certain(const kymo_kallsyms *t, size_t at)
{
    const struct kymo_kallsyms_symbol *s = &t->symbols.data[at];
    if (at + 1 == t->symbols.len || s->module >= t->modules.len || s->name >= t->text_len)
        return 0;
    return s[1].module == s->module && (s->module == 0 || kymo_kallsyms_is_code(s[1].type));
}

enum kymo_kallsym_answer kymo_kallsyms_find(const kymo_kallsyms *t, uint64_t address,
                                            struct kymo_kallsym *out)
{
    size_t low = 0, high = t->symbols.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->symbols.data[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (t->packed && (low == 0 || !is_certain(t, low - 1)))
        return KYMO_KALLSYM_UNCERTAIN;
    if (low == 0)
        return KYMO_KALLSYM_NONE;
    const struct kymo_kallsyms_symbol *s = &t->symbols.data[low - 1];
    const struct kymo_kallsyms_module *m = &t->modules.data[s->module];
    /* What lies before _text is none of the kernel's functions. In a file that was meddled with,
     * the order may be any. */
    if (!kymo_kallsyms_is_code(s->type) || s->address > address ||
        address - s->address >= FUNCTION_MAX || s->address < m->base || !t->text[s->name])
        return KYMO_KALLSYM_NONE;
    uint64_t begin = s->address + s->prefix;
    *out = (struct kymo_kallsym){(uint32_t)(low - 1), begin - m->base,
                                 address > begin ? address - begin : 0, t->text + s->name, m->name};
    return KYMO_KALLSYM_FOUND;
}
