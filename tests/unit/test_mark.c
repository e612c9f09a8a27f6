/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "mark_process.h"

struct pair {
    uint64_t a, b;
};

static const struct kymo_mark_field pair_fields[] = {
    {"a", "First", KYMO_KIND_U64, KYMO_FORMAT_INTEGER, 0, 0},
    {"b", NULL, KYMO_KIND_U64, KYMO_FORMAT_INTEGER, 0, 0},
};

#define TYPE(name_, fields_, T, ...)                                                           \
    {                                                                                          \
        .size = sizeof(struct kymo_mark_type), .line = 2, .file = "here", .name = name_,       \
        .fields = (fields_), .field_count = KYMO_ARRAY_LEN(fields_),                           \
        .field_bytes = sizeof(struct kymo_mark_field), .payload_bytes = sizeof(T), __VA_ARGS__ \
    }

static const struct kymo_mark_type pair_type = TYPE("Pair", pair_fields, struct pair);

/* ---- one ---- */

static void an_instant_is_a_record_of_sixteen_bytes(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("instant");
    uint64_t before = kymo_mark_now();
    kymo_mark(&site, NULL);
    kymo_mark(&site, NULL);
    struct mark m = mark_at(1);
    assert_int_equal(m.head->size_bytes, 16);
    assert_int_equal(m.flags, KYMO_PHASE_INSTANT);
    assert_true(m.head->clock >= before && m.head->clock <= kymo_mark_now());
    assert_int_equal(site.id >> 16, kymo_process_state->mark_epoch);
    assert_int_equal(site.id & 0xffff, m.number);
    assert_int_equal(mark_at(0).number, m.number);
    assert_int_equal(kymo_thread_self->marks, 2);
    /* category, type, name: "instant" */
    const uint64_t *words = definition_words(m.number, KYMO_DEFINE_SITE);
    assert_int_equal(words[1], 0);
    assert_int_equal(words[2], 7);
    assert_memory_equal(words + 3, "instant\0", 8);
    words = definition_words((uint32_t)words[0], KYMO_DEFINE_CATEGORY);
    assert_int_equal(words[0], 4);
    assert_memory_equal(words + 1, "Test", 4);
}

static void a_payload_is_copied_as_it_is(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("pair", .type = &pair_type);
    const struct pair pair = {0x1122334455667788u, UINT64_MAX};
    for (int i = 0; i < 2; i++) {
        kymo_mark(&site, &pair);
        struct mark m = mark_at((uint32_t)i);
        assert_int_equal(m.rest_bytes, sizeof pair);
        assert_memory_equal(m.rest, &pair, sizeof pair);
    }
    assert_int_equal(site.slow, 0);
    assert_int_equal(site.words, 2);
    const uint64_t *words = definition_words(site.id & 0xffff, KYMO_DEFINE_SITE);
    words = definition_words((uint32_t)words[1], KYMO_DEFINE_TYPE);
    assert_int_equal(words[0], 4);
    assert_memory_equal(words + 1, "Pair", 4);
    assert_int_equal(words[5], sizeof pair);
}

static void the_same_content_is_the_same_site(void **state)
{
    (void)state;
    struct kymo_mark_category copy = test_category;
    struct kymo_mark_site one = SITE("same", .type = &pair_type);
    struct kymo_mark_site two = one;
    struct kymo_mark_site other = SITE("other", .type = &pair_type);
    const struct pair pair = {1, 2};
    two.category = &copy;
    kymo_mark(&one, &pair);
    kymo_mark(&two, &pair);
    kymo_mark(&other, &pair);
    assert_int_equal(one.id, two.id);
    assert_int_not_equal(one.id, other.id);
}

