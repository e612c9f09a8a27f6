/* SPDX-License-Identifier: Apache-2.0 */
/* What the drain makes of markers and all that belongs to them; honest sessions first, then hostile
 * ones. */
#include <stdlib.h>

#include "buffer/definition.h"
#include "buffer/depot.h"
#include "buffer/drain.h"
#include "mark_fixture.h"
#include "unit.h"

enum { MARKERS_MAX = 64 };

struct seen_marker {
    struct kymo_drain_marker m;
    char name[32];
    uint64_t payload[32];
};

struct seen {
    uint32_t definitions, markers, labels, counts, backtraces, scopes, ends;
    uint32_t order[64]; /* numbers of definitions, as they came */
    struct seen_marker marker[MARKERS_MAX];
    struct kymo_drain_label label;
    char key[32], text[32];
    uint32_t counter;
    int64_t value;
    uint64_t backtrace, operations;
    uint32_t backtrace_stack;
    uint32_t scope_site[KYMO_OPEN_SCOPES];
    uint64_t scope_ns[KYMO_OPEN_SCOPES];
    kymo_err answer;
    struct mark_writer *feed; /* writes on while it is read */
    uint32_t fed;
    struct mark_writer *late; /* defines, opens a scope and ends when it is announced */
};

static kymo_err on_begin(void *c, const struct kymo_drain_thread *t)
{
    struct seen *s = c;
    (void)t;
    if (s->late) {
        struct fixture *f = s->late->f;
        struct kymo_open_scope *scopes = kymo_session_scopes(f->session, &f->plan, s->late->number);
        scopes[0].start = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
        scopes[0].site = mark_site(f, mark_category(f, "net", 0), 0, "late", KYMO_SITE_SCOPE);
        mark_thread_end(s->late);
    }
    return KYMO_OK;
}
static kymo_err on_end(void *c, const struct kymo_drain_thread *t)
{
    struct seen *s = c;
    (void)t;
    s->ends++;
    return KYMO_OK;
}
static kymo_err on_stack(void *c, uint32_t stack, uint32_t flags,
                         const struct kymo_drain_frame *frames, uint32_t n)
{
    (void)c;
    (void)stack;
    (void)flags;
    (void)frames;
    (void)n;
    return KYMO_OK;
}
static kymo_err on_definition(void *c, uint32_t number, const struct kymo_definition *definition,
                              const void *bytes)
{
    struct seen *s = c;
    assert_int_equal(definition->number, number);
    assert_memory_equal(definition, bytes, sizeof *definition);
    assert_true(kymo_definition_is_whole(bytes));
    s->order[s->definitions++ % KYMO_ARRAY_LEN(s->order)] = number;
    return s->answer;
}
static kymo_err on_marker(void *c, const struct kymo_drain_marker *m)
{
    struct seen *s = c;
    for (int i = 0; s->feed && i < 8; i++)
        s->fed += mark_try_write(s->feed, m->site);
    struct seen_marker *to = &s->marker[s->markers++ % MARKERS_MAX];
    to->m = *m;
    assert_true(m->name_bytes < sizeof to->name);
    memset(to->name, 0, sizeof to->name);
    if (m->name)
        memcpy(to->name, m->name, m->name_bytes);
    memset(to->payload, 0, sizeof to->payload);
    memcpy(to->payload, m->payload,
           m->payload_bytes < sizeof to->payload ? m->payload_bytes : sizeof to->payload);
    return s->answer;
}
static kymo_err on_backtrace(void *c, uint64_t backtrace, uint32_t stack)
{
    struct seen *s = c;
    s->backtraces++;
    s->backtrace = backtrace;
    s->backtrace_stack = stack;
    return KYMO_OK;
}
static kymo_err on_label(void *c, const struct kymo_drain_label *l)
{
    struct seen *s = c;
    s->labels++;
    s->label = *l;
    assert_true(l->key_bytes < sizeof s->key && l->text_bytes < sizeof s->text);
    memset(s->key, 0, sizeof s->key);
    memset(s->text, 0, sizeof s->text);
    if (l->key)
        memcpy(s->key, l->key, l->key_bytes);
    if (l->text)
        memcpy(s->text, l->text, l->text_bytes);
    return KYMO_OK;
}
static kymo_err on_count(void *c, uint32_t counter, uint64_t time_ns, int64_t value,
                         uint64_t operations)
{
    struct seen *s = c;
    assert_true(time_ns > 0);
    s->counts++;
    s->counter = counter;
    s->value = value;
    s->operations = operations;
    return KYMO_OK;
}
static kymo_err on_scope(void *c, uint32_t thread, uint32_t site, uint64_t start_ns)
{
    struct seen *s = c;
    assert_int_equal(thread, 0);
    assert_int_equal(s->ends, 0);
    s->scope_site[s->scopes] = site;
    s->scope_ns[s->scopes++] = start_ns;
    return KYMO_OK;
}

static const struct kymo_drain_mark_sink marks = {on_definition, on_marker, on_backtrace,
                                                  on_label,      on_count,  on_scope};

struct scene {
    struct fixture f;
    struct seen seen;
    kymo_drain *d;
    struct mark_writer w;
    uint32_t category, type, site, typed, text, values;
};

/* A session with one thread and a site of each kind. */
static void set_up(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->f = fixture_open(1u << 20);
    struct kymo_drain_sink sink = {.thread_begin = on_begin,
                                   .thread_end = on_end,
                                   .stack = on_stack,
                                   .context = &s->seen,
                                   .marks = &marks};
    assert_int_equal(kymo_drain_create(s->f.session, &s->f.plan, &sink, &s->d), KYMO_OK);
    s->category = mark_category(&s->f, "net", 0);
    s->type = mark_type(&s->f, "Request");
    s->site = mark_site(&s->f, s->category, 0, "plain", KYMO_SITE_MARKER);
    s->typed = mark_site(&s->f, s->category, s->type, "typed", KYMO_SITE_MARKER);
    s->text = mark_site(&s->f, s->category, 0, "text", KYMO_SITE_TEXT);
    s->values = mark_site(&s->f, s->category, 0, "values", KYMO_SITE_VALUES);
    s->w = mark_thread(&s->f, 42, KYMO_SLOT_MAIN);
}

