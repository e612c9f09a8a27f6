/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/mark_events.h"

#include "base/arena.h"
#include "buffer/definition.h"
#include "kymo/marker_abi.h"

/* Output of the reader. Texts are copied: those of a definition have no NUL. */
struct telling {
    const kymo_event_handler *events;
    void *context;
    uint32_t process;
    uint32_t number;
    struct kymo_definition_reader from;
    kymo_arena texts;
    int failed; /* no memory for one of them */
};

static uint32_t word(struct telling *t)
{
    uint64_t value = kymo_definition_read_word(&t->from);
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static const char *text(struct telling *t)
{
    uint32_t len;
    const char *bytes = kymo_definition_read_text(&t->from, &len);
    const char *copy = kymo_arena_strndup(&t->texts, bytes, len);
    t->failed |= !copy;
    return copy ? copy : "";
}

static uint32_t number_or_none(uint32_t number)
{
    return number ? number : KYMO_EVENT_NONE;
}

static uint32_t color(uint32_t value)
{
    return value < KYMO_COLOR_COUNT ? value : KYMO_COLOR_GREY;
}

static kymo_err tell_category(struct telling *t)
{
    kymo_event_marker_category e = {.process = t->process, .category = t->number};
    e.name = text(t);
    e.parent = number_or_none(word(t));
    e.color = color(word(t));
    e.flags = word(t);
    if (t->failed)
        return KYMO_E_NOMEM;
    return t->events->marker_category ? t->events->marker_category(t->context, &e) : KYMO_OK;
}

/* Members of an initializer may be evaluated in any order, so each is a statement. */
static void read_fields(struct telling *t, kymo_event_marker_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fields[i].key = text(t);
        fields[i].label = text(t);
        /* The drain has checked it: bits above these are ignored. */
        uint32_t how = (uint32_t)kymo_definition_read_word(&t->from);
        uint32_t format = how >> 8 & 0xff;
        fields[i].kind = how & 0xff;
        fields[i].format = format < KYMO_FORMAT_COUNT ? format : KYMO_FORMAT_STRING;
        fields[i].flags = how >> 16;
    }
}

static void read_graphs(struct telling *t, kymo_event_marker_graph *graphs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        graphs[i].key = text(t);
        uint32_t kind = word(t);
        graphs[i].kind = kind <= KYMO_GRAPH_LINE_FILLED ? kind : KYMO_GRAPH_LINE;
        graphs[i].color = color(word(t));
    }
}

static kymo_err tell_type(struct telling *t)
{
    kymo_event_marker_field fields[KYMO_DEFINITION_FIELDS_MAX];
    kymo_event_marker_row rows[KYMO_DEFINITION_FIELDS_MAX];
    kymo_event_marker_graph graphs[KYMO_DEFINITION_FIELDS_MAX];
    kymo_event_marker_type e = {
        .process = t->process, .type = t->number, .fields = fields, .rows = rows, .graphs = graphs};
    e.name = text(t);
    e.show = word(t);
    e.is_stack_based = word(t);
    e.max_per_second = word(t);
    e.payload_bytes = word(t);
    e.chart = text(t);
    e.tooltip = text(t);
    e.table = text(t);
    e.description = text(t);
    e.color_key = text(t);
    e.file = text(t);
    e.line = word(t);
    /* The drain has checked that there are no more. */
    e.field_count = word(t);
    read_fields(t, fields, e.field_count);
    e.row_count = word(t);
    for (uint32_t i = 0; i < e.row_count; i++) {
        rows[i].label = text(t);
        rows[i].value = text(t);
    }
    e.graph_count = word(t);
    read_graphs(t, graphs, e.graph_count);
    if (t->failed)
        return KYMO_E_NOMEM;
    return t->events->marker_type ? t->events->marker_type(t->context, &e) : KYMO_OK;
}

static kymo_err tell_site(struct telling *t)
{
    kymo_event_site e = {.process = t->process, .site = t->number};
    e.category = word(t);
    e.type = number_or_none(word(t));
    e.name = text(t);
    e.format = text(t);
    e.file = text(t);
    e.function = text(t);
    e.line = word(t);
    e.kind = word(t);
    e.min_ns = kymo_definition_read_word(&t->from);
    if (t->failed)
        return KYMO_E_NOMEM;
    return t->events->site ? t->events->site(t->context, &e) : KYMO_OK;
}

static kymo_err tell_counter(struct telling *t, kymo_event_counter *e)
{
    *e = (kymo_event_counter){.process = t->process, .counter = t->number};
    e->category = word(t);
    e->name = text(t);
    e->unit = text(t);
    e->description = text(t);
    e->kind = word(t);
    e->flags = word(t) & (KYMO_COUNTER_EACH | KYMO_COUNTER_RATE | KYMO_COUNTER_IS_F64);
    e->color = color(word(t));
    if (t->failed)
        return KYMO_E_NOMEM;
    return t->events->counter ? t->events->counter(t->context, e) : KYMO_OK;
}

static kymo_err tell_named(struct telling *t, kymo_err (*event)(void *, const kymo_event_named *))
{
    kymo_event_named e = {.process = t->process, .id = t->number};
    e.name = text(t);
    if (t->failed)
        return KYMO_E_NOMEM;
    return event ? event(t->context, &e) : KYMO_OK;
}

kymo_err kymo_mark_definition_tell(const kymo_event_handler *events, void *context,
                                   uint32_t process, const struct kymo_definition *definition,
                                   kymo_event_counter *counter)
{
    struct telling t = {.events = events,
                        .context = context,
                        .process = process,
                        .number = definition->number,
                        .from = kymo_definition_reader_of(definition)};
    kymo_err err = KYMO_OK;
    switch ((enum kymo_definition_kind)definition->kind) {
    case KYMO_DEFINE_CATEGORY:
        err = tell_category(&t);
        break;
    case KYMO_DEFINE_TYPE:
        err = tell_type(&t);
        break;
    case KYMO_DEFINE_SITE:
        err = tell_site(&t);
        break;
    case KYMO_DEFINE_LITERAL:
        err = tell_named(&t, events->literal);
        break;
    case KYMO_DEFINE_COUNTER:
        err = tell_counter(&t, counter);
        break;
    case KYMO_DEFINE_TRACK:
        err = tell_named(&t, events->track);
        break;
    default:
        break;
    }
    kymo_arena_deinit(&t.texts);
    return err;
}