static void a_part_of_a_category_names_it(void **state)
{
    (void)state;
    struct kymo_mark_category part = {
        .size = sizeof part, .name = "Part", .parent = &test_category};
    struct kymo_mark_site site = SITE("in a part");
    site.category = &part;
    kymo_mark(&site, NULL);
    const uint64_t *words = definition_words(site.id & 0xffff, KYMO_DEFINE_SITE);
    words = definition_words((uint32_t)words[0], KYMO_DEFINE_CATEGORY);
    assert_memory_equal(words + 1, "Part", 4);
    words = definition_words((uint32_t)words[2], KYMO_DEFINE_CATEGORY);
    assert_memory_equal(words + 1, "Test", 4);
}

static void a_type_that_is_none_is_lost_and_counted(void **state)
{
    (void)state;
    struct kymo_mark_type wrong = pair_type;
    wrong.payload_bytes = 24;
    assert_non_null(kymo_mark_type_fault(&wrong));
    assert_null(kymo_mark_type_fault(&pair_type));
    /* A structure of small members is one of whole words all the same. */
    static const struct kymo_mark_field small[] = {
        {.key = "n", .kind = KYMO_KIND_U32, .format = KYMO_FORMAT_INTEGER}};
    struct kymo_mark_type of_small = pair_type;
    of_small.fields = small;
    of_small.field_count = 1;
    of_small.payload_bytes = 8;
    assert_null(kymo_mark_type_fault(&of_small));
    of_small.payload_bytes = 4;
    assert_null(kymo_mark_type_fault(&of_small));
    of_small.payload_bytes = 16;
    assert_non_null(kymo_mark_type_fault(&of_small));
    struct kymo_mark_site site = SITE("wrong", .type = &wrong);
    const uint64_t payload[3] = {1, 2, 3};
    for (int i = 0; i < 3; i++)
        kymo_mark(&site, payload);
    assert_int_equal(count_records(), 0);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_SITE], 3);
}

static void what_is_no_type_and_no_site_does_no_harm(void **state)
{
    (void)state;
    struct kymo_mark_type empty = pair_type;
    empty.field_count = 0;
    for (int i = 0; i < 3; i++) {
        static const uint32_t bytes[] = {24, 80000, UINT32_MAX - 7};
        empty.payload_bytes = bytes[i];
        assert_non_null(kymo_mark_type_fault(&empty));
    }
    struct kymo_mark_type nowhere = pair_type;
    nowhere.fields = NULL;
    assert_non_null(kymo_mark_type_fault(&nowhere));
    /* Of cells and of no kind, called as if it had a payload. */
    struct kymo_mark_site cells = SITE("cells", .kind = KYMO_SITE_FORMAT, .format = "%d");
    const uint64_t payload[2] = {1, 2};
    kymo_mark(&cells, payload);
    kymo_mark(&cells, payload);
    assert_int_equal(count_records(), 2);
    assert_int_equal(mark_at(1).rest_bytes, 0);
    struct kymo_mark_category short_category = test_category;
    short_category.size = 8;
    struct kymo_mark_site none[] = {
        SITE("kind", .kind = 99),
        SITE("typed text", .kind = KYMO_SITE_TEXT, .type = &pair_type),
        SITE("short category"),
        SITE("no category"),
        SITE("short"),
    };
    none[2].category = &short_category;
    none[3].category = NULL;
    none[4].size = 40;
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(none); i++) {
        struct kymo_mark_site before = none[i];
        kymo_mark(&none[i], payload);
        kymo_mark(&none[i], payload);
        assert_memory_equal(&none[i], &before, sizeof before);
    }
    assert_int_equal(count_records(), 2);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_SITE], 2 * KYMO_ARRAY_LEN(none));
}

static void names_that_find_no_room_are_counted(void **state)
{
    (void)state;
    static struct kymo_mark_site sites[600];
    uint32_t known = 0;
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(sites); i++) {
        sites[i] = (struct kymo_mark_site)SITE("many");
        sites[i].line = i;
        kymo_mark(&sites[i], NULL);
        kymo_mark(&sites[i], NULL);
        known += (sites[i].id & 0xffff) != 0xffff;
    }
    assert_true(known > 100 && known < KYMO_ARRAY_LEN(sites));
    assert_int_equal(count_records(), 2 * known);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_SITE],
                     2 * (KYMO_ARRAY_LEN(sites) - known));
}