static void tear_down(struct scene *s)
{
    kymo_drain_destroy(s->d);
    fixture_close(&s->f);
}

static uint64_t corrupt(const struct scene *s)
{
    uint64_t lost[KYMO_LOSS_KINDS];
    kymo_drain_losses(s->d, lost);
    return lost[KYMO_LOSS_CORRUPT];
}

static const struct seen_marker *only(struct scene *s)
{
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, 1);
    return &s->seen.marker[0];
}

static int set_up_scene(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    set_up(s);
    *state = s;
    return 0;
}

static int tear_down_scene(void **state)
{
    tear_down(*state);
    free(*state);
    return 0;
}

#define in_scene(test) cmocka_unit_test_setup_teardown(test, set_up_scene, tear_down_scene)

static void definitions_come_once_and_before_what_names_them(void **state)
{
    struct scene *s = *state;
    uint32_t below = mark_category(&s->f, "read", s->category);
    for (int i = 0; i < 3; i++)
        assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.definitions, 7);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(s->seen.order[i], i + 1);
    assert_int_equal(below, 7);
    assert_int_equal(corrupt(s), 0);
}

/* A thread has taken a number and not said yet what it is. */
static void a_hole_among_the_definitions_is_come_back_to(void **state)
{
    struct scene *s = *state;
    uint32_t *index = kymo_session_definition_index(s->f.session, &s->f.plan);
    uint32_t at = index[s->site];
    index[s->site] = 0;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.definitions, 5);
    index[s->site] = at;
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site, NULL, 0);
    assert_int_equal(only(s)->m.site, s->site);
    assert_int_equal(s->seen.definitions, 6);
    assert_int_equal(corrupt(s), 0);
}

static void a_marker_without_options_is_an_instant(void **state)
{
    struct scene *s = *state;
    uint64_t clock = mark_write(&s->w, KYMO_RECORD_MARKER, s->site, NULL, 0);
    const struct seen_marker *m = only(s);
    assert_int_equal(m->m.thread, 0);
    assert_int_equal(m->m.site, s->site);
    assert_int_equal(m->m.flags & KYMO_MARK_PHASE, KYMO_PHASE_INSTANT);
    assert_int_equal(m->m.stack, KYMO_NO_STACK);
    assert_int_equal(m->m.time_ns, clock);
    assert_int_equal(m->m.made_ns, clock);
    assert_int_equal(m->m.payload_bytes, 0);
    assert_null(m->m.name);
}

static void each_option_has_its_word(void **state)
{
    struct scene *s = *state;
    uint32_t track = mark_define(&s->f, KYMO_DEFINE_TRACK, "t", "queue");
    uint64_t pcs[2] = {0x1000, 0x2000};
    struct kymo_stack_key key = {pcs, 2, 1, 0};
    uint32_t epoch = kymo_depot_enter(s->f.session, s->w.slot);
    uint32_t stack = kymo_depot_insert(s->f.session, &s->f.plan, epoch, &key);
    kymo_depot_leave(s->w.slot);
    uint32_t flags = KYMO_PHASE_INTERVAL | KYMO_MARK_START | KYMO_MARK_STACK | KYMO_MARK_BACKTRACE |
                     KYMO_MARK_THREAD | KYMO_MARK_TRACK | KYMO_MARK_OWNER | KYMO_MARK_ID |
                     KYMO_MARK_MADE | KYMO_MARK_NAME;
    uint64_t start = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    uint64_t words[] = {start, stack, 0xabc, 43, track, 0xdef, UINT64_MAX, start, 0, 0};
    words[8] = mark_slot(0, 5, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    memcpy(&words[9], "hello", 5);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site | flags << 16, words, sizeof words);
    const struct seen_marker *m = only(s);
    assert_int_equal(m->m.start_ns, start);
    assert_true(m->m.time_ns >= start);
    assert_int_equal(m->m.made_ns, start);
    assert_int_equal(m->m.stack, 0);
    assert_int_equal(m->m.backtrace, 0xabc);
    assert_int_equal(m->m.tid, 43);
    assert_int_equal(m->m.track, track);
    assert_int_equal(m->m.owner, 0xdef);
    assert_true(m->m.id == UINT64_MAX);
    assert_string_equal(m->name, "hello");
    assert_int_equal(m->m.name_is_cut, 1);
    assert_int_equal(m->m.payload_bytes, 0);
    assert_int_equal(corrupt(s), 0);
}

/* The image of mark_type's structure, and what may follow. */
struct image {
    uint64_t url, url_len, size, due, all, all_count;
    struct kymo_record_cell cells[2];
    char url_text[8], cell_text[8];
};

static struct image honest_image(uint64_t due)
{
    struct image i = {
        .url = mark_slot(offsetof(struct image, url_text), 5, KYMO_TEXT_IS_THERE),
        .url_len = 5,
        .size = 77,
        .due = due,
        .all = mark_slot(offsetof(struct image, cells), 2, KYMO_TEXT_IS_THERE),
        .cells = {{KYMO_KIND_I64, 0, (uint64_t)-5}, {KYMO_KIND_TEXT, 0, 0}},
        .url_text = "/path",
        .cell_text = "cell",
    };
    i.cells[1].value = mark_slot(offsetof(struct image, cell_text), 4, KYMO_TEXT_IS_THERE);
    return i;
}

