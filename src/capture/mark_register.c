/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_register.c - see mark.h.
 *
 * What is registered is copied with all that it points to, and the copy is what a static one is in
 * a C program: sites write to it, sessions learn it on its first use. The same content is the same
 * copy. A type is the same one if its name and its fields are the same. How it is shown is what the
 * first registration said. A type with other fields is another type, and the caller that registers
 * it is told so.
 *
 * Memory comes from mappings, since the program's malloc is not ours to call. Nothing is ever given
 * back: a program has a few hundred of these. One that makes them without end is stopped at
 * MEMORY_MAX.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/text_fit.h"
#include "buffer/definition.h"
#include "buffer/mark_field.h"
#include "capture/mark.h"

#define CHUNK_BYTES 65536u /* of a mapping */
#define MEMORY_MAX (8u << 20)
#define LEVELS 2u /* a category, and a part of it */

struct category_node {
    struct kymo_mark_category category; /* first: a pointer to it is one to the node */
    struct category_node *next;
};

struct type_node {
    struct kymo_mark_type type;
    struct type_node *next;
};

struct site_node {
    struct kymo_mark_site site;
    struct site_node *next;
};

/* A mapping begins with it. A process may fork in the middle of take, and the child then has this
 * state. `used` is one word, so at worst some bytes of the chunk stay unused. */
struct chunk {
    size_t bytes;
    size_t used;
};

static struct {
    uint32_t lock;
    struct chunk *chunk;
    size_t mapped_bytes;
    struct category_node *categories;
    struct type_node *types;
    struct site_node *sites;
} kept;

/* ---- memory; locked ---- */

static void *take(size_t bytes)
{
    struct chunk *c = kept.chunk;
    bytes = (bytes + 7) & ~(size_t)7;
    if (!c || bytes > c->bytes - c->used) {
        size_t whole = bytes + sizeof *c > CHUNK_BYTES ? bytes + sizeof *c : CHUNK_BYTES;
        if (whole > MEMORY_MAX - kept.mapped_bytes)
            return NULL;
        c = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c == MAP_FAILED)
            return NULL;
        *c = (struct chunk){whole, sizeof *c};
        kept.mapped_bytes += whole;
        kept.chunk = c;
    }
    void *at = (char *)c + c->used;
    c->used += bytes;
    return at;
}

/* A copy, no longer than a definition's text may be; NULL stays NULL. *failed: no memory. */
static const char *copy_text(const char *text, int *failed)
{
    if (!text || *failed)
        return NULL;
    size_t len = kymo_mark_text_len(text, KYMO_DEFINITION_TEXT_MAX + 1);
    len = kymo_text_fit(text, len, KYMO_DEFINITION_TEXT_MAX);
    char *to = take(len + 1);
    if (!to) {
        *failed = 1;
        return NULL;
    }
    memcpy(to, text, len);
    to[len] = '\0';
    return to;
}

static void *copy_array(const void *from, size_t bytes, int *failed)
{
    void *to = *failed || bytes == 0 ? NULL : take(bytes);
    if (to)
        memcpy(to, from, bytes);
    else if (bytes > 0)
        *failed = 1;
    return to;
}

/* ---- what is said ---- */

static int tell(int err, char *why, size_t why_size, const char *text)
{
    if (why && why_size > 0)
        (void)snprintf(why, why_size, "%s", text);
    return err;
}

static int refuse_memory(char *why, size_t why_size)
{
    return tell(KYMO_E_FULL, why, why_size, "there is no memory for more of these");
}

/* As copy_text has cut what it is compared with. */
static int is_same_text(const char *copy, const char *text)
{
    if (!copy || !text)
        return !copy == !text;
    size_t len = strlen(copy);
    return strncmp(copy, text, len) == 0 &&
           (text[len] == '\0' ||
            kymo_mark_text_len(text, KYMO_DEFINITION_TEXT_MAX + 1) > KYMO_DEFINITION_TEXT_MAX);
}

/* ---- categories ---- */

struct kymo_mark_category *kymo_mark_registered_category(const struct kymo_mark_category *after)
{
    const struct category_node *node = (const struct category_node *)(const void *)after;
    struct category_node *next =
        kymo_load_acquire(node ? (struct category_node *const *)&node->next : &kept.categories);
    return next ? &next->category : NULL;
}