/* ---- what is lost ---- */

struct per_site {
    const struct kymo_mark_site *sites;
    uint64_t counts[2];
};

static void count_sites(const struct kymo_record *r, void *context)
{
    struct per_site *p = context;
    struct mark m = mark_of(r);
    assert_true(m.number == (p->sites[0].id & 0xffff) || m.number == (p->sites[1].id & 0xffff));
    p->counts[m.number == (p->sites[1].id & 0xffff)]++;
}

static void a_full_buffer_loses_exactly_what_it_says(void **state)
{
    (void)state;
    struct kymo_mark_site sites[2] = {SITE("plain"), SITE("pair", .type = &pair_type)};
    struct per_site p = {.sites = sites};
    const struct pair pair = {1, 2};
    uint64_t n[2] = {0, 0};
    for (uint64_t i = 0; counts_of(&sites[1])->lost < 1000 || sites[1].id == 0; i++) {
        uint32_t which = i % 3 == 0;
        kymo_mark(&sites[which], which ? &pair : NULL);
        n[which]++;
    }
    read_all(count_sites, &p);
    for (int i = 0; i < 2; i++) {
        assert_true(p.counts[i] > 0);
        assert_int_equal(p.counts[i] + counts_of(&sites[i])->lost, n[i]);
    }
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_BLOCK],
                     counts_of(&sites[0])->lost + counts_of(&sites[1])->lost);
    assert_true(seen.looked > 0);
}

static void nothing_is_written_once_the_recorder_has_stopped(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("late");
    kymo_mark(&site, NULL);
    fixture.session->stopped = 1;
    uint64_t before = kymo_thread_self->marks;
    for (int i = 0; i < 10000; i++)
        kymo_mark(&site, NULL);
    /* What is left of a block, and no more. */
    assert_true(kymo_thread_self->marks - before <= KYMO_SMALL_BLOCK_BYTES / 16);
    assert_true(seen.looked > 0);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_BLOCK], 0);
}

/* A program that sleeps between its markers would go on for hours until its block is full. */
static void the_first_marker_after_the_end_sees_it(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("late");
    kymo_mark(&site, NULL);
    uint64_t before = kymo_thread_self->marks;
    int off = seen.off;
    fixture.session->stopped = 1;
    fixture.session->quiet |= KYMO_QUIET_STOPPED;
    kymo_mark(&site, NULL);
    assert_int_equal(kymo_thread_self->marks, before);
    assert_true(seen.off > off);
}

static void a_limit_counts_what_is_above_it(void **state)
{
    (void)state;
    enum { N = 5000, LIMIT = 100 };
    struct kymo_mark_type limited = pair_type;
    limited.max_per_second = LIMIT;
    struct kymo_mark_site site = SITE("limited", .type = &limited);
    struct kymo_mark_site same_type = SITE("of the same type", .type = &limited);
    const struct pair pair = {1, 2};
    uint64_t from_ns = kymo_clock_ns(CLOCK_MONOTONIC_COARSE);
    for (int i = 0; i < N; i++)
        kymo_mark(i % 2 ? &same_type : &site, &pair);
    uint64_t seconds = (kymo_clock_ns(CLOCK_MONOTONIC_COARSE) - from_ns) / 1000000000u + 2;
    uint64_t kept = count_records();
    assert_true(kept >= LIMIT && kept <= LIMIT * seconds);
    assert_int_equal(counts_of(&site)->capped + counts_of(&same_type)->capped, N - kept);
    assert_int_equal(counts_of(&site)->lost, 0);
    /* The ends of intervals are never above it. */
    const struct kymo_mark_options end = {.size = sizeof end, .timing = KYMO_TIMING_END, .id = 5};
    kymo_mark_with(&site, &pair, &end);
    assert_int_equal(count_records(), kept + 1);
}