/* A worker that was forked tells how long its job lay in its parent's queue. */
static void what_began_before_the_session_keeps_its_time(void **state)
{
    struct scene *s = *state;
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    uint64_t start = now_ns - 5000000, early = now_ns - 20000000;
    kymo_drain_since(s->d, now_ns - 10000000);
    kymo_drain_since(s->d, now_ns); /* it is no later for that */
    uint32_t flags = KYMO_PHASE_INTERVAL | KYMO_MARK_START;
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site | flags << 16, &start, sizeof start);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site | flags << 16, &early, sizeof early);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, 2);
    assert_int_equal(s->seen.marker[0].m.start_ns, start);
    assert_int_equal(s->seen.marker[1].m.start_ns, now_ns - 10000000);
}

static void a_payload_is_handed_on_with_times_in_ns(void **state)
{
    struct scene *s = *state;
    struct image image = honest_image(5);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->typed, &image, sizeof image);
    const struct seen_marker *m = only(s);
    assert_int_equal(m->m.payload_bytes, sizeof image);
    /* Of a session on CLOCK_MONOTONIC: as it was, though long before the session was. */
    assert_memory_equal(m->payload, &image, sizeof image);
    assert_int_equal(corrupt(s), 0);
}

static void what_of_a_payload_makes_no_sense_is_absent(void **state)
{
    static const uint32_t texts = offsetof(struct image, url_text);
    static const uint32_t end = sizeof(struct image);
    const struct {
        uint64_t slot;
        int is_there;
    } of_text[] = {
        {mark_slot(texts, 16, KYMO_TEXT_IS_THERE), 1},
        {mark_slot(texts, 17, KYMO_TEXT_IS_THERE), 0},
        {mark_slot(end, 0, KYMO_TEXT_IS_THERE), 1},
        {mark_slot(end + 1, 0, KYMO_TEXT_IS_THERE), 0},
        {mark_slot(UINT32_MAX, 8, KYMO_TEXT_IS_THERE), 0},
        {mark_slot(47, 1, KYMO_TEXT_IS_THERE), 1}, /* in the image: it is only read */
        {mark_slot(48, 1, KYMO_TEXT_IS_THERE), 1},
        {mark_slot(1, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL), 0}, /* a category */
        {mark_slot(UINT32_MAX, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL), 0},
        {mark_slot(7, 0, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_LITERAL), 1},
    };
    struct scene s;
    (void)state;
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(of_text); i++) {
        set_up(&s);
        assert_int_equal(mark_define(&s.f, KYMO_DEFINE_LITERAL, "t", "GET"), 7);
        struct image image = honest_image(0);
        image.url = of_text[i].slot;
        mark_write(&s.w, KYMO_RECORD_MARKER, s.typed, &image, sizeof image);
        const struct seen_marker *m = only(&s);
        assert_true(m->payload[0] == (of_text[i].is_there ? of_text[i].slot : 0));
        assert_int_equal(m->payload[2], 77);
        assert_int_equal(corrupt(&s), !of_text[i].is_there);
        tear_down(&s);
    }
    /* A pointer that was never made a slot does not come out. */
    set_up(&s);
    struct image image = honest_image(0);
    image.url = mark_slot(texts, 4, 0);
    mark_write(&s.w, KYMO_RECORD_MARKER, s.typed, &image, sizeof image);
    assert_int_equal(only(&s)->payload[0], 0);
    assert_int_equal(corrupt(&s), 0);
    tear_down(&s);
}

static void cells_are_bounded_as_texts_are(void **state)
{
    static const uint32_t cells = offsetof(struct image, cells);
    struct scene s;
    (void)state;
    const uint64_t of_cells[] = {mark_slot(cells, 4, KYMO_TEXT_IS_THERE),
                                 mark_slot(32, 1, KYMO_TEXT_IS_THERE),
                                 mark_slot(cells, UINT16_MAX, KYMO_TEXT_IS_THERE)};
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(of_cells); i++) {
        set_up(&s);
        struct image image = honest_image(0);
        image.all = of_cells[i];
        mark_write(&s.w, KYMO_RECORD_MARKER, s.typed, &image, sizeof image);
        assert_int_equal(only(&s)->payload[4], 0);
        assert_int_equal(corrupt(&s), 1);
        tear_down(&s);
    }
    /* A cell of no kind that cells have, and one whose text is nowhere. */
    set_up(&s);
    struct image image = honest_image(0);
    image.cells[0].kind = KYMO_KIND_CELLS;
    image.cells[1].value = mark_slot(cells, UINT16_MAX, KYMO_TEXT_IS_THERE);
    mark_write(&s.w, KYMO_RECORD_MARKER, s.typed, &image, sizeof image);
    const struct seen_marker *m = only(&s);
    assert_int_equal(m->payload[6] | m->payload[7] | m->payload[9], 0);
    assert_int_equal(corrupt(&s), 2);
    tear_down(&s);
}

static void texts_and_values_are_payloads_without_a_type(void **state)
{
    struct scene *s = *state;
    uint64_t text[2] = {mark_slot(8, 3, KYMO_TEXT_IS_THERE), 0};
    memcpy(&text[1], "why", 3);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->text, text, sizeof text);
    const uint64_t values[] = {2, KYMO_KIND_U64, UINT64_MAX, KYMO_KIND_F64, 0};
    mark_write(&s->w, KYMO_RECORD_MARKER, s->values | KYMO_MARK_CELLS << 16, values, sizeof values);
    /* More of them than there are bytes. */
    const uint64_t short_of[] = {3, KYMO_KIND_U64, 1, KYMO_KIND_F64, 0};
    mark_write(&s->w, KYMO_RECORD_MARKER, s->values | KYMO_MARK_CELLS << 16, short_of,
               sizeof short_of);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, 3);
    assert_memory_equal(s->seen.marker[0].payload, text, sizeof text);
    assert_int_equal(s->seen.marker[1].m.cells, 2);
    assert_int_equal(s->seen.marker[1].m.payload_bytes, 32);
    assert_true(s->seen.marker[1].payload[1] == UINT64_MAX);
    assert_int_equal(s->seen.marker[2].m.cells, 0);
    assert_int_equal(s->seen.marker[2].m.payload_bytes, 0);
    assert_int_equal(corrupt(s), 1);
}

