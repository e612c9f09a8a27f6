/* SPDX-License-Identifier: Apache-2.0 */
/* What a tracer tells of, as it is written: events with depths, functions, gaps, turns. */
#include "capture/trace.h"

#include "arch/cpu.h"
#include "kymo/trace_abi.h"
#include "mark_process.h"
#include "recording/recording_calls.h"

static const struct kymo_trace_calls *calls;

static int open_traced(void **state)
{
    (void)open_small_process(state);
    kymo_process_state->session->flags |= KYMO_SESSION_TRACE_PYTHON;
    calls = kymo_trace_begin(KYMO_TRACE_ABI);
    return calls ? 0 : -1;
}

static int close_traced(void **state)
{
    calls->limit(0);
    return close_process(state);
}

static struct kymo_trace_place nowhere;
static __thread struct kymo_trace_place *own_place = &nowhere;

/* As a tracer does it. */
static int begin(void)
{
    struct kymo_trace_place *its = calls->begin();
    own_place = its ? its : &nowhere;
    return its != NULL;
}

static int put(uint32_t kind, uint32_t function)
{
    int has_call = kind != KYMO_TRACE_OPEN && kind < KYMO_TRACE_GAP;
    if (has_call && kymo_trace_put(calls, own_place, kind, function, kymo_counter_read))
        return 0;
    return calls->event(kind, function);
}

enum { EVENTS = 1 << 18 };

/* What a reader makes of the calling thread's stream; times are its clock. */
static struct {
    struct kymo_call_reader reader;
    struct kymo_call_state state;
    kymo_event_call events[EVENTS];
    uint32_t count;
} told;

static void read_block(const struct kymo_block *b)
{
    const kymo_event_raw_calls group = {.calls = {b + 1,
                                                  (uint32_t)(b->head - sizeof *b),
                                                  {.position = told.state.position,
                                                   .ns_per_tick = 1ull << 32,
                                                   .not_after_ns = 1ull << 62}}};
    kymo_call_reader_begin(&told.reader, &told.state, &group);
    for (uint32_t n = 1; n; told.count += n)
        assert_int_equal(
            kymo_call_reader_next(&told.reader, told.events + told.count, EVENTS - told.count, &n),
            KYMO_OK);
}

static void read_calls(void)
{
    kymo_call_state_deinit(&told.state);
    told.count = 0;
    uint32_t number = kymo_thread_self->slot->streams[KYMO_STREAM_CALLS].first;
    while (number) {
        const struct kymo_block *b = kymo_session_block(fixture.session, &fixture.plan, number - 1);
        read_block(b);
        number = b->next;
    }
}

static void check_call(uint32_t i, uint32_t kind, uint32_t depth, uint32_t function)
{
    read_calls();
    assert_true(i < told.count);
    const kymo_event_call *e = &told.events[i];
    assert_int_equal(e->kind, kind);
    assert_int_equal(e->depth, depth);
    assert_int_equal(kind < KYMO_TRACE_GAP ? e->script : e->missing, function);
    assert_true(i == 0 || e->time_ns >= e[-1].time_ns);
}

static void a_thread_tells_of_what_runs_first(void **state)
{
    (void)state;
    assert_int_equal(put(KYMO_TRACE_CALL, 3), KYMO_TRACE_IS_NEW);
    assert_int_equal(begin(), 1);
    assert_int_equal(put(KYMO_TRACE_OPEN, 1), 0);
    assert_int_equal(put(KYMO_TRACE_CALL, 3), 0);
    assert_int_equal(put(KYMO_TRACE_YIELD, 3), 0);
    assert_int_equal(put(KYMO_TRACE_UNWIND, 1), 0);
    assert_int_equal(put(KYMO_TRACE_RETURN, 9), 0); /* from nothing */
    assert_int_equal(put(KYMO_TRACE_RESUME, 3), 0);
    check_call(0, KYMO_TRACE_OPEN, 1, 1);
    check_call(1, KYMO_TRACE_CALL, 2, 3);
    check_call(2, KYMO_TRACE_YIELD, 2, 3);
    check_call(3, KYMO_TRACE_UNWIND, 1, 1);
    check_call(4, KYMO_TRACE_RESUME, 1, 3);
}

