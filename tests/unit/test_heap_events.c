/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations and mappings on their way from a session to the events of a recording. */
#include <string.h>

#include "base/str.h"
#include "mark_fixture.h"
#include "recorder/session_events.h"
#include "recording/event_text.h"
#include "unit.h"

struct scene {
    struct fixture f;
    struct kymo_session_events to;
    kymo_drain *d;
    kymo_str told;
    uint32_t next_thread;
};

/* As an allocator that is linked in under a prefix. */
void *je_malloc(size_t bytes);
void *je_malloc(size_t bytes)
{
    (void)bytes;
    return NULL;
}

static kymo_err no_thread(void *c, const kymo_event_thread *e)
{
    (void)c;
    (void)e;
    return KYMO_OK;
}
static kymo_err no_end(void *c, const kymo_event_thread_end *e)
{
    (void)c;
    (void)e;
    return KYMO_OK;
}

static kymo_event_handler quiet_threads(kymo_event_handler events)
{
    events.thread = no_thread;
    events.thread_end = no_end;
    return events;
}

static void open_scene(struct scene *s, const kymo_event_handler *events, uint64_t rate)
{
    memset(s, 0, sizeof *s);
    s->f = fixture_open(1u << 20);
    s->next_thread = 10; /* of other processes */
    s->to.events = events;
    s->to.context = &s->told;
    s->to.process = 5;
    s->to.next_thread = &s->next_thread;
    s->to.heap.rate = rate;
    struct kymo_drain_sink sink = kymo_session_events_sink(&s->to);
    assert_int_equal(kymo_drain_create(s->f.session, &s->f.plan, &sink, &s->d), KYMO_OK);
}

static void close_scene(struct scene *s)
{
    kymo_drain_destroy(s->d);
    kymo_session_events_deinit(&s->to);
    kymo_str_deinit(&s->told);
    fixture_close(&s->f);
}

/* What was told since the last time. */
static void expect(struct scene *s, const char *text)
{
    assert_string_equal(kymo_str_cstr(&s->told), text);
    kymo_str_deinit(&s->told);
}

#define WRITE(w, kind, stack, record)                                                      \
    (void)mark_write(w, kind, stack, (const char *)&(record) + sizeof(struct kymo_record), \
                     sizeof(record) - (uint32_t)sizeof(struct kymo_record))

static void write_each(struct mark_writer *w)
{
    const struct kymo_record_alloc a = {.id = 1,
                                        .address = 0x5000,
                                        .bytes = 100,
                                        .rate = 4096,
                                        .slack_family = 12 << 8 | KYMO_ALLOC_CALLOC};
    const struct kymo_record_resize r = {.now = a, .usable_before = 112, .was_drawn = 1};
    const struct kymo_record_free f = {.id = 1};
    const struct kymo_record_map m = {.address = 0x7000, .bytes = 1 << 20, .op = KYMO_MAP_MAP};
    const struct kymo_record_inherit i = {.id = 9, .address = 0x9000};
    WRITE(w, KYMO_RECORD_ALLOC, 0, a);
    WRITE(w, KYMO_RECORD_RESIZE, 0, r);
    WRITE(w, KYMO_RECORD_FREE, 33, f);
    WRITE(w, KYMO_RECORD_MAP, 0, m);
    WRITE(w, KYMO_RECORD_INHERIT, 0, i);
}

/* Takes the times out. */
static void cut_times(kymo_str *s)
{
    kymo_str kept = {0};
    for (const char *p = kymo_str_cstr(s); *p;) {
        if (strncmp(p, " time=", 6) == 0)
            p += 6 + strspn(p + 6, "0123456789");
        else
            kymo_str_append(&kept, p++, 1);
    }
    kymo_str_deinit(s);
    *s = kept;
}

static void records_become_events_of_the_recordings_threads(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads(event_text_handler);
    struct scene s;
    open_scene(&s, &events, 4096);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    write_each(&w);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    cut_times(&s.told);
    expect(&s, "allocation thread=10 id=0x1 address=0x5000 bytes=100 rate=4096 slack=12 family=1"
               " stack=none\n"
               "resize thread=10 id=0x1 address=0x5000 bytes=100 rate=4096 slack=12 family=1"
               " stack=none usable_before=112 was_drawn=1\n"
               "free thread=10 id=0x1 count=33\n"
               "mapping thread=10 op=1 how=0 address=0x7000 bytes=1048576 before=0 bytes_before=0"
               " stack=none\n"
               "inherit thread=10 id=0x9 address=0x9000\n");
    close_scene(&s);
}