/* Locked. *why is set on failure. */
static int keep_category(const struct kymo_mark_category *from, uint32_t level,
                         struct kymo_mark_category **out, const char **why)
{
    struct kymo_mark_category *parent = NULL;
    *why = "a category is a part of a part";
    if (level >= LEVELS)
        return KYMO_E_INVALID;
    *why = "a category has no name, or a colour or a size that there is not";
    if (from->size < sizeof *from || !from->name || from->name[0] == '\0' ||
        from->color >= KYMO_COLOR_COUNT)
        return KYMO_E_INVALID;
    if (from->parent) {
        int err = keep_category(from->parent, level + 1, &parent, why);
        if (err != KYMO_OK)
            return err;
    }
    struct category_node **end = &kept.categories;
    for (; *end; end = &(*end)->next) {
        if ((*end)->category.parent == parent && is_same_text((*end)->category.name, from->name)) {
            *out = &(*end)->category;
            return KYMO_OK;
        }
    }
    int failed = 0;
    const char *name = copy_text(from->name, &failed);
    struct category_node *node = failed ? NULL : take(sizeof *node);
    *why = "there is no memory for more categories";
    if (!node)
        return KYMO_E_FULL;
    *node = (struct category_node){.category = {.size = sizeof node->category,
                                                .name = name,
                                                .parent = parent,
                                                .color = from->color,
                                                .flags = from->flags}};
    /* Pairs with the acquire of kymo_mark_registered_category: a handler may be at the end. */
    kymo_store_release(end, node);
    *out = &node->category;
    return KYMO_OK;
}

int kymo_mark_category_register(const struct kymo_mark_category *category,
                                struct kymo_mark_category **out, char *why, size_t why_size)
{
    const char *text = "there is no category";
    (void)tell(KYMO_OK, why, why_size, "");
    if (!category || !out)
        return tell(KYMO_E_INVALID, why, why_size, text);
    kymo_mark_lock(&kept.lock);
    int err = keep_category(category, 0, out, &text);
    kymo_mark_unlock(&kept.lock);
    if (err != KYMO_OK)
        return tell(err, why, why_size, text);
    kymo_mark_links_add(*out);
    return KYMO_OK;
}

/* ---- types ---- */

static int has_same_fields(const struct kymo_mark_type *a, const struct kymo_mark_type *b)
{
    if (a->field_count != b->field_count || a->payload_bytes != b->payload_bytes)
        return 0;
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct kymo_mark_field *f = kymo_mark_field_at(a, i);
        const struct kymo_mark_field *g = kymo_mark_field_at(b, i);
        if (f->kind != g->kind || f->format != g->format || f->flags != g->flags ||
            !is_same_text(f->key, g->key))
            return 0;
    }
    return 1;
}

static struct kymo_mark_field *copy_fields(const struct kymo_mark_type *type, int *failed)
{
    struct kymo_mark_field *to =
        *failed || type->field_count == 0 ? NULL : take(type->field_count * sizeof *to);
    if (!to) {
        *failed = *failed || type->field_count > 0;
        return NULL;
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        to[i] = *kymo_mark_field_at(type, i);
        to[i].key = copy_text(to[i].key, failed);
        to[i].label = copy_text(to[i].label, failed);
    }
    return to;
}

static struct kymo_mark_row *copy_rows(const struct kymo_mark_row *from, int *failed)
{
    size_t n = 0;
    if (!from)
        return NULL;
    while (from[n].label)
        n++;
    struct kymo_mark_row *to = copy_array(from, (n + 1) * sizeof *to, failed);
    for (size_t i = 0; to && i < n; i++) {
        to[i].label = copy_text(to[i].label, failed);
        to[i].value = copy_text(to[i].value, failed);
    }
    return to;
}

static struct kymo_mark_graph *copy_graphs(const struct kymo_mark_graph *from, int *failed)
{
    size_t n = 0;
    if (!from)
        return NULL;
    while (from[n].key)
        n++;
    struct kymo_mark_graph *to = copy_array(from, (n + 1) * sizeof *to, failed);
    for (size_t i = 0; to && i < n; i++)
        to[i].key = copy_text(to[i].key, failed);
    return to;
}

/* Locked. *other: one of the same name that has other fields, or NULL. */
static int keep_type(const struct kymo_mark_type *from, const struct kymo_mark_type **out,
                     const struct kymo_mark_type **other)
{
    int failed = 0;
    *other = NULL;
    for (const struct type_node *n = kept.types; n; n = n->next) {
        if (!is_same_text(n->type.name, from->name))
            continue;
        if (has_same_fields(&n->type, from)) {
            *out = &n->type;
            *other = NULL;
            return KYMO_OK;
        }
        *other = &n->type;
    }
    struct kymo_mark_type copy = *from;
    copy.size = sizeof copy;
    copy.file = copy_text(from->file, &failed);
    copy.name = copy_text(from->name, &failed);
    copy.fields = copy_fields(from, &failed);
    copy.field_bytes = sizeof *copy.fields;
    copy.chart = copy_text(from->chart, &failed);
    copy.tooltip = copy_text(from->tooltip, &failed);
    copy.table = copy_text(from->table, &failed);
    copy.description = copy_text(from->description, &failed);
    copy.rows = copy_rows(from->rows, &failed);
    copy.graphs = copy_graphs(from->graphs, &failed);
    copy.color_key = copy_text(from->color_key, &failed);
    struct type_node *node = failed ? NULL : take(sizeof *node);
    if (!node)
        return KYMO_E_FULL;
    *node = (struct type_node){.type = copy, .next = kept.types};
    kept.types = node;
    *out = &node->type;
    return KYMO_OK;
}