static void records_that_say_too_much_are_counted(void **state)
{
    struct scene *s = *state;
    const uint64_t none[1] = {0};
    mark_write(&s->w, KYMO_RECORD_MARKER, 0, NULL, 0);                  /* no site */
    mark_write(&s->w, KYMO_RECORD_MARKER, s->category, NULL, 0);        /* is none */
    mark_write(&s->w, KYMO_RECORD_MARKER, 0xffff, NULL, 0);             /* none yet */
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site | 1u << 31, NULL, 0); /* a flag of no meaning */
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site | KYMO_MARK_ID << 16, NULL, 0); /* its word */
    mark_write(&s->w, KYMO_RECORD_COUNT, s->site, none, sizeof none);
    mark_write(&s->w, KYMO_RECORD_COUNT, s->site, (uint64_t[2]){0}, 16);
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, none, sizeof none);
    mark_write(&s->w, KYMO_RECORD_LABEL, 9, (uint64_t[3]){0}, 24);
    mark_write(&s->w, KYMO_RECORD_BACKTRACE, 1, (uint64_t[2]){0}, 16);
    mark_write(&s->w, KYMO_RECORD_BACKTRACE, 0xffffff, none, sizeof none);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers + s->seen.counts + s->seen.labels + s->seen.backtraces, 0);
    assert_int_equal(corrupt(s), 11);
}

static void labels_come_out_with_key_and_value(void **state)
{
    struct scene *s = *state;
    struct {
        uint32_t depth, key_bytes;
        struct kymo_record_cell value;
        char texts[16];
    } r = {3,
           4,
           {KYMO_KIND_STR, 0, 0},
           "user"
           "me, as ever"};
    r.value.value = mark_slot(44, 11, KYMO_TEXT_IS_THERE);
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.labels, 1);
    assert_int_equal(s->seen.label.change, KYMO_LABEL_PUSHED);
    assert_int_equal(s->seen.label.depth, 3);
    assert_int_equal(s->seen.label.value.kind, KYMO_KIND_TEXT);
    assert_string_equal(s->seen.key, "user");
    assert_string_equal(s->seen.text, "me, as ever");

    r.value = (struct kymo_record_cell){KYMO_KIND_U64, 0, UINT64_MAX};
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_WAS_SET, &r, sizeof r);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_true(s->seen.label.value.value == UINT64_MAX);

    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_POPPED, &r, 8);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.labels, 3);
    assert_int_equal(s->seen.label.change, KYMO_LABEL_POPPED);
    assert_null(s->seen.label.key);
    assert_int_equal(corrupt(s), 0);

    const uint64_t from[3] = {2 | 7ull << 32, 99, 12345};
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_INHERITED, from, sizeof from);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.labels, 4);
    assert_int_equal(s->seen.label.change, KYMO_LABEL_INHERITED);
    assert_int_equal(s->seen.label.depth, 2);
    assert_int_equal(s->seen.label.recorded_as, 7);
    assert_int_equal(s->seen.label.tid, 99);
    assert_int_equal(s->seen.label.fork_ns, 12345);
    assert_int_equal(corrupt(s), 0);
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_INHERITED, &r, sizeof r);

    /* A key, a text, beyond the record's end, or in its head; no value. */
    r.key_bytes = 17;
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    r.key_bytes = 4;
    r.value = (struct kymo_record_cell){KYMO_KIND_STR, 0, mark_slot(44, 13, KYMO_TEXT_IS_THERE)};
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    r.value.value = mark_slot(39, 1, KYMO_TEXT_IS_THERE);
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    r.value.kind = KYMO_KIND_NONE;
    mark_write(&s->w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.labels, 4);
    assert_int_equal(corrupt(s), 5);
}

static void backtraces_and_counts_come_out(void **state)
{
    struct scene *s = *state;
    uint32_t counter = mark_counter(&s->f, s->category, "bytes", KYMO_COUNTER_TOTAL, 0);
    uint64_t pcs[1] = {0x1000};
    struct kymo_stack_key key = {pcs, 1, 1, 0};
    uint32_t epoch = kymo_depot_enter(s->f.session, s->w.slot);
    uint32_t stack = kymo_depot_insert(s->f.session, &s->f.plan, epoch, &key);
    kymo_depot_leave(s->w.slot);
    const uint64_t handle = 0x123456789abcull;
    mark_write(&s->w, KYMO_RECORD_BACKTRACE, stack, &handle, sizeof handle);
    const uint64_t count[2] = {(uint64_t)-7, 2};
    mark_write(&s->w, KYMO_RECORD_COUNT, counter, count, sizeof count);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.backtraces, 1);
    assert_int_equal(s->seen.backtrace, handle);
    assert_int_equal(s->seen.backtrace_stack, 0);
    assert_int_equal(s->seen.counts, 1);
    assert_int_equal(s->seen.counter, counter);
    assert_int_equal(s->seen.value, -7);
    assert_int_equal(s->seen.operations, 2);
}