/* One that makes very many leaves the others theirs: within a second, whatever their order. */
static void a_limit_is_shared_among_sites(void **state)
{
    (void)state;
    enum { SITES = 4, N = 5000, LIMIT = 100 };
    static struct kymo_mark_type limited;
    limited = pair_type;
    limited.max_per_second = LIMIT;
    struct kymo_mark_site sites[SITES] = {
        SITE("first", .type = &limited), SITE("second", .type = &limited),
        SITE("third", .type = &limited), SITE("last", .type = &limited)};
    const struct pair pair = {1, 2};
    for (int s = 0; s < SITES; s++) {
        for (int i = 0; i < N; i++)
            kymo_mark(&sites[s], &pair);
        assert_true(N - counts_of(&sites[s])->capped >= LIMIT / 2 / SITES);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, EACH = 3000 };
static struct kymo_mark_site shared_site = SITE("shared", .type = &pair_type);

static void *mark_many(void *argument)
{
    struct pair pair = {(uint64_t)(uintptr_t)argument, 0};
    for (uint64_t i = 0; i < EACH; i++) {
        pair.b = i;
        kymo_mark(&shared_site, &pair);
    }
    return NULL;
}

struct sequences {
    uint64_t next[THREADS];
};

static void follow(const struct kymo_record *r, void *context)
{
    struct sequences *s = context;
    struct mark m = mark_of(r);
    struct pair pair;
    memcpy(&pair, m.rest, sizeof pair);
    assert_true(pair.a < THREADS);
    assert_int_equal(pair.b, s->next[pair.a]);
    s->next[pair.a]++;
}

/* These threads were not announced: their first marker takes a slot. */
static void threads_do_not_meet(void **state)
{
    (void)state;
    close_process(NULL);
    open_process(8u << 20);
    pthread_t threads[THREADS];
    struct sequences s = {{0}};
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mark_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    read_all(follow, &s);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(s.next[i], EACH);
    assert_int_equal(fixture.session->slots_touched, THREADS + 1);
}

static void *mark_thrice(void *site)
{
    for (int i = 0; i < 3; i++)
        kymo_mark(site, NULL);
    return NULL;
}

static void a_thread_without_a_slot_loses_its_markers(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("nowhere");
    pthread_t thread;
    while (kymo_slot_take(fixture.session, &fixture.plan)) {
    }
    uint64_t before = fixture.session->lost[KYMO_LOSS_THREAD_FULL];
    assert_int_equal(pthread_create(&thread, NULL, mark_thrice, &site), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(counts_of(&site)->lost, 3);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_NO_THREAD], 3);
    /* That is about threads, not about markers. */
    assert_int_equal(fixture.session->lost[KYMO_LOSS_THREAD_FULL], before);
    assert_int_equal(seen.off, 0);
}

static void an_ended_thread_writes_nothing(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("after the end");
    struct kymo_capture_thread *self = kymo_thread_self;
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark(&site, NULL);
    kymo_mark(&site, NULL);
    kymo_thread_self = self;
    assert_int_equal(count_records(), 0);
    assert_int_equal(counts_of(&site)->lost, 2);
}

/* ---- handlers ---- */

static void a_claimed_stream_is_left_alone(void **state)
{
    (void)state;
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_mark_site site = SITE("in a handler");
    uint64_t count = 0;
    struct kymo_stream_writer *first = kymo_claim(t, KYMO_STREAM_TASK, KYMO_FRAME_BEGIN());
    assert_ptr_equal(first, &t->streams[KYMO_STREAM_TASK]);
    kymo_mark(&site, NULL);
    read_stream(t->number, KYMO_STREAM_SIGNAL, count_one, &count);
    assert_int_equal(count, 1);
    struct kymo_stream_writer *second = kymo_claim(t, KYMO_STREAM_SIGNAL, KYMO_FRAME_BEGIN());
    assert_ptr_equal(second, &t->streams[KYMO_STREAM_SIGNAL]);
    kymo_mark(&site, NULL);
    assert_int_equal(count_records(), 1);
    assert_int_equal(counts_of(&site)->lost, 1);
    assert_int_equal(fixture.session->lost[KYMO_LOSS_MARK_BUSY], 1);
    kymo_claim_end(second);
    kymo_claim_end(first);
    kymo_mark(&site, NULL);
    assert_int_equal(count_records(), 2);
}