static const char *file_of(const struct kymo_mark_type *type)
{
    return type->file ? type->file : "?";
}

/* "kv.py:12: type Request: a label names a field that it lacks: "uri"" */
static int refuse_type(const struct kymo_mark_type *type, const struct kymo_mark_fault *fault,
                       char *why, size_t why_size)
{
    if (why && why_size > 0)
        (void)snprintf(why, why_size,
                       fault->len ? "%s:%u: type %s: %s: \"%.*s\"" : "%s:%u: type %s: %s",
                       file_of(type), type->line, type->name ? type->name : "?", fault->what,
                       fault->len < 200 ? (int)fault->len : 200, fault->word);
    return KYMO_E_INVALID;
}

int kymo_mark_type_register(const struct kymo_mark_type *type, const struct kymo_mark_type **out,
                            char *why, size_t why_size)
{
    struct kymo_mark_fault fault;
    const struct kymo_mark_type *other;
    (void)tell(KYMO_OK, why, why_size, "");
    if (!type || !out)
        return tell(KYMO_E_INVALID, why, why_size, "there is no type");
    if (type->size < sizeof *type)
        return tell(KYMO_E_VERSION, why, why_size, "a type of a version that is not known");
    if (kymo_mark_type_is_faulty(type, &fault))
        return refuse_type(type, &fault, why, why_size);
    kymo_mark_lock(&kept.lock);
    int err = keep_type(type, out, &other);
    kymo_mark_unlock(&kept.lock);
    if (err != KYMO_OK)
        return refuse_memory(why, why_size);
    if (other && why && why_size > 0)
        (void)snprintf(why, why_size,
                       "%s:%u: type %s has other fields than the one of %s:%u: both are kept",
                       file_of(type), type->line, type->name, file_of(other), other->line);
    return KYMO_OK;
}

/* ---- sites ---- */

static int is_same_site(const struct kymo_mark_site *a, const struct kymo_mark_site *b)
{
    return a->category == b->category && a->type == b->type && a->kind == b->kind &&
           a->line == b->line && a->min_ns == b->min_ns && is_same_text(a->name, b->name) &&
           is_same_text(a->format, b->format) && is_same_text(a->file, b->file) &&
           is_same_text(a->function, b->function);
}

/* Locked; category and type of `from` are registered ones. */
static int keep_site(const struct kymo_mark_site *from, struct kymo_mark_site **out)
{
    int failed = 0;
    for (struct site_node *n = kept.sites; n; n = n->next) {
        if (is_same_site(&n->site, from)) {
            *out = &n->site;
            return KYMO_OK;
        }
    }
    struct kymo_mark_site copy = {
        .size = sizeof copy,
        .category = from->category,
        .type = from->type,
        .name = copy_text(from->name, &failed),
        .format = copy_text(from->format, &failed),
        .file = copy_text(from->file, &failed),
        .function = copy_text(from->function, &failed),
        .line = from->line,
        .kind = from->kind,
        .min_ns = from->min_ns,
    };
    struct site_node *node = failed ? NULL : take(sizeof *node);
    if (!node)
        return KYMO_E_FULL;
    *node = (struct site_node){.site = copy, .next = kept.sites};
    kept.sites = node;
    *out = &node->site;
    return KYMO_OK;
}

int kymo_mark_site_register(const struct kymo_mark_site *site, struct kymo_mark_site **out,
                            char *why, size_t why_size)
{
    struct kymo_mark_category *category = NULL;
    struct kymo_mark_site copy;
    (void)tell(KYMO_OK, why, why_size, "");
    if (!site || !out || site->size < sizeof *site)
        return tell(KYMO_E_VERSION, why, why_size, "a site of a version that is not known");
    if (!site->name || site->name[0] == '\0' || !site->category)
        return tell(KYMO_E_INVALID, why, why_size, "a site has no name, or no category");
    int has_cells = site->kind == KYMO_SITE_FORMAT || site->kind == KYMO_SITE_VALUES;
    if (site->kind > KYMO_SITE_VALUES || (has_cells && !site->format) ||
        (site->type && site->kind != KYMO_SITE_MARKER && site->kind != KYMO_SITE_SCOPE))
        return tell(KYMO_E_INVALID, why, why_size,
                    "a site's kind is none, or lacks its format, or can have no type");
    copy = *site;
    int err = kymo_mark_category_register(site->category, &category, why, why_size);
    if (err == KYMO_OK && site->type)
        err = kymo_mark_type_register(site->type, &copy.type, why, why_size);
    if (err != KYMO_OK)
        return err;
    copy.category = category;
    kymo_mark_lock(&kept.lock);
    err = keep_site(&copy, out);
    kymo_mark_unlock(&kept.lock);
    return err == KYMO_OK ? KYMO_OK : refuse_memory(why, why_size);
}

void kymo_mark_register_after_fork(void)
{
    kymo_store_relaxed(&kept.lock, 0u);
}