static void counters_are_the_sums_of_their_parts(void **state)
{
    struct scene *s = *state;
    struct kymo_drain_counter c;
    uint32_t total = mark_counter(&s->f, s->category, "bytes", KYMO_COUNTER_TOTAL, 0);
    uint32_t gauge = mark_counter(&s->f, s->category, "length", KYMO_COUNTER_GAUGE, 0);
    assert_int_equal(kymo_drain_counter(s->d, 0, &c), 0);
    s->f.session->counter_count = 4;
    struct kymo_counter_part *p = kymo_session_counter(s->f.session, &s->f.plan, 0);
    for (uint32_t i = 0; i < 2 * KYMO_COUNTER_PARTS; i++) {
        p[i].value = 1 << i % KYMO_COUNTER_PARTS;
        p[i].operations = 3;
    }
    p[0].definition = total;
    p[KYMO_COUNTER_PARTS].definition = gauge;
    p[2 * KYMO_COUNTER_PARTS].definition = s->site; /* no counter */
    /* They have not been announced yet. */
    assert_int_equal(kymo_drain_counter(s->d, 0, &c), 1);
    assert_int_equal(c.counter, 0);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(kymo_drain_counter(s->d, 0, &c), 1);
    assert_int_equal(c.counter, total);
    assert_int_equal(c.value, 255);
    assert_int_equal(c.operations, 3 * KYMO_COUNTER_PARTS);
    assert_int_equal(kymo_drain_counter(s->d, 1, &c), 1);
    assert_int_equal(c.counter, gauge);
    assert_int_equal(c.value, 1);
    for (uint32_t i = 2; i < 4; i++) {
        assert_int_equal(kymo_drain_counter(s->d, i, &c), 1);
        assert_int_equal(c.counter, 0);
    }
    assert_int_equal(kymo_drain_counter(s->d, 4, &c), 0);
    s->f.session->counter_count = UINT32_MAX;
    assert_int_equal(kymo_drain_counter(s->d, s->f.plan.counters - 1, &c), 1);
    assert_int_equal(kymo_drain_counter(s->d, s->f.plan.counters, &c), 0);
}

/* Also of those that no marker names. */
static void categories_are_there_unused(void **state)
{
    struct scene *s = *state;
    struct kymo_drain_category c;
    uint32_t part = mark_category(&s->f, "part", s->category);
    uint32_t odd = mark_category(&s->f, "its own", part + 1);
    kymo_session_site_counts(s->f.session, &s->f.plan, part)->category_is_on = 1;
    assert_int_equal(kymo_drain_definitions(s->d), odd);
    assert_int_equal(kymo_drain_category(s->d, part, &c), 1);
    assert_string_equal(c.name, "part");
    assert_int_equal(c.parent, s->category);
    assert_true(c.is_on && !c.is_quiet);
    assert_int_equal(kymo_drain_category(s->d, s->category, &c), 1);
    assert_false(c.is_on);
    assert_int_equal(kymo_drain_category(s->d, odd, &c), 1);
    assert_int_equal(c.parent, 0);
    assert_int_equal(kymo_drain_category(s->d, s->typed, &c), 0);
    assert_int_equal(kymo_drain_category(s->d, 0, &c), 0);
    assert_int_equal(kymo_drain_category(s->d, odd + 1, &c), 0);

    /* What the program writes over them is not believed. */
    uint32_t *index = &kymo_session_definition_index(s->f.session, &s->f.plan)[part];
    struct kymo_definition *d =
        (void *)((char *)kymo_session_definitions(s->f.session, &s->f.plan) + *index - 1);
    const struct kymo_definition good = *d;
    d->size_bytes = 1u << 20;
    assert_int_equal(kymo_drain_category(s->d, part, &c), 0);
    *d = good;
    d->size_bytes -= 8;
    assert_int_equal(kymo_drain_category(s->d, part, &c), 0);
    *d = good;
    d->number++;
    assert_int_equal(kymo_drain_category(s->d, part, &c), 0);
    *d = good;
    const uint32_t at = *index;
    const uint32_t wrong[] = {0, 1, at + 4, UINT32_MAX, s->f.plan.definition_bytes + 1};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(wrong); i++) {
        *index = wrong[i];
        assert_int_equal(kymo_drain_category(s->d, part, &c), 0);
    }
    *index = at;
    s->f.session->definition_count = UINT32_MAX;
    assert_int_equal(kymo_drain_definitions(s->d), s->f.plan.definitions);
}

static void counts_are_told_of_sites_alone(void **state)
{
    struct scene *s = *state;
    struct kymo_drain_site_counts c;
    uint32_t told = 0;
    assert_int_equal(kymo_drain_site_counts(s->d, 0, &c), 0);
    *kymo_session_site_counts(s->f.session, &s->f.plan, s->typed) =
        (struct kymo_site_counts){.lost = 1, .capped = 2, .cut = 3};
    kymo_session_site_counts(s->f.session, &s->f.plan, s->category)->lost = 9;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    uint32_t i = 0;
    for (; kymo_drain_site_counts(s->d, i, &c); i++) {
        if (c.site == 0)
            continue;
        told++;
        assert_int_equal(c.site, s->typed);
        assert_int_equal(c.lost, 1);
        assert_int_equal(c.capped, 2);
        assert_int_equal(c.cut, 3);
    }
    assert_int_equal(i, 6);
    assert_int_equal(told, 1);
}