static void deeper_calls_are_counted_alone(void **state)
{
    (void)state;
    calls->limit(2);
    assert_int_equal(begin(), 1);
    for (uint32_t i = 1; i <= 4; i++)
        (void)put(KYMO_TRACE_CALL, i);
    for (uint32_t i = 4; i >= 1; i--)
        (void)put(KYMO_TRACE_RETURN, i);
    check_call(0, KYMO_TRACE_CALL, 1, 1);
    check_call(1, KYMO_TRACE_CALL, 2, 2);
    check_call(2, KYMO_TRACE_RETURN, 2, 2);
    check_call(3, KYMO_TRACE_RETURN, 1, 1);
}

static void functions_have_numbers(void **state)
{
    (void)state;
    static char longest[KYMO_FUNCTION_FILE_MAX + 100];
    memset(longest, 'x', sizeof longest);
    struct kymo_trace_function f = {.size = sizeof f,
                                    .language = KYMO_TRACE_PYTHON,
                                    .first_line = 7,
                                    .name = "f",
                                    .name_len = 1,
                                    .file = longest,
                                    .file_len = sizeof longest};
    assert_int_equal(calls->define(&f), 1);
    f.file = NULL;
    assert_int_equal(calls->define(&f), 2);
    const struct kymo_record_function *r = (const void *)record_at(0);
    assert_int_equal(r->head.kind, KYMO_RECORD_FUNCTION);
    assert_int_equal(r->head.stack, 1);
    assert_int_equal(r->first_line, 7);
    assert_int_equal(r->name_len, 1);
    assert_int_equal(r->file_len, KYMO_FUNCTION_FILE_MAX);
    assert_int_equal(r->flags, KYMO_TRACE_NAME_CUT);
    assert_memory_equal(r + 1, "fxxxxxx", 7);
    r = (const void *)record_at(1);
    assert_int_equal(r->head.stack, 2);
    assert_int_equal(r->file_len, 0);
}

static void a_thread_is_named(void **state)
{
    (void)state;
    static char longest[2 * KYMO_THREAD_NAME_MAX];
    calls->name_thread("worker 1", 8);
    calls->name_thread(longest, sizeof longest);
    const struct kymo_record *r = record_at(0);
    assert_int_equal(r->kind, KYMO_RECORD_THREAD_NAME);
    assert_int_equal(r->stack, 8);
    assert_memory_equal(r + 1, "worker 1", 8);
    assert_int_equal(record_at(1)->stack, KYMO_THREAD_NAME_MAX);
}

/* The session is small, and no recorder reads it. Calls of unknown begin are never short. */
static void what_finds_no_room_is_counted_and_told(void **state)
{
    (void)state;
    const uint64_t *lost = &fixture.session->lost[KYMO_LOSS_CALL];
    uint32_t made = 0;
    assert_int_equal(begin(), 1);
    for (; *lost == 0; made++)
        (void)put(made % 2 ? KYMO_TRACE_RETURN : KYMO_TRACE_OPEN, 1);
    for (int i = 0; i < 99; i++)
        (void)put(made++ % 2 ? KYMO_TRACE_RETURN : KYMO_TRACE_OPEN, 1);
    assert_int_equal(*lost, 100);
    /* The reader gives a block back. */
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_CALLS];
    uint32_t first = kymo_thread_self->slot->streams[KYMO_STREAM_CALLS].first;
    kymo_block_give(fixture.session, &fixture.plan, first - 1);
    (void)put(made % 2 ? KYMO_TRACE_RETURN : KYMO_TRACE_OPEN, 5);
    kymo_call_state_deinit(&told.state);
    told.count = 0;
    read_block(w->block);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.events[0].kind, KYMO_TRACE_GAP);
    assert_int_equal(told.events[0].missing, 100);
    assert_int_equal(told.events[1].depth, 1);
    if (told.events[1].kind == KYMO_TRACE_OPEN)
        assert_int_equal(told.events[1].script, 5);
    assert_int_equal(*lost, 100);
}

/* A long one takes longer than any that counts as short. */
static void make_call(uint32_t function, int is_long)
{
    (void)put(KYMO_TRACE_CALL, function);
    uint64_t begin = kymo_process_clock(kymo_process_state);
    while (is_long && kymo_process_clock(kymo_process_state) - begin < 1u << 22) {
    }
    (void)put(KYMO_TRACE_RETURN, function);
}

enum { SHORT = 1, LONG = 2, OUTER = 3, LONG_CALLS = 10 };