static volatile sig_atomic_t strikes;
static struct kymo_mark_site struck_site = SITE("in a handler", .type = &pair_type);

static void on_alarm(int signo)
{
    (void)signo;
    struct pair pair = {1, (uint64_t)strikes};
    kymo_mark(&struck_site, &pair);
    strikes = strikes + 1;
}

struct two_sequences {
    uint64_t counts[2];
};

static void count_pairs(const struct kymo_record *r, void *context)
{
    struct two_sequences *s = context;
    struct mark m = mark_of(r);
    struct pair pair;
    assert_int_equal(r->kind, KYMO_RECORD_MARKER);
    assert_int_equal(m.rest_bytes, sizeof pair);
    memcpy(&pair, m.rest, sizeof pair);
    assert_true(pair.a < 2);
    s->counts[pair.a]++;
}

static void a_handler_that_interrupts_a_marker_makes_its_own(void **state)
{
    (void)state;
    close_process(NULL);
    open_process(32u << 20);
    struct kymo_mark_site site = SITE("interrupted", .type = &pair_type);
    struct pair pair = {0, 0};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}};
    struct itimerval never = {{0, 0}, {0, 0}};
    struct two_sequences s = {{0, 0}};
    strikes = 0;
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    for (uint64_t i = 0; i < 100000 && strikes < 2000; i++) {
        pair.b = i;
        kymo_mark(&site, &pair);
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    read_all(count_pairs, &s);
    assert_int_equal(s.counts[0] + counts_of(&site)->lost, pair.b + 1);
    if (strikes)
        assert_int_equal(s.counts[1] + counts_of(&struck_site)->lost, strikes);
}

static sigjmp_buf outside;

static __attribute__((noinline)) void claim_and_leave(struct kymo_capture_thread *t, int both)
{
    volatile char deeper[512];
    deeper[0] = deeper[511] = 0;
    (void)kymo_claim(t, KYMO_STREAM_TASK, KYMO_FRAME_BEGIN());
    if (both)
        (void)kymo_claim(t, KYMO_STREAM_SIGNAL, KYMO_FRAME_BEGIN());
    siglongjmp(outside, 1);
}

/* As a handler does that leaves a marker it has interrupted. */
static void what_a_longjmp_has_left_claims_nothing(void **state)
{
    (void)state;
    struct kymo_capture_thread *t = kymo_thread_self;
    struct kymo_mark_site site = SITE("after a longjmp");
    static volatile int both;
    static uint64_t count;
    count = 0;
    for (both = 0; both < 2; both = both + 1) {
        if (sigsetjmp(outside, 1) == 0)
            claim_and_leave(t, both);
        assert_true(t->streams[KYMO_STREAM_TASK].claim != 0);
        kymo_mark(&site, NULL);
        assert_int_equal(t->streams[KYMO_STREAM_TASK].claim, 0);
        if (both) {
            kymo_mark(&site, NULL);
            assert_int_not_equal(t->streams[KYMO_STREAM_SIGNAL].claim, 0);
        }
    }
    read_stream(t->number, KYMO_STREAM_TASK, count_one, &count);
    assert_int_equal(count, 3);
    assert_int_equal(counts_of(&site)->lost, 0);
}

static struct kymo_block *block_at_leaving;

static void leave_marker(int number)
{
    (void)number;
    block_at_leaving = kymo_thread_self->streams[KYMO_STREAM_TASK].block;
    siglongjmp(outside, 1);
}

static void be_struck(void)
{
    (void)raise(SIGUSR1);
}