static void scopes_that_are_open_are_told_before_their_thread_ends(void **state)
{
    struct scene *s = *state;
    struct kymo_open_scope *scopes = kymo_session_scopes(s->f.session, &s->f.plan, s->w.number);
    uint64_t start = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    scopes[0] = (struct kymo_open_scope){start, s->site, 0};
    scopes[1] = (struct kymo_open_scope){start, s->category, 0}; /* no site */
    scopes[2] = (struct kymo_open_scope){start + 1, s->typed, 0};
    mark_thread_end(&s->w);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.ends, 1);
    assert_int_equal(s->seen.scopes, 2);
    assert_int_equal(s->seen.scope_site[0], s->site);
    assert_int_equal(s->seen.scope_ns[0], start);
    assert_int_equal(s->seen.scope_site[1], s->typed);
    assert_int_equal(corrupt(s), 1);
    /* The next thread in the slot begins with none. */
    struct mark_writer next = mark_thread(&s->f, 43, 0);
    assert_int_equal(next.number, s->w.number);
    mark_thread_end(&next);
    assert_int_equal(kymo_drain_finish(s->d, start + 2), KYMO_OK);
    assert_int_equal(s->seen.ends, 2);
    assert_int_equal(s->seen.scopes, 2);
}

/* ---- hostile ---- */

/* Nothing was defined when the round looked at what is. */
static void the_first_scope_of_all_is_told(void **state)
{
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    struct seen seen = {0};
    struct kymo_drain_sink sink = {.thread_begin = on_begin,
                                   .thread_end = on_end,
                                   .stack = on_stack,
                                   .context = &seen,
                                   .marks = &marks};
    kymo_drain *d;
    assert_int_equal(kymo_drain_create(f.session, &f.plan, &sink, &d), KYMO_OK);
    struct mark_writer w = mark_thread(&f, 42, KYMO_SLOT_MAIN);
    seen.late = &w;
    assert_int_equal(kymo_drain_round(d), KYMO_OK);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.scopes, 1);
    assert_int_equal(kymo_session_scopes(f.session, &f.plan, w.number)[0].site, 0);
    kymo_drain_destroy(d);
    fixture_close(&f);
}

/* Each text once is all that a program writes. */
static void texts_are_together_no_longer_than_the_payload(void **state)
{
    struct scene *s = *state;
    struct image image = honest_image(0);
    const uint32_t behind = sizeof image - offsetof(struct image, cells);
    image.url = mark_slot(offsetof(struct image, cells), behind - 3, KYMO_TEXT_IS_THERE);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->typed, &image, sizeof image);
    image.url = mark_slot(offsetof(struct image, cells), behind - 4, KYMO_TEXT_IS_THERE);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->typed, &image, sizeof image);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, 2);
    const size_t cell = (offsetof(struct image, cells[1]) + 8) / 8;
    assert_true(s->seen.marker[0].payload[cell] == 0);
    assert_true(s->seen.marker[1].payload[cell] == image.cells[1].value);
    assert_int_equal(corrupt(s), 1);
}

static void a_site_has_a_type_or_a_kind_of_payload(void **state)
{
    struct scene *s = *state;
    static const enum kymo_mark_site_kind kinds[] = {KYMO_SITE_TEXT, KYMO_SITE_FORMAT,
                                                     KYMO_SITE_VALUES};
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(kinds); i++)
        (void)mark_site(&s->f, s->category, s->type, "both", kinds[i]);
    (void)mark_site(&s->f, s->category, s->type, "scope", KYMO_SITE_SCOPE);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.definitions, 7);
    assert_int_equal(corrupt(s), 3);
}

static void overlapping_definitions_cost_no_more_than_the_area(void **state)
{
    struct scene *s = *state;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    uint32_t before = s->seen.definitions;
    uint32_t *index = kymo_session_definition_index(s->f.session, &s->f.plan);
    struct kymo_definition *d = kymo_session_definitions(s->f.session, &s->f.plan);
    /* One literal of many words that all numbers point to, in turn. */
    const uint32_t size = 1040;
    for (uint32_t i = 8; i <= s->f.plan.definitions; i++) {
        char *place = (char *)d + (s->f.plan.definition_bytes - 2048);
        *(struct kymo_definition *)(void *)place =
            (struct kymo_definition){0, size, KYMO_DEFINE_LITERAL, (uint16_t)i};
        *(uint64_t *)(void *)(place + sizeof *d) = size - 24;
        index[i] = s->f.plan.definition_bytes - 2048 + 1;
        s->f.session->definition_count = i;
        assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    }
    assert_true(s->seen.definitions > before);
    assert_true((s->seen.definitions - before) * size <= s->f.plan.definition_bytes);
    assert_true(corrupt(s) > 0);
}

static void definitions_out_of_bounds_are_counted_once(void **state)
{
    struct scene *s = *state;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    uint32_t before = s->seen.definitions;
    uint32_t area = s->f.plan.definition_bytes;
    uint32_t *index = kymo_session_definition_index(s->f.session, &s->f.plan);
    char *base = kymo_session_definitions(s->f.session, &s->f.plan);
    uint32_t at = area / 2;
    const struct {
        uint32_t at;
        struct kymo_definition head;
        uint64_t words[3];
    } bad[] = {
        {area - 8, {0}, {0}},                         /* no room for its head */
        {at + 4, {0, 24, KYMO_DEFINE_TRACK, 8}, {0}}, /* crooked */
        {at, {0, 24, KYMO_DEFINE_TRACK, 77}, {0}},    /* another one's number */
        {at, {0, 20, KYMO_DEFINE_TRACK, 10}, {0}},    /* half a word */
        {at, {0, 8, KYMO_DEFINE_TRACK, 11}, {0}},     /* less than its head */
        {at, {0, UINT32_MAX - 7, KYMO_DEFINE_TRACK, 12}, {0}},
        {at, {0, 24, KYMO_DEFINE_KINDS, 13}, {0}},
        {at, {0, 24, KYMO_DEFINE_NONE, 14}, {0}},
        {at, {0, 24, KYMO_DEFINE_TRACK, 15}, {1}}, /* a text beyond its end */
        {at, {0, 24, KYMO_DEFINE_TRACK, 16}, {UINT64_MAX}},
        {at, {0, 32, KYMO_DEFINE_TRACK, 17}, {0, 0}}, /* a word too many */
        {at, {0, 16, KYMO_DEFINE_TRACK, 18}, {0}},    /* none at all */
    };
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        if (bad[i].at % 8 == 0 && bad[i].at == at) {
            memcpy(base + at, &bad[i].head, sizeof bad[i].head);
            memcpy(base + at + sizeof bad[i].head, bad[i].words, sizeof bad[i].words);
        }
        index[8 + i] = bad[i].at + 1;
        s->f.session->definition_count = 8 + i;
        for (int round = 0; round < 2; round++)
            assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
        assert_int_equal(corrupt(s), i + 1);
    }
    index[100] = UINT32_MAX;
    s->f.session->definition_count = UINT32_MAX;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(corrupt(s), KYMO_ARRAY_LEN(bad) + 1);
    assert_int_equal(s->seen.definitions, before);
}

