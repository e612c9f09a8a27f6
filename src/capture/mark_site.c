/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_site.c - what markers refer to, copied into the session when it is first needed: see mark.h.
 *
 * The program's own memory is read once, here. From then on a site is its number, and what a marker
 * needs to know of its type is in the site itself: how many words, and whether they can be copied
 * as they are. Two threads that learn a site at once write the same into it.
 *
 * Literals are known by their address, for as long as no library is closed: another one's may lie
 * there afterwards. While one is being closed nothing is believed nor remembered.
 */
#include <stddef.h>
#include <string.h>

#include "buffer/mark_field.h"
#include "capture/mark.h"

#define NO_NUMBER UINT16_MAX /* in a site's id: there was no room */

uint32_t kymo_mark_define(struct kymo_capture_process *p, enum kymo_definition_kind kind,
                          kymo_definition_say *say, const void *what)
{
    uint32_t number =
        kymo_definition_intern(p->session, &p->plan, &p->definitions, kind, say, what);
    if (number == 0)
        kymo_count_loss(p, KYMO_LOSS_DEFINITION_FULL);
    return number;
}

static void say_text(struct kymo_definition_pen *pen, const char *text)
{
    /* One more than what is kept, so that the pen sees where a character ends. */
    kymo_definition_text(pen, text,
                         text ? kymo_mark_text_len(text, KYMO_DEFINITION_TEXT_MAX + 1) : 0);
}

/* ---- categories ---- */

struct category_said {
    const struct kymo_mark_category *category;
    uint32_t parent;
};

static void say_category(struct kymo_definition_pen *pen, const void *what)
{
    const struct category_said *c = what;
    say_text(pen, c->category->name);
    kymo_definition_word(pen, c->parent);
    kymo_definition_word(pen, c->category->color);
    kymo_definition_word(pen, c->category->flags);
}

uint32_t kymo_mark_category_define(struct kymo_capture_process *p,
                                   const struct kymo_mark_category *category)
{
    struct category_said said = {category, 0};
    if (!category)
        return 0;
    if (category->parent) {
        /* There are two levels: a parent's own parent is not looked at. */
        struct category_said parent = {category->parent, 0};
        said.parent = kymo_mark_define(p, KYMO_DEFINE_CATEGORY, say_category, &parent);
        if (said.parent == 0)
            return 0;
    }
    return kymo_mark_define(p, KYMO_DEFINE_CATEGORY, say_category, &said);
}

/* ---- types ---- */

const char *kymo_mark_type_fault(const struct kymo_mark_type *type)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    if (type->size < sizeof *type || type->field_bytes < sizeof(struct kymo_mark_field))
        return "the type is of an older version";
    if (!type->name)
        return "the type has no name";
    if (type->field_count > KYMO_DEFINITION_FIELDS_MAX)
        return "the type has more than 64 fields";
    if (type->field_count && !type->fields)
        return "the fields are not there";
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct kymo_mark_field *field = kymo_mark_field_at(type, i);
        if (!field->key)
            return "a field has no key";
        if (!kymo_mark_kind_bytes(field->kind))
            return "a field is of no known kind";
        if (field->format >= KYMO_FORMAT_COUNT)
            return "a field has no known format";
        (void)kymo_mark_layout_next(&layout, field->kind);
    }
    if (!kymo_mark_layout_has(&layout, type->payload_bytes))
        return "payload_bytes is not what the fields make";
    return NULL;
}

static void say_fields(struct kymo_definition_pen *pen, const struct kymo_mark_type *type)
{
    kymo_definition_word(pen, type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct kymo_mark_field *field = kymo_mark_field_at(type, i);
        say_text(pen, field->key);
        say_text(pen, field->label);
        kymo_definition_word(pen, field->kind | (uint32_t)field->format << 8 |
                                      (uint64_t)field->flags << 16);
    }
}

static void say_rows(struct kymo_definition_pen *pen, const struct kymo_mark_row *rows)
{
    uint32_t count = 0;
    while (rows && count < KYMO_DEFINITION_ROWS_MAX && rows[count].label)
        count++;
    kymo_definition_word(pen, count);
    for (uint32_t i = 0; i < count; i++) {
        say_text(pen, rows[i].label);
        say_text(pen, rows[i].value);
    }
}