static void handlers_that_do_not_want_them_have_none(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads((kymo_event_handler){0});
    struct scene s;
    open_scene(&s, &events, 4096);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    write_each(&w);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    close_scene(&s);
}

/* Once, and whenever it has changed. */
static void the_heap_is_told_when_it_changed(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads(event_text_handler);
    struct scene s;
    open_scene(&s, &events, 512);
    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=0 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"libkymo-preload-alloc.so is not in the process\"\n");
    s.f.session->allocator = KYMO_ALLOCATOR_GLIBC;
    w.slot->alloc_count = 3;
    w.slot->alloc_bytes = 300;
    for (int i = 0; i < 2; i++)
        assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=3 bytes=300"
               " not_seen=\"\"\n");
    s.f.session->allocator = 1000; /* the program may write anything */
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=5 rate=512 map_least=65536 count=3 bytes=300"
               " not_seen=\"\"\n");
    close_scene(&s);
}

/* What is told of modules is bounded, and whole names. */
static void modules_that_allocate_past_us_are_named(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads(event_text_handler);
    kymo_unseen *unseen;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* where its runtime is in the executable, that has a malloc for all */
#endif
    struct scene s;
    assert_int_equal(kymo_unseen_create(&unseen), KYMO_OK);
    open_scene(&s, &events, 512);
    s.f.session->allocator = KYMO_ALLOCATOR_GLIBC;
    kymo_heap_events_module(&s.to.heap, unseen, "/proc/self/exe");
    kymo_heap_events_module(&s.to.heap, unseen, "/nowhere/at/all");
    kymo_heap_events_module(&s.to.heap, unseen, "[vdso]");
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"je_malloc of exe\"\n");
    for (int i = 0; i < 100; i++)
        kymo_heap_events_module(&s.to.heap, unseen, "/proc/self/exe");
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    size_t len = strlen(s.to.heap.not_seen);
    assert_true(len < sizeof s.to.heap.not_seen && len > sizeof s.to.heap.not_seen - 20);
    assert_string_equal(s.to.heap.not_seen + len - 6, "of exe");
    close_scene(&s);
    kymo_unseen_destroy(unseen);
}

/* Far more resident than was seen to be allocated; until an allocation is seen. */
static void memory_that_nobody_asked_for_is_told_of(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads(event_text_handler);
    struct kymo_record_map m = {.address = 0x7000, .bytes = 9 << 20, .op = KYMO_MAP_MAP};
    struct scene s;
    open_scene(&s, &events, 512);
    s.f.session->allocator = KYMO_ALLOCATOR_GLIBC;
    s.to.heap.own_bytes = 16 << 20; /* that may be anything */
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"\"\n");
    s.to.heap.own_bytes = 40 << 20;
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"40 MiB from allocators that Kymo cannot hook\"\n");

    struct mark_writer w = mark_thread(&s.f, 1, KYMO_SLOT_MAIN);
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    m.how = KYMO_MAP_OF_FILE;
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    m.how = KYMO_MAP_BY_ALLOCATOR;
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    kymo_str_deinit(&s.told);
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"31 MiB from allocators that Kymo cannot hook\"\n");

    m = (struct kymo_record_map){.address = 0x7000,
                                 .bytes = 20 << 20,
                                 .before = 0x7000,
                                 .bytes_before = 9 << 20,
                                 .op = KYMO_MAP_MOVE};
    WRITE(&w, KYMO_RECORD_MAP, 0, m);
    assert_int_equal(kymo_drain_round(s.d), KYMO_OK);
    kymo_str_deinit(&s.told);
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "heap process=5 allocator=1 rate=512 map_least=65536 count=0 bytes=0"
               " not_seen=\"\"\n");
    close_scene(&s);
}

static void without_a_rate_nothing_is_told_of_the_heap(void **state)
{
    (void)state;
    const kymo_event_handler events = quiet_threads(event_text_handler);
    struct scene s;
    open_scene(&s, &events, 0);
    assert_int_equal(kymo_heap_events_tell(&s.to, s.d, s.f.session), KYMO_OK);
    expect(&s, "");
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_become_events_of_the_recordings_threads),
        cmocka_unit_test(handlers_that_do_not_want_them_have_none),
        cmocka_unit_test(the_heap_is_told_when_it_changed),
        cmocka_unit_test(modules_that_allocate_past_us_are_named),
        cmocka_unit_test(memory_that_nobody_asked_for_is_told_of),
        cmocka_unit_test(without_a_rate_nothing_is_told_of_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