/* No recorder reads the session: from three quarters on short calls find no room. */
static void short_calls_make_room_for_long_ones(void **state)
{
    (void)state;
    const uint64_t *left_out = &fixture.session->lost[KYMO_LOSS_CALL_SHORT];
    uint32_t made = 0, kept[4] = {0}, running = 0, depth = 0;
    assert_int_equal(begin(), 1);
    (void)put(KYMO_TRACE_CALL, OUTER);
    for (; *left_out < 100; made++)
        make_call(SHORT, 0);
    assert_true(kymo_blocks_in_use(fixture.session, &fixture.plan) >= 12);
    for (uint32_t i = 0; i < LONG_CALLS * 50; i++, made++) {
        make_call(SHORT, 0);
        if (i % 50 == 0)
            make_call(LONG, 1);
    }
    (void)put(KYMO_TRACE_RETURN, OUTER);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_CALL], 0);

    read_calls();
    for (uint32_t i = 0; i < told.count; i++) {
        const kymo_event_call *e = &told.events[i];
        int begins = e->kind == KYMO_TRACE_CALL;
        depth += (uint32_t)begins;
        assert_int_equal(e->depth, depth);
        assert_true(begins || running == e->script || e->script == OUTER);
        running = begins ? e->script : OUTER;
        depth -= (uint32_t)!begins;
        kept[e->script] += (uint32_t)begins;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(kept[OUTER], 1);
    assert_int_equal(kept[LONG], LONG_CALLS);
    assert_int_equal(kept[SHORT] + *left_out, made);
}

/* Begins, and makes short calls until some are left out. Returns where those are counted. */
static const uint64_t *fill_until_calls_are_left_out(void)
{
    const uint64_t *left_out = &fixture.session->lost[KYMO_LOSS_CALL_SHORT];
    assert_int_equal(begin(), 1);
    while (*left_out < 10)
        make_call(SHORT, 0);
    return left_out;
}

/* A call that calls another one stays. */
static void only_what_nothing_follows_is_left_out(void **state)
{
    (void)state;
    const uint64_t *left_out = fill_until_calls_are_left_out();
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_CALLS];
    uint32_t before;
    uint64_t had;
    /* Where others want the CPU, it may take longer than a short one does. */
    do {
        before = w->used;
        had = *left_out;
        (void)put(KYMO_TRACE_CALL, OUTER);
        make_call(SHORT, 0);
        (void)put(KYMO_TRACE_RETURN, OUTER);
    } while (*left_out == had || w->used < before);
    assert_int_equal(*left_out, had + 1);
    assert_true(w->used >= before + KYMO_CALL_BEGIN_BYTES + KYMO_CALL_END_BYTES);
    assert_int_equal(w->block->head, w->used);
    read_calls();
    assert_int_equal(told.events[told.count - 2].script, OUTER);
    assert_int_equal(told.events[told.count - 1].script, OUTER);
    /* One that runs is behind what readers see, until it goes on. */
    (void)put(KYMO_TRACE_CALL, OUTER);
    assert_true(w->block->held >= KYMO_CALL_BEGIN_BYTES);
    assert_int_equal(w->block->head + w->block->held, w->used);
    assert_int_equal(put(KYMO_TRACE_STOP, 0), 0);
    assert_int_equal(w->block->head, w->used);
    assert_int_equal(w->block->held, 0);
}

static void a_tracer_goes_and_comes_back(void **state)
{
    (void)state;
    assert_int_equal(begin(), 1);
    (void)put(KYMO_TRACE_CALL, 1);
    calls->end();
    assert_int_equal(put(KYMO_TRACE_CALL, 2), KYMO_TRACE_IS_NEW);
    assert_int_equal(begin(), 1);
    (void)put(KYMO_TRACE_CALL, 2);
    assert_int_equal(put(KYMO_TRACE_STOP, 0), 0);
    check_call(1, KYMO_TRACE_STOP, 0, 1);
    check_call(2, KYMO_TRACE_CALL, 1, 2);
    check_call(3, KYMO_TRACE_STOP, 0, 0);
}

/* Where the last event came to lie, the tracer puts the next ones itself, until that place is no
 * longer right for them: another recording, a thread that has ended. */
