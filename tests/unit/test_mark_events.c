/* SPDX-License-Identifier: Apache-2.0 */
/* Markers, labels and counters on their way from a session to the events of a recording. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/f64.h"
#include "base/str.h"
#include "buffer/depot.h"
#include "mark_fixture.h"
#include "recorder/session_events.h"
#include "unit.h"

/* Everything that was told, one line each. Times are left out, but those of counts. */
struct scene {
    struct fixture f;
    struct kymo_session_events to;
    kymo_drain *d;
    kymo_str told;
    uint32_t next_thread;
    uint64_t start_ns;
    uint64_t last_count_ns;
    uint32_t category, type, site, typed;
};

static kymo_err tell_thread(void *c, const kymo_event_thread *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "thread %u tid %d\n", e->thread, e->tid);
    return KYMO_OK;
}
static kymo_err tell_thread_end(void *c, const kymo_event_thread_end *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "thread %u ends\n", e->thread);
    return KYMO_OK;
}
static kymo_err tell_stack(void *c, const kymo_event_stack *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "stack %u\n", e->stack);
    return KYMO_OK;
}
static kymo_err tell_category(void *c, const kymo_event_marker_category *e)
{
    struct scene *s = c;
    assert_int_equal(e->process, 5);
    kymo_str_printf(&s->told, "category %u of %d: %s, %u, %u\n", e->category, (int)e->parent,
                    e->name, e->color, e->flags);
    return KYMO_OK;
}
static kymo_err tell_type(void *c, const kymo_event_marker_type *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "type %u: %s, show %u, %u bytes, %s|%s|%s|%s|%s, %s:%u\n", e->type,
                    e->name, e->show, e->payload_bytes, e->chart, e->tooltip, e->table,
                    e->description, e->color_key, e->file, e->line);
    for (uint32_t i = 0; i < e->field_count; i++)
        kymo_str_printf(&s->told, " field %s (%s) %u as %u, %u\n", e->fields[i].key,
                        e->fields[i].label, e->fields[i].kind, e->fields[i].format,
                        e->fields[i].flags);
    for (uint32_t i = 0; i < e->row_count; i++)
        kymo_str_printf(&s->told, " row %s: %s\n", e->rows[i].label, e->rows[i].value);
    for (uint32_t i = 0; i < e->graph_count; i++)
        kymo_str_printf(&s->told, " graph %s %u, %u\n", e->graphs[i].key, e->graphs[i].kind,
                        e->graphs[i].color);
    return KYMO_OK;
}
static kymo_err tell_site(void *c, const kymo_event_site *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "site %u: %s, category %u, type %d, kind %u, %s:%u %s\n", e->site,
                    e->name, e->category, (int)e->type, e->kind, e->file, e->line, e->function);
    return KYMO_OK;
}
static kymo_err tell_literal(void *c, const kymo_event_named *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "literal %u: %s\n", e->id, e->name);
    return KYMO_OK;
}
static kymo_err tell_track(void *c, const kymo_event_named *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "track %u: %s\n", e->id, e->name);
    return KYMO_OK;
}
static kymo_err tell_counter(void *c, const kymo_event_counter *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "counter %u: %s in %s, category %u, kind %u, %u, %u\n", e->counter,
                    e->name, e->unit, e->category, e->kind, e->flags, e->color);
    return KYMO_OK;
}
static kymo_err tell_marker(void *c, const kymo_event_marker *e)
{
    struct scene *s = c;
    assert_true(e->time_ns >= s->start_ns);
    if (e->phase == KYMO_PHASE_INTERVAL)
        assert_true(e->start_ns >= s->start_ns && e->start_ns <= e->time_ns);
    else
        assert_int_equal(e->start_ns, 0);
    kymo_str_printf(&s->told,
                    "marker of %u, thread %u, phase %u, stack %d, id %" PRIu64 ", owner %" PRIu64
                    ", track %d, %u bytes%s%s%s\n",
                    e->site, e->thread, e->phase, (int)e->stack, e->id, e->owner, (int)e->track,
                    e->payload_bytes, e->name ? ", " : "", e->name ? e->name : "",
                    e->is_open ? ", open" : "");
    if (e->made_ns)
        kymo_str_printf(&s->told, " made by %u%s\n", e->maker,
                        e->made_ns == e->time_ns ? "" : " at another time");
    return KYMO_OK;
}
static kymo_err tell_count(void *c, const kymo_event_count *e)
{
    struct scene *s = c;
    assert_int_equal(e->process, 5);
    assert_true(e->time_ns >= s->last_count_ns);
    s->last_count_ns = e->time_ns;
    kymo_str_printf(&s->told, "count %u: %" PRId64 " by %" PRIu64 "\n", e->counter, e->value,
                    e->operations);
    return KYMO_OK;
}
static kymo_err tell_label(void *c, const kymo_event_label *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "label of %u: change %u at %u: %s = %u, %" PRIu64 " %s\n", e->thread,
                    e->change, e->depth, e->key ? e->key : "", e->kind, e->number,
                    e->text ? e->text : "");
    return KYMO_OK;
}
static kymo_err tell_site_counts(void *c, const kymo_event_site_counts *e)
{
    struct scene *s = c;
    kymo_str_printf(&s->told, "site %u: %" PRIu64 " lost, %" PRIu64 " capped, %" PRIu64 " cut\n",
                    e->site, e->lost, e->capped, e->cut);
    return KYMO_OK;
}