/* Before the chain of blocks is changed, or after, but not in between. */
static void a_handler_that_leaves_does_so_with_the_next_block_there(void **state)
{
    (void)state;
    struct kymo_mark_site site = SITE("left");
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    static volatile uint64_t made;
    assert_true(signal(SIGUSR1, leave_marker) != SIG_ERR);
    kymo_mark(&site, NULL);
    for (made = 1; w->used + 16 <= w->room; made = made + 1)
        kymo_mark(&site, NULL);
    struct kymo_block *before = w->block;
    seen.on_look = be_struck;
    if (sigsetjmp(outside, 1) == 0) {
        kymo_mark(&site, NULL);
        fail_msg("not left");
    }
    assert_ptr_not_equal(block_at_leaving, before);
    assert_ptr_equal(block_at_leaving, w->block);
    kymo_mark(&site, NULL);
    assert_int_equal(count_records(), made + 1);
}

static void claims_on_stacks_that_are_not_known_are_believed(void **state)
{
    (void)state;
    struct kymo_capture_thread t = {.stack = {0x1000, 0x2000}};
    assert_true(kymo_claim_is_void(&t, 0x1800, 0x1900)); /* deeper than there */
    assert_true(kymo_claim_is_void(&t, 0x1800, 0x1800));
    assert_false(kymo_claim_is_void(&t, 0x1900, 0x1800)); /* called from there */
    assert_true(kymo_claim_is_void(&t, 0x9000, 0x1800));  /* a handler's stack, left */
    assert_false(kymo_claim_is_void(&t, 0x1800, 0x9000)); /* a handler's stack, entered */
    assert_false(kymo_claim_is_void(&t, 0x9000, 0xa000));
    t.stack = (struct kymo_stack_bounds){0, 0};
    assert_false(kymo_claim_is_void(&t, 0x1800, 0x1900));
}

/* The array may be a local one of main's: below it is what the handler has interrupted. */
static void an_alternate_stack_on_the_own_one_is_another(void **state)
{
    (void)state;
    struct kymo_capture_thread t = {.stack = {0x1000, 0x2000}, .alternate = {0x1a00, 0x100}};
    assert_false(kymo_claim_is_void(&t, 0x1800, 0x1a80)); /* entered */
    assert_true(kymo_claim_is_void(&t, 0x1a80, 0x1800));  /* left */
    assert_true(kymo_claim_is_void(&t, 0x1800, 0x1b00));
    assert_true(kymo_claim_is_void(&t, 0x1800, 0x19ff));
}

static struct kymo_mark_site alternate_site = SITE("on an alternate stack");

static void mark_on_alternate_stack(int number)
{
    (void)number;
    kymo_mark(&alternate_site, NULL);
}

static void a_handler_on_a_local_alternate_stack_leaves_the_claim(void **state)
{
    (void)state;
    char stack[64 * 1024];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, before;
    struct sigaction action = {.sa_handler = mark_on_alternate_stack, .sa_flags = SA_ONSTACK};
    struct kymo_capture_thread *t = kymo_thread_self;
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    kymo_thread_know_alternate((uint64_t)(uintptr_t)stack, sizeof stack);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    /* As a function claims that this one calls: deeper than the array. */
    uint64_t claim = (uint64_t)(uintptr_t)stack - 256;
    struct kymo_stream_writer *w = kymo_claim(t, KYMO_STREAM_TASK, claim);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(w->claim, claim);
    assert_null(w->block);
    assert_non_null(t->streams[KYMO_STREAM_SIGNAL].block);
    assert_int_equal(count_records(), 1);
    kymo_claim_end(w);
    assert_int_equal(sigaltstack(&before, NULL), 0);
    kymo_thread_know_alternate(0, 0);
}

/* Also one that two have written to at once does no harm to others. */
static void nothing_is_written_behind_a_block(void **state)
{
    (void)state;
    struct kymo_mark_site plain = SITE("plain");
    struct kymo_mark_site typed = SITE("typed", .type = &pair_type);
    struct pair pair = {~0ull, ~0ull};
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    for (uint32_t which = 0; which < 4; which++) {
        kymo_mark(&plain, NULL);
        kymo_mark(&typed, &pair);
        struct kymo_block *block = w->block;
        w->used = w->room + 8;
        struct kymo_mark_options options = {.size = sizeof options, .owner = ~0ull};
        if (which == 0)
            kymo_mark(&plain, NULL);
        else if (which == 1)
            kymo_mark(&typed, &pair);
        else if (which == 2)
            kymo_mark_with(&typed, &pair, &options);
        else
            kymo_mark_label_set("key", NULL);
        assert_ptr_not_equal(w->block, block);
        assert_true(w->used <= w->room);
    }
}