static void say_graphs(struct kymo_definition_pen *pen, const struct kymo_mark_graph *graphs)
{
    uint32_t count = 0;
    while (graphs && count < KYMO_DEFINITION_ROWS_MAX && graphs[count].key)
        count++;
    kymo_definition_word(pen, count);
    for (uint32_t i = 0; i < count; i++) {
        say_text(pen, graphs[i].key);
        kymo_definition_word(pen, graphs[i].kind);
        kymo_definition_word(pen, graphs[i].color);
    }
}

static void say_type(struct kymo_definition_pen *pen, const void *what)
{
    const struct kymo_mark_type *type = what;
    say_text(pen, type->name);
    kymo_definition_word(pen, type->show);
    kymo_definition_word(pen, type->is_stack_based);
    kymo_definition_word(pen, type->max_per_second);
    kymo_definition_word(pen, type->payload_bytes);
    say_text(pen, type->chart);
    say_text(pen, type->tooltip);
    say_text(pen, type->table);
    say_text(pen, type->description);
    say_text(pen, type->color_key);
    say_text(pen, type->file);
    kymo_definition_word(pen, type->line);
    say_fields(pen, type);
    say_rows(pen, type->rows);
    say_graphs(pen, type->graphs);
}

uint32_t kymo_mark_type_define(struct kymo_capture_process *p, const struct kymo_mark_type *type)
{
    return kymo_mark_define(p, KYMO_DEFINE_TYPE, say_type, type);
}

/* ---- sites ---- */

struct site_said {
    const struct kymo_mark_site *site;
    uint32_t category, type;
};

static void say_site(struct kymo_definition_pen *pen, const void *what)
{
    const struct site_said *s = what;
    kymo_definition_word(pen, s->category);
    kymo_definition_word(pen, s->type);
    say_text(pen, s->site->name);
    say_text(pen, s->site->format);
    say_text(pen, s->site->file);
    say_text(pen, s->site->function);
    kymo_definition_word(pen, s->site->line);
    kymo_definition_word(pen, s->site->kind);
    kymo_definition_word(pen, s->site->min_ns);
}

/* How payloads of this site are written. */
struct manner {
    uint32_t words, slow;
    uint64_t texts;
};

static uint32_t text_place(uint32_t kind)
{
    switch (kind) {
    case KYMO_KIND_LITERAL:
        return KYMO_MARK_TEXT_LITERAL;
    case KYMO_KIND_STR:
        return KYMO_MARK_TEXT_STR;
    case KYMO_KIND_TEXT:
        return KYMO_MARK_TEXT_COUNTED;
    default:
        return 0;
    }
}

static struct manner manner_of_type(const struct kymo_mark_type *type)
{
    struct kymo_mark_layout layout = KYMO_MARK_LAYOUT_BEGIN;
    struct manner m = {(type->payload_bytes + 7) / 8, 0, 0};
    uint32_t shift = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        struct kymo_mark_place f =
            kymo_mark_layout_next(&layout, kymo_mark_field_at(type, i)->kind);
        uint64_t place = text_place(f.kind);
        if (!kymo_mark_kind_is_slot(f.kind))
            continue;
        if (!place || shift + KYMO_MARK_TEXT_BITS > 64)
            return (struct manner){m.words, KYMO_MARK_BY_FIELD, 0};
        m.texts |= (place | f.at / 8 << KYMO_MARK_TEXT_KIND_BITS) << shift;
        shift += KYMO_MARK_TEXT_BITS;
    }
    /* Whole words come with nothing between their fields. Of others, what lies there is whatever
     * was on the program's stack: it is not to be recorded. */
    if (type->payload_bytes % 8 != 0)
        return (struct manner){m.words, KYMO_MARK_BY_FIELD, 0};
    m.slow = m.texts ? KYMO_MARK_TEXTS : 0;
    return m;
}

static struct manner manner_of(const struct kymo_mark_site *site)
{
    if (site->kind == KYMO_SITE_TEXT)
        return (struct manner){1, KYMO_MARK_TEXTS, KYMO_MARK_TEXT_ALONE};
    if (site->kind > KYMO_SITE_TEXT)
        return (struct manner){0, KYMO_MARK_BY_FIELD, 0};
    return site->type ? manner_of_type(site->type) : (struct manner){0};
}

/* Whether the site is as long as it has to be, and its kind fits its type. Some programs pass sites
 * that they have not registered. */