static const kymo_event_handler handler = {
    .thread = tell_thread,
    .thread_end = tell_thread_end,
    .stack = tell_stack,
    .marker_category = tell_category,
    .marker_type = tell_type,
    .site = tell_site,
    .literal = tell_literal,
    .track = tell_track,
    .counter = tell_counter,
    .marker = tell_marker,
    .count = tell_count,
    .label = tell_label,
    .site_counts = tell_site_counts,
};
static const kymo_event_handler threads_only = {.thread = tell_thread,
                                                .thread_end = tell_thread_end};

static void open_scene(struct scene *s, const kymo_event_handler *events)
{
    memset(s, 0, sizeof *s);
    s->f = fixture_open(1u << 20);
    s->next_thread = 10; /* of other processes */
    s->start_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    s->to.events = events;
    s->to.context = s;
    s->to.process = 5;
    s->to.next_thread = &s->next_thread;
    struct kymo_drain_sink sink = kymo_session_events_sink(&s->to);
    assert_int_equal(kymo_drain_create(s->f.session, &s->f.plan, &sink, &s->d), KYMO_OK);
    s->category = mark_category(&s->f, "net", 0);
    s->site = mark_site(&s->f, s->category, 0, "plain", KYMO_SITE_MARKER);
}

static void close_scene(struct scene *s)
{
    kymo_drain_destroy(s->d);
    kymo_session_events_deinit(&s->to);
    kymo_str_deinit(&s->told);
    fixture_close(&s->f);
}

static void round_of(struct scene *s)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(kymo_drain_round(s->d), KYMO_OK);
    assert_int_equal(kymo_mark_events_round(&s->to, s->d, now_ns), KYMO_OK);
}

static void finish(struct scene *s)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(kymo_drain_finish(s->d, now_ns), KYMO_OK);
    assert_int_equal(kymo_mark_events_finish(&s->to, s->d, now_ns), KYMO_OK);
}

static void forget(struct scene *s)
{
    kymo_str_deinit(&s->told);
}

/* What was told since the last time. */
static void expect(struct scene *s, const char *text)
{
    assert_string_equal(kymo_str_cstr(&s->told), text);
    forget(s);
}

static void definitions_become_events(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    (void)mark_category(&s.f, "read", s.category);
    uint32_t type = mark_type(&s.f, "Request");
    (void)mark_site(&s.f, s.category, type, "typed", KYMO_SITE_SCOPE);
    (void)mark_define(&s.f, KYMO_DEFINE_LITERAL, "t", "GET");
    (void)mark_define(&s.f, KYMO_DEFINE_TRACK, "t", "eight by");
    (void)mark_counter(&s.f, s.category, "sent", KYMO_COUNTER_DELTA, KYMO_COUNTER_RATE);
    round_of(&s);
    expect(&s, "category 1 of -1: net, 7, 0\n"
               "site 2: plain, category 1, type -1, kind 0, a.c:7 main\n"
               "category 3 of 1: read, 7, 0\n"
               "type 4: Request, show 1, 48 bytes, {marker.data.url}|||what it is|, a.c:9\n"
               " field url (URL) 14 as 1, 0\n"
               " field size () 7 as 14, 0\n"
               " field due () 16 as 9, 0\n"
               " field all () 20 as 21, 1\n"
               " row see: the guide\n"
               " graph size 1, 3\n"
               "site 5: typed, category 1, type 4, kind 1, a.c:7 main\n"
               "literal 6: GET\n"
               "track 7: eight by\n"
               "counter 8: sent in bytes, category 1, kind 1, 2, 10\n");
    close_scene(&s);
}