static void what_names_itself_or_what_comes_later_is_refused(void **state)
{
    struct scene *s = *state;
    (void)mark_category(&s->f, "own parent", 7);
    (void)mark_category(&s->f, "child", 9);
    (void)mark_category(&s->f, "parent", 0);
    (void)mark_category(&s->f, "of a site", s->site);
    (void)mark_site(&s->f, 0, 0, "of no category", KYMO_SITE_MARKER);
    (void)mark_site(&s->f, s->category, s->category, "of no type", KYMO_SITE_MARKER);
    (void)mark_site(&s->f, s->category, 0, "of no kind", (enum kymo_mark_site_kind)77);
    (void)mark_counter(&s->f, s->type, "of no category", KYMO_COUNTER_TOTAL, 0);
    (void)mark_counter(&s->f, s->category, "of no kind", (enum kymo_mark_counter_kind)77, 0);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.definitions, 7);
    assert_int_equal(s->seen.order[6], 9);
    assert_int_equal(corrupt(s), 8);
}

static void a_type_that_is_longer_than_its_structure_says_is_refused(void **state)
{
    struct scene *s = *state;
    static const char shape[] = "twwwwttttttwwttwww";
    for (int bytes = 0; bytes < 40; bytes += 8)
        (void)mark_define(&s->f, KYMO_DEFINE_TYPE, shape, "T", 0, 0, 0, bytes, "", "", "", "", "",
                          "", 0, 1, "t", "", KYMO_KIND_TEXT, 0, 0);
    (void)mark_define(&s->f, KYMO_DEFINE_TYPE, shape, "T", 0, 0, 0, 1 << 20, "", "", "", "", "", "",
                      0, 1, "t", "", KYMO_KIND_TEXT, 0, 0);
    (void)mark_define(&s->f, KYMO_DEFINE_TYPE, shape, "T", 0, 0, 0, 64, "", "", "", "", "", "", 0,
                      1, "t", "", KYMO_KIND_COUNT, 0, 0);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.definitions, 6 + 3);
    assert_int_equal(corrupt(s), 4);
}

/* What was told is settled, whatever is written over it. */
static void a_definition_that_changes_is_as_it_was(void **state)
{
    struct scene *s = *state;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    memset(kymo_session_definitions(s->f.session, &s->f.plan), 0xff, s->f.plan.definition_bytes);
    memset(kymo_session_definition_index(s->f.session, &s->f.plan), 0xff,
           ((size_t)s->f.plan.definitions + 1) * sizeof(uint32_t));
    struct image image = honest_image(0);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->typed, &image, sizeof image);
    assert_int_equal(only(s)->payload[2], 77);
    assert_int_equal(s->seen.definitions, 6);
    assert_int_equal(corrupt(s), 0);
}

/* Every part of the session that markers use is noise: nothing is read beyond it, and what comes
 * out is bounded. */
static void noise_breaks_nothing(void **state)
{
    struct scene s;
    unsigned seed = 1;
    (void)state;
    for (int run = 0; run < 40; run++) {
        set_up(&s);
        s.seen.answer = KYMO_OK;
        assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
        uint32_t *index = kymo_session_definition_index(s.f.session, &s.f.plan);
        uint32_t *at = kymo_session_definitions(s.f.session, &s.f.plan);
        for (uint32_t i = 0; i < s.f.plan.definition_bytes / 4; i++)
            at[i] = (uint32_t)rand_r(&seed) % (run % 2 ? 16u : UINT32_MAX);
        for (uint32_t i = 7; i <= s.f.plan.definitions; i++) {
            uint32_t place = (uint32_t)rand_r(&seed) % (s.f.plan.definition_bytes / 8);
            index[i] = place * 8 + 1;
            at[place * 2 + 3 < s.f.plan.definition_bytes / 4 ? place * 2 + 3 : 0] =
                (uint32_t)rand_r(&seed) % KYMO_DEFINE_KINDS | i << 16;
        }
        s.f.session->definition_count = s.f.session->counter_count = UINT32_MAX;
        struct kymo_open_scope *scopes = kymo_session_scopes(s.f.session, &s.f.plan, s.w.number);
        for (uint32_t i = 0; i < KYMO_OPEN_SCOPES; i++)
            scopes[i].site = (uint32_t)rand_r(&seed) % 1024;
        for (int i = 0; i < 300; i++) {
            uint64_t words[24];
            for (uint32_t k = 0; k < KYMO_ARRAY_LEN(words); k++) {
                uint32_t len = (uint32_t)rand_r(&seed) % 32, flags = (uint32_t)rand_r(&seed) % 16;
                words[k] = mark_slot((uint32_t)rand_r(&seed) % 256, len, flags);
            }
            enum kymo_record_kind kind =
                KYMO_RECORD_MARKER + (enum kymo_record_kind)((unsigned)rand_r(&seed) % 4);
            uint32_t flags = (uint32_t)rand_r(&seed) % 4096 & ~(uint32_t)KYMO_MARK_STACK;
            uint32_t stack = (uint32_t)rand_r(&seed) % 8 | flags << 16;
            mark_write(&s.w, kind, stack, words, (uint32_t)rand_r(&seed) % sizeof words);
        }
        assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
        struct kymo_drain_counter c;
        struct kymo_drain_site_counts counts;
        for (uint32_t i = 0; kymo_drain_counter(s.d, i, &c); i++)
            assert_true(i < s.f.plan.counters);
        for (uint32_t i = 0; kymo_drain_site_counts(s.d, i, &counts); i++)
            assert_true(i < s.f.plan.definitions);
        assert_int_equal(kymo_drain_finish(s.d, kymo_clock_ns(CLOCK_MONOTONIC)), KYMO_OK);
        tear_down(&s);
    }
}