static int is_site(const struct kymo_mark_site *site)
{
    const struct kymo_mark_category *category = site->size < sizeof *site ? NULL : site->category;
    return category && category->size >= sizeof *category && category->name &&
           site->kind <= KYMO_SITE_VALUES && (!site->type || site->kind <= KYMO_SITE_SCOPE);
}

uint32_t kymo_mark_site_define(struct kymo_capture_process *p, struct kymo_mark_site *site)
{
    /* Nothing is written to it: where that would be, there may be something else. */
    if (kymo_unlikely(!is_site(site)))
        return 0;
    const struct kymo_mark_type *type = site->type;
    uint32_t epoch = p->mark_epoch << 16;
    uint32_t number = kymo_mark_site_number(site, epoch);
    struct site_said said = {.site = site};
    if (number || kymo_load_relaxed(&site->id) == (epoch | NO_NUMBER))
        return number;
    if (!type || !kymo_mark_type_fault(type)) {
        said.category = kymo_mark_category_define(p, site->category);
        said.type = type ? kymo_mark_type_define(p, type) : 0;
        if (said.category && (said.type || !type))
            number = kymo_mark_define(p, KYMO_DEFINE_SITE, say_site, &said);
    }
    if (number) {
        struct kymo_mark_known *known = &p->known[number];
        struct manner m = manner_of(site);
        /* Counted once, even if another thread defines the site at the same time. */
        if (kymo_exchange_acq_rel(&known->type, said.type) != said.type && said.type)
            kymo_add_relaxed(&p->known[said.type].sites, 1u);
        known->limit = type ? type->max_per_second : 0;
        kymo_store_relaxed(&site->words, m.words);
        kymo_store_relaxed(&site->texts, m.texts);
        kymo_store_relaxed(&site->slow, m.slow | (known->limit ? KYMO_MARK_LIMITED : 0));
    }
    kymo_store_relaxed(&site->min_ticks, kymo_mark_ticks(p, site->min_ns));
    /* Pairs with the acquire of kymo_mark_site_number. */
    kymo_store_release(&site->id, epoch | (number ? number : NO_NUMBER));
    return number;
}

/* ---- literals and tracks ---- */

struct named {
    const char *text;
    size_t len;
};

static void say_named(struct kymo_definition_pen *pen, const void *what)
{
    const struct named *n = what;
    kymo_definition_text(pen, n->text, n->len);
}

static void remember_literal(struct kymo_capture_process *p, uint32_t generation, uint64_t address,
                             uint32_t number)
{
    uint64_t *places = kymo_mark_literal_places(p, address);
    /* Where both are taken, either goes: two that are used in turn stay. */
    uint64_t *place = kymo_load_relaxed(&places[0]) == 0   ? &places[0]
                      : kymo_load_relaxed(&places[1]) == 0 ? &places[1]
                                                           : &places[address >> 4 & 1];
    kymo_store_relaxed(place, address << 16 | number);
    /* Another thread may have forgotten all of them since: then this one is of before that. */
    if (kymo_load_acquire(&p->session->module_generation) != generation)
        kymo_store_relaxed(place, 0u);
}

uint32_t kymo_mark_literal_define(struct kymo_capture_process *p, const char *text)
{
    uint32_t generation = kymo_load_acquire(&p->session->module_generation);
    uint32_t is_closing = kymo_load_relaxed(&p->closing);
    if (kymo_load_relaxed(&p->literal_generation) != generation) {
        for (uint32_t i = 0; i < KYMO_KNOWN_LITERALS; i++)
            kymo_store_relaxed(&p->literals[i], 0u);
        kymo_store_release(&p->literal_generation, generation);
    }
    struct named n = {text, kymo_mark_text_len(text, KYMO_DEFINITION_TEXT_MAX + 1)};
    uint32_t number = kymo_mark_define(p, KYMO_DEFINE_LITERAL, say_named, &n);
    if (number && !is_closing)
        remember_literal(p, generation, (uint64_t)(uintptr_t)text, number);
    return number;
}

uint64_t kymo_mark_track(const char *name, size_t len)
{
    struct kymo_capture_thread *t = kymo_mark_thread();
    struct named n = {name, len};
    if (!t || !name)
        return 0;
    uint32_t number = kymo_mark_define(t->process, KYMO_DEFINE_TRACK, say_named, &n);
    return number ? t->mark_epoch | number : 0;
}