/* How something looks may be anything; a recording is to be readable all the same. */
static void colours_and_formats_that_nobody_knows_are_plain(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    round_of(&s);
    forget(&s);
    (void)mark_define(&s.f, KYMO_DEFINE_CATEGORY, "twww", "odd", 0, 999, 0);
    (void)mark_define(&s.f, KYMO_DEFINE_TYPE, "twwwwttttttwwttwwwtww", "Odd", 0, 0, 0, 8, "", "",
                      "", "", "", "", 0, 1, "k", "", KYMO_KIND_U64 | 99 << 8, 0, 1, "k", 99, 99);
    round_of(&s);
    expect(&s, "category 3 of -1: odd, 0, 0\n"
               "type 4: Odd, show 0, 8 bytes, ||||, :0\n"
               " field k () 9 as 4, 0\n"
               " graph k 0, 0\n");
    close_scene(&s);
}

static void write_marker(struct scene *s, struct mark_writer *w, uint32_t flags,
                         const uint64_t *words, uint32_t n)
{
    mark_write(w, KYMO_RECORD_MARKER, s->site | flags << 16, words, n * 8);
}

static void markers_are_of_the_thread_that_they_are_for(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer main = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    struct mark_writer other = mark_thread(&s.f, 101, 0);
    round_of(&s);
    forget(&s);
    const uint64_t to_main = UINT32_MAX, to_other = 101, to_none = 102;
    write_marker(&s, &main, 0, NULL, 0);
    write_marker(&s, &main, KYMO_MARK_THREAD, &to_other, 1);
    write_marker(&s, &main, KYMO_MARK_THREAD, &to_none, 1);
    write_marker(&s, &other, KYMO_MARK_THREAD, &to_main, 1);
    write_marker(&s, &other, KYMO_MARK_MADE, &s.start_ns, 1);
    round_of(&s);
    expect(&s, "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               "marker of 2, thread 11, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               " made by 10\n"
               "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               " made by 11\n"
               "marker of 2, thread 11, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               " made by 11 at another time\n");
    /* The one that has the number now. */
    struct mark_writer same = mark_thread(&s.f, 101, 0);
    write_marker(&s, &same, 0, NULL, 0);
    round_of(&s);
    forget(&s);
    write_marker(&s, &main, KYMO_MARK_THREAD, &to_other, 1);
    round_of(&s);
    expect(&s, "marker of 2, thread 12, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n"
               " made by 10\n");
    close_scene(&s);
}

/* CPU time of markers for these threads in turn. */
static uint64_t cost_of(struct scene *s, const uint32_t tids[3])
{
    struct kymo_drain_sink sink = kymo_session_events_sink(&s->to);
    uint64_t before_ns = kymo_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < 100000; i++) {
        struct kymo_drain_marker m = {.site = s->site,
                                      .stack = KYMO_NO_STACK,
                                      .time_ns = 1,
                                      .made_ns = 1,
                                      .tid = tids[i % 3]};
        assert_int_equal(sink.marks->marker(sink.context, &m), KYMO_OK);
    }
    return kymo_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
}

/* However many there ever were: a thread for each connection, and markers for some of them. */
static void whose_a_marker_is_is_found_at_once(void **state)
{
    const uint32_t own[3] = {0}, others[3] = {1, 2, 100000};
    struct scene s;
    (void)state;
    static const kymo_event_handler threads = {.thread = tell_thread};
    open_scene(&s, &threads);
    struct kymo_drain_sink sink = kymo_session_events_sink(&s.to);
    for (uint32_t i = 0; i < 50000; i++) {
        struct kymo_drain_thread t = {.thread = i, .tid = 1 + i % 40000};
        assert_int_equal(sink.thread_begin(sink.context, &t), KYMO_OK);
    }
    uint64_t own_ns = cost_of(&s, own);
    assert_true(cost_of(&s, others) < 20 * own_ns + 10000000);
    close_scene(&s);
}