static void events_are_put_where_their_place_holds(void **state)
{
    (void)state;
    assert_false(kymo_trace_put(calls, &nowhere, KYMO_TRACE_CALL, 1, kymo_counter_read));
    assert_int_equal(begin(), 1);
    assert_false(kymo_trace_put(calls, own_place, KYMO_TRACE_CALL, 1, kymo_counter_read));
    assert_int_equal(calls->event(KYMO_TRACE_CALL, 1), 0);
    /* One that comes more than KYMO_TRACE_TICKS_END ticks later is not put. */
    int is_put = 0;
    for (int i = 0; i < 1000 && !is_put; i++) {
        (void)calls->event(KYMO_TRACE_CALL, 2);
        is_put = kymo_trace_put(calls, own_place, KYMO_TRACE_CALL, 3, kymo_counter_read);
    }
    assert_true(is_put);
    read_calls();
    assert_int_equal(told.events[told.count - 1].script, 3);
    assert_int_equal(told.events[told.count - 1].depth, told.count);
    assert_false(kymo_trace_put(calls, own_place, KYMO_TRACE_CALL, KYMO_TRACE_FUNCTIONS_END,
                                kymo_counter_read));
    kymo_add_relaxed(&kymo_trace_now.turn, 1u);
    assert_false(kymo_trace_put(calls, own_place, KYMO_TRACE_RETURN, 0, kymo_counter_read));
    assert_int_equal(calls->event(KYMO_TRACE_RETURN, 0), KYMO_TRACE_IS_NEW);
    assert_int_equal(begin(), 1);
    assert_int_equal(calls->event(KYMO_TRACE_CALL, 1), 0);
    kymo_thread_end(kymo_thread_self);
    assert_false(kymo_trace_put(calls, own_place, KYMO_TRACE_RETURN, 0, kymo_counter_read));
    assert_int_equal(calls->event(KYMO_TRACE_RETURN, 0), KYMO_TRACE_IS_NEW);
    assert_int_equal(begin(), 0);
    /* It can end the turn of the others still. */
    uint32_t turn = kymo_trace_now.turn;
    calls->end();
    assert_int_not_equal(kymo_trace_now.turn, turn);
}

/* The begin of the outer call is held back; the end of a deeper one, which is left out for its
 * depth, is not its end. */
static void a_held_call_is_taken_back_by_its_own_end_alone(void **state)
{
    (void)state;
    const uint64_t *left_out = fill_until_calls_are_left_out();
    uint64_t had = *left_out;
    calls->limit(1);
    (void)put(KYMO_TRACE_CALL, 7);
    (void)put(KYMO_TRACE_CALL, 8);
    calls->limit(0);
    (void)put(KYMO_TRACE_RETURN, 0);
    assert_int_equal(*left_out, had);
    assert_int_equal(put(KYMO_TRACE_STOP, 0), 0);
    read_calls();
    int has_outer = 0;
    for (uint32_t i = 0; i < told.count; i++)
        has_outer += told.events[i].kind == KYMO_TRACE_CALL && told.events[i].script == 7;
    assert_int_equal(has_outer, 1);
}

/* It is counted, and the next turn begins without a gap: nothing was traced in between. */
static void a_stop_may_find_no_room(void **state)
{
    (void)state;
    const uint64_t *lost = &fixture.session->lost[KYMO_LOSS_CALL];
    assert_int_equal(begin(), 1);
    for (uint32_t i = 0; *lost == 0; i++)
        (void)put(i % 2 ? KYMO_TRACE_RETURN : KYMO_TRACE_OPEN, 1);
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_CALLS];
    w->used = w->room;
    calls->end();
    assert_int_equal(*lost, 2);
    uint32_t first = kymo_thread_self->slot->streams[KYMO_STREAM_CALLS].first;
    kymo_block_give(fixture.session, &fixture.plan, first - 1);
    assert_int_equal(begin(), 1);
    (void)put(KYMO_TRACE_OPEN, 5);
    kymo_call_state_deinit(&told.state);
    told.count = 0;
    read_block(w->block);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.events[0].kind, KYMO_TRACE_OPEN);
    assert_int_equal(told.events[0].depth, 1);
}

/* Another thread's calls go on in the next turn: what it was in has ended with the last one. */
static void *go_on_in_the_next_turn(void *barrier)
{
    begin_thread();
    (void)begin();
    (void)put(KYMO_TRACE_CALL, 1);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    assert_int_equal(put(KYMO_TRACE_CALL, 2), KYMO_TRACE_IS_NEW);
    (void)begin();
    (void)put(KYMO_TRACE_CALL, 2);
    check_call(0, KYMO_TRACE_CALL, 1, 1);
    check_call(1, KYMO_TRACE_STOP, 0, 0);
    check_call(2, KYMO_TRACE_CALL, 1, 2);
    return NULL;
}