static void whoever_wants_no_markers_hears_of_none(void **state)
{
    struct scene *s = *state;
    struct seen seen = {0};
    kymo_drain *d;
    uint64_t lost[KYMO_LOSS_KINDS];
    struct kymo_drain_sink sink = {
        .thread_begin = on_begin, .thread_end = on_end, .context = &seen};
    assert_int_equal(kymo_drain_create(s->f.session, &s->f.plan, &sink, &d), KYMO_OK);
    mark_write(&s->w, KYMO_RECORD_MARKER, s->site, NULL, 0);
    assert_int_equal(kymo_drain_finish(d, 1), KYMO_OK);
    kymo_drain_losses(d, lost);
    assert_int_equal(lost[KYMO_LOSS_CORRUPT], 0);
    assert_int_equal(seen.ends, 1);
    kymo_drain_destroy(d);
}

/* It is read up to where it was when the round began, and not for ever. */
static void a_thread_that_writes_as_fast_as_it_is_read_is_left_for_later(void **state)
{
    struct scene *s = *state;
    enum { AT_FIRST = 600, OF_A_LARGE_BLOCK = 4096 };
    for (int i = 0; i < AT_FIRST; i++)
        mark_write(&s->w, KYMO_RECORD_MARKER, s->site, NULL, 0);
    s->seen.feed = &s->w;
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    s->seen.feed = NULL;
    assert_true(s->seen.markers >= AT_FIRST);
    assert_true(s->seen.markers <= AT_FIRST + OF_A_LARGE_BLOCK);
    assert_true(s->seen.fed > OF_A_LARGE_BLOCK);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, AT_FIRST + s->seen.fed);
    assert_int_equal(corrupt(s), 0);
}

/* A program may give its markers times that are still to come. */
static void times_ahead_do_not_end_a_round(void **state)
{
    struct scene *s = *state;
    enum { BLOCKS = 4, OF_A_BLOCK = KYMO_SMALL_BLOCK_BYTES / sizeof(struct kymo_record) };
    for (unsigned i = 0; i < BLOCKS * OF_A_BLOCK; i++) {
        struct kymo_record *r =
            kymo_stream_reserve(&s->w.stream, s->f.session, &s->f.plan, s->w.number, sizeof *r);
        assert_non_null(r);
        *r = (struct kymo_record){kymo_clock_now(KYMO_CLOCK_MONOTONIC) + 3600000000000u,
                                  KYMO_RECORD_MARKER, sizeof *r, s->site};
        kymo_stream_publish(&s->w.stream, sizeof *r);
    }
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(s->seen.markers, BLOCKS * OF_A_BLOCK);
}

static void an_error_of_the_sink_ends_the_round(void **state)
{
    struct scene *s = *state;
    s->seen.answer = KYMO_E_NOMEM;
    assert_int_equal(kymo_drain_round(s->d), KYMO_E_NOMEM);
    assert_int_equal(s->seen.definitions, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_scene(definitions_come_once_and_before_what_names_them),
        in_scene(a_hole_among_the_definitions_is_come_back_to),
        in_scene(a_marker_without_options_is_an_instant),
        in_scene(each_option_has_its_word),
        in_scene(what_began_before_the_session_keeps_its_time),
        in_scene(a_payload_is_handed_on_with_times_in_ns),
        cmocka_unit_test(what_of_a_payload_makes_no_sense_is_absent),
        cmocka_unit_test(cells_are_bounded_as_texts_are),
        in_scene(texts_and_values_are_payloads_without_a_type),
        in_scene(records_that_say_too_much_are_counted),
        in_scene(labels_come_out_with_key_and_value),
        in_scene(backtraces_and_counts_come_out),
        in_scene(counters_are_the_sums_of_their_parts),
        in_scene(categories_are_there_unused),
        in_scene(counts_are_told_of_sites_alone),
        in_scene(scopes_that_are_open_are_told_before_their_thread_ends),
        cmocka_unit_test(the_first_scope_of_all_is_told),
        in_scene(texts_are_together_no_longer_than_the_payload),
        in_scene(a_site_has_a_type_or_a_kind_of_payload),
        in_scene(overlapping_definitions_cost_no_more_than_the_area),
        in_scene(definitions_out_of_bounds_are_counted_once),
        in_scene(what_names_itself_or_what_comes_later_is_refused),
        in_scene(a_type_that_is_longer_than_its_structure_says_is_refused),
        in_scene(a_definition_that_changes_is_as_it_was),
        cmocka_unit_test(noise_breaks_nothing),
        in_scene(whoever_wants_no_markers_hears_of_none),
        in_scene(a_thread_that_writes_as_fast_as_it_is_read_is_left_for_later),
        in_scene(times_ahead_do_not_end_a_round),
        in_scene(an_error_of_the_sink_ends_the_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