static void all_that_a_marker_has_arrives(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    uint32_t track = mark_define(&s.f, KYMO_DEFINE_TRACK, "t", "queue");
    uint32_t text = mark_site(&s.f, s.category, 0, "text", KYMO_SITE_TEXT);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    round_of(&s);
    forget(&s);
    uint32_t flags = KYMO_PHASE_INTERVAL | KYMO_MARK_START | KYMO_MARK_TRACK | KYMO_MARK_OWNER |
                     KYMO_MARK_ID | KYMO_MARK_NAME;
    uint64_t words[] = {kymo_clock_now(KYMO_CLOCK_MONOTONIC), track, 7, 8, 0, 0, 0};
    words[4] = mark_slot(8, 5, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    words[5] = mark_slot(8, 6, KYMO_TEXT_IS_THERE);
    memcpy(&words[6], "called", 6);
    mark_write(&w, KYMO_RECORD_MARKER, text | flags << 16, words, sizeof words);
    round_of(&s);
    expect(&s,
           "marker of 4, thread 10, phase 1, stack -1, id 8, owner 7, track 3, 16 bytes, calle…\n");
    close_scene(&s);
}

static uint32_t store_stack(struct scene *s, struct mark_writer *w, uint64_t pc)
{
    struct kymo_stack_key key = {&pc, 1, 1, 0};
    uint32_t epoch = kymo_depot_enter(s->f.session, w->slot);
    uint32_t id = kymo_depot_insert(s->f.session, &s->f.plan, epoch, &key);
    kymo_depot_leave(w->slot);
    return id;
}

/* The thread that took the stack is read after the one that hands it over. */
static void a_marker_waits_for_its_stack(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer first = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&s.f, 101, 0);
    round_of(&s);
    forget(&s);
    const uint64_t one[] = {1000001, mark_slot(0, 4, KYMO_TEXT_IS_THERE), 0x656d616eull};
    const uint64_t two = 1000002, none = 1000003;
    write_marker(&s, &first, KYMO_MARK_BACKTRACE | KYMO_MARK_NAME, one, 3);
    write_marker(&s, &first, KYMO_MARK_BACKTRACE, &two, 1);
    write_marker(&s, &first, KYMO_MARK_BACKTRACE, &none, 1);
    mark_write(&second, KYMO_RECORD_BACKTRACE, store_stack(&s, &second, 0x1000), &one[0], 8);
    round_of(&s);
    expect(&s,
           "stack 0\n"
           "marker of 2, thread 10, phase 0, stack 0, id 0, owner 0, track -1, 0 bytes, name\n");
    mark_write(&second, KYMO_RECORD_BACKTRACE, store_stack(&s, &second, 0x2000), &two, 8);
    round_of(&s);
    expect(&s, "stack 1\n"
               "marker of 2, thread 10, phase 0, stack 1, id 0, owner 0, track -1, 0 bytes\n"
               "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n");
    /* As often as wanted. */
    write_marker(&s, &second, KYMO_MARK_BACKTRACE, one, 1);
    round_of(&s);
    expect(&s, "marker of 2, thread 11, phase 0, stack 0, id 0, owner 0, track -1, 0 bytes\n");
    write_marker(&s, &first, KYMO_MARK_BACKTRACE, &none, 1);
    finish(&s);
    expect(&s, "thread 10 ends\nthread 11 ends\n"
               "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes\n");
    close_scene(&s);
}