static void other_threads_end_with_the_turn(void **state)
{
    (void)state;
    pthread_barrier_t barrier;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, go_on_in_the_next_turn, &barrier), 0);
    pthread_barrier_wait(&barrier);
    calls->end();
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

static void other_versions_and_processes_get_nothing(void **state)
{
    (void)state;
    struct kymo_session *session = kymo_process_state->session;
    assert_int_equal(session->tracer, 0);
    assert_null(kymo_trace_begin(KYMO_TRACE_ABI + 1));
    assert_int_equal(session->tracer, KYMO_TRACER_OF_OTHER_VERSION);
    assert_int_equal(begin(), 1);
    assert_int_equal(session->tracer, KYMO_TRACER_OF_OTHER_VERSION | KYMO_TRACER_CAME);
    /* In a forked child the state is wiped. */
    kymo_process_state->session = NULL;
    assert_non_null(kymo_trace_begin(KYMO_TRACE_ABI));
    assert_null(kymo_trace_begin(KYMO_TRACE_ABI + 1));
    kymo_process_state->session = session;
    assert_int_equal(calls->is_wanted(KYMO_TRACE_PYTHON), 1);
    assert_int_equal(calls->is_wanted(99), 0);
    kymo_process_state->session->flags = 0;
    assert_int_equal(calls->is_wanted(KYMO_TRACE_PYTHON), 0);
    assert_true(*calls->epoch != 0);
}

static uint64_t now(void)
{
    return kymo_process_clock(kymo_process_state);
}

static void wait_ticks(uint64_t ticks)
{
    for (uint64_t begin = now(); now() - begin < ticks;) {
    }
}

/* With more time in between than a unit has room for, and with functions of more than 16 bits. */
static void any_event_comes_back(void **state)
{
    (void)state;
    static const uint32_t functions[] = {1, 127, 128, 65535, 65536, KYMO_FUNCTION_NUMBER_MAX};
    static const uint64_t ticks[] = {0, 1u << 13, 1u << 16, 1u << 24, 3u << 25};
    uint64_t least[EVENTS / 4096], most[EVENTS / 4096];
    uint32_t made = 0;
    assert_int_equal(begin(), 1);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
            wait_ticks(f == 0 ? ticks[i] : 0);
            least[made] = now();
            (void)put(f % 2 ? KYMO_TRACE_RESUME : KYMO_TRACE_CALL, functions[f]);
            most[made++] = now();
        }
    uint32_t deepest = made;
    for (uint32_t i = deepest; i > 0; i--) {
        least[made] = now();
        (void)put(i % 2 ? KYMO_TRACE_UNWIND : KYMO_TRACE_YIELD, 0);
        most[made++] = now();
    }
    read_calls();
    assert_int_equal(told.count, made);
    for (uint32_t i = 0; i < made; i++) {
        const kymo_event_call *e = &told.events[i];
        uint32_t place = i < deepest ? i : made - 1 - i;
        uint32_t f = place % (uint32_t)(sizeof functions / sizeof *functions);
        assert_true(e->time_ns >= least[i] && e->time_ns <= most[i]);
        assert_int_equal(e->depth, place + 1);
        assert_int_equal(e->script, functions[f]);
        assert_int_equal(e->kind, i < deepest    ? (f % 2 ? KYMO_TRACE_RESUME : KYMO_TRACE_CALL)
                                  : e->depth % 2 ? KYMO_TRACE_UNWIND
                                                 : KYMO_TRACE_YIELD);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_traced, close_traced)
    const struct CMUnitTest tests[] = {
        TEST(a_thread_tells_of_what_runs_first),
        TEST(any_event_comes_back),
        TEST(deeper_calls_are_counted_alone),
        TEST(functions_have_numbers),
        TEST(a_thread_is_named),
        TEST(what_finds_no_room_is_counted_and_told),
        TEST(short_calls_make_room_for_long_ones),
        TEST(only_what_nothing_follows_is_left_out),
        TEST(a_held_call_is_taken_back_by_its_own_end_alone),
        TEST(a_stop_may_find_no_room),
        TEST(events_are_put_where_their_place_holds),
        TEST(a_tracer_goes_and_comes_back),
        TEST(other_threads_end_with_the_turn),
        TEST(other_versions_and_processes_get_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