/* ---- forked children ---- */

static int in_child(int (*body)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct kymo_mark_site family_site = SITE("family", .type = &pair_type);

/* The session is not the child's, so it would be told here of what is written there. */
static int mark_without_a_session(void)
{
    const struct pair pair = {1, 2};
    kymo_mark(&family_site, &pair);
    kymo_mark(&family_site, &pair);
    return seen.off > 0 && !kymo_process_here() ? 0 : 1;
}

static void a_child_that_is_not_recorded_switches_off(void **state)
{
    (void)state;
    const struct pair pair = {3, 4};
    kymo_mark(&family_site, &pair);
    assert_int_equal(in_child(mark_without_a_session), 0);
    assert_int_equal(count_records(), 1);
    kymo_mark(&family_site, &pair);
    assert_int_equal(count_records(), 2);
}

static int mark_in_a_session_of_its_own(void)
{
    const struct pair pair = {1, 2};
    uint32_t parents = family_site.id;
    struct kymo_mark_scope scope = {.site = &family_site, .epoch = parents & 0xffff0000};
    kymo_mark_scope_end(&scope);
    kymo_mark(&family_site, &pair);
    kymo_mark(&family_site, &pair);
    uint64_t count = 0;
    read_all(count_one, &count);
    return count == 2 && family_site.id >> 16 == (parents >> 16) + 1 ? 0 : 1;
}

static void a_child_that_is_recorded_has_numbers_of_its_own(void **state)
{
    (void)state;
    const struct pair pair = {3, 4};
    kymo_mark(&family_site, &pair);
    seen.attaches = 1u << 20;
    assert_int_equal(in_child(mark_in_a_session_of_its_own), 0);
    assert_int_equal(count_records(), 1);
}

int main(void)
{
#define RECORDED(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)
    const struct CMUnitTest tests[] = {
        RECORDED(an_instant_is_a_record_of_sixteen_bytes),
        RECORDED(a_payload_is_copied_as_it_is),
        RECORDED(the_same_content_is_the_same_site),
        RECORDED(a_part_of_a_category_names_it),
        RECORDED(a_type_that_is_none_is_lost_and_counted),
        RECORDED(what_is_no_type_and_no_site_does_no_harm),
        RECORDED(names_that_find_no_room_are_counted),
        RECORDED(a_full_buffer_loses_exactly_what_it_says),
        RECORDED(nothing_is_written_once_the_recorder_has_stopped),
        RECORDED(the_first_marker_after_the_end_sees_it),
        RECORDED(a_limit_counts_what_is_above_it),
        RECORDED(a_limit_is_shared_among_sites),
        RECORDED(threads_do_not_meet),
        RECORDED(a_thread_without_a_slot_loses_its_markers),
        RECORDED(an_ended_thread_writes_nothing),
        RECORDED(a_claimed_stream_is_left_alone),
        RECORDED(a_handler_that_interrupts_a_marker_makes_its_own),
        RECORDED(what_a_longjmp_has_left_claims_nothing),
        RECORDED(a_handler_that_leaves_does_so_with_the_next_block_there),
        RECORDED(claims_on_stacks_that_are_not_known_are_believed),
        RECORDED(an_alternate_stack_on_the_own_one_is_another),
        RECORDED(a_handler_on_a_local_alternate_stack_leaves_the_claim),
        RECORDED(nothing_is_written_behind_a_block),
        RECORDED(a_child_that_is_not_recorded_switches_off),
        RECORDED(a_child_that_is_recorded_has_numbers_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