static void markers_that_wait_are_bounded(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    const uint64_t none = 1000003;
    for (uint32_t i = 0; i < KYMO_MARKS_WAITING_MAX + 3; i++)
        write_marker(&s, &w, KYMO_MARK_BACKTRACE, &none, 1);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    assert_int_equal(s.to.marks.waiting_count, KYMO_MARKS_WAITING_MAX);
    assert_int_equal(s.to.marks.stackless, 3);
    round_of(&s);
    round_of(&s);
    assert_int_equal(s.to.marks.waiting_count, 0);
    assert_int_equal(s.to.marks.stackless, KYMO_MARKS_WAITING_MAX + 3);
    write_marker(&s, &w, KYMO_MARK_BACKTRACE, &none, 1);
    round_of(&s);
    assert_int_equal(s.to.marks.waiting_count, 1);
    close_scene(&s); /* with one that still waits */
}

static void labels_become_events(void **state)
{
    struct {
        uint32_t depth, key_bytes;
        struct kymo_record_cell value;
        char texts[16];
    } r = {3,
           4,
           {KYMO_KIND_TEXT, 0, 0},
           "user"
           "me, as ever"};
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    round_of(&s);
    forget(&s);
    r.value.value = mark_slot(44, 2, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    mark_write(&w, KYMO_RECORD_LABEL, KYMO_LABEL_PUSHED, &r, sizeof r);
    r.value = (struct kymo_record_cell){KYMO_KIND_I64, 0, 77};
    mark_write(&w, KYMO_RECORD_LABEL, KYMO_LABEL_WAS_SET, &r, sizeof r);
    mark_write(&w, KYMO_RECORD_LABEL, KYMO_LABEL_POPPED, &r, 8);
    round_of(&s);
    expect(&s, "label of 10: change 1 at 3: user = 14, 0 me…\n"
               "label of 10: change 3 at 3: user = 8, 77 \n"
               "label of 10: change 2 at 3:  = 0, 0 \n");
    close_scene(&s);
}

static void names_that_no_recording_can_hold_are_cut(void **state)
{
    struct scene s;
    struct {
        uint64_t slot;
        char text[1104];
    } name;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    round_of(&s);
    forget(&s);
    name.slot = mark_slot(0, 5, KYMO_TEXT_IS_THERE);
    memcpy(name.text, "ab\0cd", 5);
    mark_write(&w, KYMO_RECORD_MARKER, s.site | KYMO_MARK_NAME << 16, &name, 16);
    round_of(&s);
    expect(&s,
           "marker of 2, thread 10, phase 0, stack -1, id 0, owner 0, track -1, 0 bytes, ab…\n");
    /* Bytes that are no characters: there is no boundary to be found. */
    name.slot = mark_slot(0, 1100, KYMO_TEXT_IS_THERE);
    memset(name.text, 0x80, sizeof name.text);
    mark_write(&w, KYMO_RECORD_MARKER, s.site | KYMO_MARK_NAME << 16, &name, sizeof name);
    round_of(&s);
    assert_non_null(s.told.data);
    assert_true(strlen(kymo_str_cstr(&s.told)) > KYMO_MARK_EVENT_TEXT_MAX);
    close_scene(&s);
}

static void counters_are_told_when_they_change(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    uint32_t sent = mark_counter(&s.f, s.category, "sent", KYMO_COUNTER_TOTAL, 0);
    s.f.session->counter_count = 1;
    struct kymo_counter_part *p = kymo_session_counter(s.f.session, &s.f.plan, 0);
    p->definition = sent;
    p->value = 5;
    p->operations = 1;
    round_of(&s);
    forget(&s);
    round_of(&s);
    round_of(&s);
    expect(&s, "");
    p[3].value = -2;
    round_of(&s);
    expect(&s, "count 3: 3 by 1\n");
    p[3].operations = 1;
    round_of(&s);
    expect(&s, "count 3: 3 by 2\n");
    p->value = INT64_MAX;
    p[3].value = 1;
    finish(&s);
    expect(&s, "count 3: -9223372036854775808 by 2\n");
    close_scene(&s);
}

/* Changes that are recorded one by one are added up in the order of time, whichever thread is read
 * first. */
static void changes_are_added_up_in_time(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    uint32_t up = mark_counter(&s.f, s.category, "up", KYMO_COUNTER_DELTA, KYMO_COUNTER_EACH);
    uint32_t is = mark_counter(&s.f, s.category, "is", KYMO_COUNTER_GAUGE, KYMO_COUNTER_EACH);
    struct mark_writer first = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&s.f, 101, 0);
    round_of(&s);
    forget(&s);
    mark_write(&second, KYMO_RECORD_COUNT, up, (uint64_t[2]){1, 1}, 16);
    mark_write(&first, KYMO_RECORD_COUNT, up, (uint64_t[2]){10, 1}, 16);
    mark_write(&second, KYMO_RECORD_COUNT, up, (uint64_t[2]){(uint64_t)-5, 2}, 16);
    mark_write(&first, KYMO_RECORD_COUNT, is, (uint64_t[2]){7, 1}, 16);
    mark_write(&second, KYMO_RECORD_COUNT, is, (uint64_t[2]){6, 1}, 16);
    round_of(&s);
    expect(&s, "count 3: 1 by 1\n"
               "count 3: 11 by 2\n"
               "count 3: 6 by 4\n"
               "count 4: 7 by 1\n"
               "count 4: 6 by 2\n");
    /* What came while others had been read already waits for the next round, and for the end. */
    uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    mark_write(&first, KYMO_RECORD_COUNT, is, (uint64_t[2]){1, 1}, 16);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    assert_int_equal(kymo_mark_events_round(&s.to, s.d, before_ns - 1), KYMO_OK);
    expect(&s, "");
    finish(&s);
    expect(&s, "thread 10 ends\nthread 11 ends\ncount 4: 1 by 3\n");
    close_scene(&s);
}

/* Those of doubles are their bits, and are added up as doubles. */
static void changes_of_doubles_are_added_up(void **state)
{
    struct scene s;
    const double by[] = {0.5, 0.25};
    uint64_t bits[2];
    char wanted[128];
    (void)state;
    open_scene(&s, &handler);
    uint32_t up = mark_counter(&s.f, s.category, "up", KYMO_COUNTER_TOTAL,
                               KYMO_COUNTER_EACH | KYMO_COUNTER_IS_F64);
    struct mark_writer first = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    round_of(&s);
    forget(&s);
    memcpy(bits, by, sizeof bits);
    mark_write(&first, KYMO_RECORD_COUNT, up, (uint64_t[2]){bits[0], 1}, 16);
    mark_write(&first, KYMO_RECORD_COUNT, up, (uint64_t[2]){bits[1], 1}, 16);
    round_of(&s);
    snprintf(wanted, sizeof wanted, "count 3: %" PRId64 " by 1\ncount 3: %" PRId64 " by 2\n",
             kymo_f64_bits(0.5), kymo_f64_bits(0.75));
    expect(&s, wanted);
    close_scene(&s);
}

/* The thread had read the clock when it lost its CPU, and a round went by. */
static void a_sum_that_was_told_stays_true(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    uint32_t up = mark_counter(&s.f, s.category, "up", KYMO_COUNTER_TOTAL, KYMO_COUNTER_EACH);
    struct mark_writer first = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    struct mark_writer second = mark_thread(&s.f, 101, 0);
    round_of(&s);
    forget(&s);
    struct kymo_record_count late = {
        .head = {kymo_clock_now(KYMO_CLOCK_MONOTONIC), KYMO_RECORD_COUNT, sizeof late, up},
        .value = 3,
        .operations = 1};
    mark_write(&first, KYMO_RECORD_COUNT, up, (uint64_t[2]){10, 1}, 16);
    round_of(&s);
    struct kymo_record_count *r =
        kymo_stream_reserve(&second.stream, s.f.session, &s.f.plan, second.number, sizeof *r);
    *r = late;
    kymo_stream_publish(&second.stream, sizeof *r);
    round_of(&s); /* tell_count holds the times to an order */
    expect(&s, "count 3: 10 by 1\ncount 3: 13 by 2\n");
    close_scene(&s);
}

static void changes_that_found_no_room_are_added_later(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    uint32_t up = mark_counter(&s.f, s.category, "up", KYMO_COUNTER_TOTAL, KYMO_COUNTER_EACH);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    struct kymo_counter_part *p = kymo_session_counter(s.f.session, &s.f.plan, 0);
    p->definition = up;
    s.f.session->counter_count = 1;
    round_of(&s);
    forget(&s);
    mark_write(&w, KYMO_RECORD_COUNT, up, (uint64_t[2]){10, 1}, 16);
    p[2].value = 5;
    p[2].operations = 2;
    round_of(&s);
    round_of(&s);
    expect(&s, "count 3: 10 by 1\ncount 3: 15 by 3\n");
    mark_write(&w, KYMO_RECORD_COUNT, up, (uint64_t[2]){1, 1}, 16);
    p[3].value = -5;
    p[3].operations = 1;
    finish(&s);
    expect(&s, "thread 10 ends\ncount 3: 16 by 4\ncount 3: 11 by 5\n");
    close_scene(&s);
}

static void what_became_of_a_site_is_told_when_it_changes(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    round_of(&s);
    forget(&s);
    struct kymo_site_counts *counts = kymo_session_site_counts(s.f.session, &s.f.plan, s.site);
    *counts = (struct kymo_site_counts){.lost = 1, .capped = 2, .cut = 3};
    for (int i = 0; i < 3; i++)
        assert_int_equal(kymo_mark_events_tell_sites(&s.to, s.d), KYMO_OK);
    expect(&s, "site 2: 1 lost, 2 capped, 3 cut\n");
    counts->lost = 7;
    finish(&s);
    expect(&s, "site 2: 7 lost, 2 capped, 3 cut\n");
    close_scene(&s);
}

static void what_is_left_is_told_at_the_end(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &handler);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    round_of(&s);
    forget(&s);
    struct kymo_open_scope *scopes = kymo_session_scopes(s.f.session, &s.f.plan, w.number);
    scopes[0].start = kymo_clock_now(KYMO_CLOCK_MONOTONIC);
    scopes[0].site = s.site;
    *kymo_session_site_counts(s.f.session, &s.f.plan, s.site) =
        (struct kymo_site_counts){.lost = 1, .capped = 2, .cut = 3};
    finish(&s);
    expect(&s, "marker of 2, thread 10, phase 2, stack -1, id 0, owner 0, track -1, 0 bytes, open\n"
               "thread 10 ends\n"
               "site 2: 1 lost, 2 capped, 3 cut\n");
    close_scene(&s);
}

static void whoever_wants_no_marks_is_told_of_none(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, &threads_only);
    (void)mark_type(&s.f, "Request");
    (void)mark_define(&s.f, KYMO_DEFINE_LITERAL, "t", "GET");
    (void)mark_define(&s.f, KYMO_DEFINE_TRACK, "t", "queue");
    uint32_t sent = mark_counter(&s.f, s.category, "sent", KYMO_COUNTER_TOTAL, 0);
    struct mark_writer w = mark_thread(&s.f, 100, KYMO_SLOT_MAIN);
    write_marker(&s, &w, 0, NULL, 0);
    mark_write(&w, KYMO_RECORD_COUNT, sent, (uint64_t[2]){1, 1}, 16);
    mark_write(&w, KYMO_RECORD_LABEL, KYMO_LABEL_POPPED, (uint64_t[1]){0}, 8);
    kymo_session_site_counts(s.f.session, &s.f.plan, s.site)->lost = 1;
    finish(&s);
    expect(&s, "thread 10 tid 100\nthread 10 ends\n");
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_become_events),
        cmocka_unit_test(colours_and_formats_that_nobody_knows_are_plain),
        cmocka_unit_test(markers_are_of_the_thread_that_they_are_for),
        cmocka_unit_test(whose_a_marker_is_is_found_at_once),
        cmocka_unit_test(all_that_a_marker_has_arrives),
        cmocka_unit_test(a_marker_waits_for_its_stack),
        cmocka_unit_test(markers_that_wait_are_bounded),
        cmocka_unit_test(labels_become_events),
        cmocka_unit_test(names_that_no_recording_can_hold_are_cut),
        cmocka_unit_test(counters_are_told_when_they_change),
        cmocka_unit_test(changes_are_added_up_in_time),
        cmocka_unit_test(changes_of_doubles_are_added_up),
        cmocka_unit_test(a_sum_that_was_told_stays_true),
        cmocka_unit_test(changes_that_found_no_room_are_added_later),
        cmocka_unit_test(what_became_of_a_site_is_told_when_it_changes),
        cmocka_unit_test(what_is_left_is_told_at_the_end),
        cmocka_unit_test(whoever_wants_no_marks_is_told_of_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
