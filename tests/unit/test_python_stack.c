/* SPDX-License-Identifier: Apache-2.0 */
/* Python frames in native stacks; what is known of code is made up here. */
#include "python_fixture.h"

#include "capture/python_stack.h"

enum { MAX = 1024, EVAL = 0x500000 };

static struct {
    struct kymo_capture_process process;
    struct kymo_session session;
    struct {
        struct kymo_python_place place;
        uint64_t sps[MAX], words[MAX];
    } memory;
    uint64_t pcs[MAX];
    uint32_t n;
    enum kymo_walk_end end;
    const char *hidden;
} t;

/* The number of a code object is that of its node, and one. */
uint32_t kymo_python_code(struct kymo_capture_process *process, struct kymo_python_pages *pages,
                          uint64_t code, int *is_hidden)
{
    (void)process;
    (void)pages;
    *is_hidden = t.hidden && code == at_of(t.hidden);
    return (uint32_t)((code - at_of(node(0))) / NODE_BYTES) + 1;
}

/* Says how many frames were walked. */
void kymo_python_task_find(const struct kymo_python *python, struct kymo_python_pages *pages,
                           const struct kymo_python_stack *stack, struct kymo_python_task *out)
{
    (void)python;
    (void)pages;
    out->bytes = stack->frames;
}

static void start(uint32_t minor)
{
    memset(&t, 0, sizeof t);
    use(minor);
    char *runtime = node(900);
    w.python.runtime = at_of(runtime);
    w.python.eval_lo = EVAL;
    w.python.eval_hi = EVAL + 0x1000;
    put(runtime, w.python.offsets.key, 1 | (uint64_t)w.key << 32);
    put(w.state, w.python.offsets.thread_id, (uint64_t)pthread_self());
    assert_int_equal(pthread_setspecific(w.key, w.state), 0);
    t.process.session = &t.session;
    t.process.python = &w.python;
    t.process.depth = MAX;
    t.end = KYMO_WALK_COMPLETE;
}

/* The next native frame outwards. */
static void native(uint64_t pc, const char *sp)
{
    t.memory.sps[t.n] = at_of(sp);
    t.pcs[t.n++] = pc;
}

static void merge(const char *innermost)
{
    put(w.state, w.python.offsets.frame, at_of(innermost));
    t.n = kymo_python_merge(&t.process, &t.memory.place, t.pcs, t.n, &t.end, NULL);
    assert_true(t.n <= t.process.depth);
}

static uint64_t shown(uint32_t code, uint32_t at)
{
    return KYMO_PC_PYTHON | (uint64_t)(code + 1) << KYMO_PC_PYTHON_CODE_SHIFT | at;
}

static void assert_stack(const uint64_t *expected, uint32_t n)
{
    for (uint32_t i = 0; i < n && i < t.n; i++)
        if (t.pcs[i] != expected[i])
            fail_msg("3.%u: frame %u of %u is %llx, not %llx", w.python.minor, i, t.n,
                     (unsigned long long)t.pcs[i], (unsigned long long)expected[i]);
    assert_int_equal(t.n, n);
}

#define EXPECT(...)                                                   \
    do {                                                              \
        const uint64_t expected_[] = {__VA_ARGS__};                   \
        assert_stack(expected_, (uint32_t)KYMO_ARRAY_LEN(expected_)); \
    } while (0)

/* Native frames around the chain of the fixture: the innermost, the inner evaluator (up to 3.10
 * two), a helper, the outer evaluator, main. */
static void native_chain(void)
{
    native(0x400000, node(18));
    native(EVAL + 8, node(19));
    if (w.python.minor <= 10)
        native(EVAL + 16, node(19) + 64);
    native(0x400010, node(20) + 64);
    native(EVAL + 24, node(20) + 128);
    native(0x400020, node(21) + 64);
}

static void the_task_is_looked_for_in_the_frames_that_were_walked(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        struct kymo_python_task task = {0};
        start(minor);
        char *chain = make_chain();
        native_chain();
        put(w.state, w.python.offsets.frame, at_of(chain));
        t.n = kymo_python_merge(&t.process, &t.memory.place, t.pcs, t.n, &t.end, &task);
        assert_int_equal(task.bytes, t.memory.place.stack.frames);
        assert_true(task.bytes >= 3);
    }
}

static void frames_take_the_place_of_their_evaluators(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        merge(chain);
        EXPECT(0x400000, shown(0, 4), shown(1, 6), 0x400010, shown(2, 8), 0x400020);
        assert_int_equal(t.end, KYMO_WALK_COMPLETE);
        assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 0);
    }
}

/* It is on its way in or out. */
static void an_evaluator_without_frames_stays(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native(EVAL + 4, node(15));
        native(0x400004, node(16));
        native_chain();
        merge(chain);
        EXPECT(EVAL + 4, 0x400004, 0x400000, shown(0, 4), shown(1, 6), 0x400010, shown(2, 8),
               0x400020);
    }
}

/* A return address at the evaluator's end belongs to it, one at its begin does not. */
static void calls_at_the_edges_of_the_evaluator_are_its_own(void **state)
{
    (void)state;
    start(9);
    native(EVAL, node(18)); /* the innermost is no return address */
    native(EVAL, node(19));
    native(EVAL + 0x1000, node(20));
    char *chain = make_frame(10, make_code(0), 4, make_frame(11, make_code(1), 6, NULL));
    merge(chain);
    EXPECT(shown(0, 4), EVAL, shown(1, 6));
}

static void where_a_signal_struck_is_kept(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        for (uint32_t i = 0; i < t.n; i++)
            t.pcs[i] |= KYMO_PC_EXACT;
        merge(chain);
        EXPECT(0x400000 | KYMO_PC_EXACT, shown(0, 4), shown(1, 6), 0x400010 | KYMO_PC_EXACT,
               shown(2, 8), 0x400020 | KYMO_PC_EXACT);
    }
}

/* The unwinder could not go on: what is outside comes at the end. */
static void a_native_stack_that_ends_early_has_all_frames(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        t.n -= 2;
        t.end = KYMO_WALK_NO_ROW;
        merge(chain);
        if (minor <= 10) /* which helper is whose is not known */
            EXPECT(0x400000, shown(0, 4), shown(1, 6), shown(2, 8));
        else
            EXPECT(0x400000, shown(0, 4), shown(1, 6), 0x400010, shown(2, 8));
        assert_int_equal(t.end, KYMO_WALK_NO_ROW);
    }
}

static void frames_that_are_hidden_are_left_out(void **state)
{
    (void)state;
    for (uint32_t minor = 11; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        t.hidden = node(1);
        merge(chain);
        EXPECT(0x400000, shown(0, 4), 0x400010, shown(2, 8), 0x400020);
        /* An evaluator that runs nothing else is shown as it is. */
        start(minor);
        chain = make_chain();
        native_chain();
        t.hidden = node(2);
        merge(chain);
        EXPECT(0x400000, shown(0, 4), shown(1, 6), 0x400010, EVAL + 24, 0x400020);
    }
}

static void a_thread_without_a_state_keeps_its_stack(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        uint32_t n = t.n;
        assert_int_equal(pthread_setspecific(w.key, NULL), 0);
        uint64_t before[MAX];
        memcpy(before, t.pcs, sizeof before);
        merge(chain);
        assert_stack(before, n);
        assert_int_equal(t.end, KYMO_WALK_COMPLETE);
    }
}

/* ---- more than fits ---- */

/* One evaluator of 3.11 and later with a thousand frames, in another that has one. */
static char *make_deep(uint32_t deep)
{
    char *code = make_code(0);
    char *outer_code = make_code(1);
    uint32_t minor = w.python.minor;
    char *outermost = make_frame(90, outer_code, 8, minor >= 12 ? make_shim(3, NULL) : NULL);
    char *frame = minor >= 12 ? make_shim(2, outermost) : outermost;
    for (uint32_t i = 0; i < deep; i++)
        frame = make_frame(100 + i, code, 2 * i, frame);
    if (minor == 11) {
        put(state_cframe(), w.python.offsets.current, 0);
        return make_cframe(2, frame, make_cframe(3, outermost, state_cframe()));
    }
    return minor == 12 ? make_cframe(4, frame, NULL) : frame;
}

/* An evaluator whose code is not where its symbol is: known when a frame of it spans a mark. */
static void a_part_of_the_evaluator_is_learnt(void **state)
{
    (void)state;
    enum { COLD = 0x408000, FAR = COLD + 0x40000 };
    for (uint32_t minor = 12; minor <= 14; minor++) {
        start(minor);
        w.python.lo = 0x400000;
        w.python.hi = 0x600000;
        for (uint32_t round = 0; round < 3; round++) {
            /* The first one is outside of the module, and tells nothing. */
            t.n = 0;
            t.end = KYMO_WALK_COMPLETE;
            char *chain = make_chain();
            native(round ? COLD + 64 * round : 0x700000, node(19));
            native(0x400010, node(20) + 64);
            native(EVAL + 24, node(20) + 128);
            native(0x400020, node(21) + 64);
            merge(chain);
            EXPECT(shown(0, 4), shown(1, 6), 0x400010, shown(2, 8), 0x400020);
            assert_int_equal(w.python.cold_lo, round ? COLD + 64 : 0);
            assert_int_equal(w.python.cold_hi, round ? COLD + 64 * round + 1 : 0);
        }
        /* The mark of a run that was cut is not known: the frame's code tells. */
        for (uint32_t known = 0; known < 2; known++) {
            t.n = 0;
            t.end = KYMO_WALK_COMPLETE;
            char *frame = make_deep(700);
            native(0x400000, node(0));
            native(known ? COLD + 100 : FAR, node(1));
            native(0x400020, node(3) + 64);
            merge(frame);
            assert_int_equal(t.n, known ? 1 + KYMO_PYTHON_FRAMES_MAX : 3);
            assert_int_equal(t.pcs[0], 0x400000);
        }
    }
}

static void a_deep_recursion_is_cut_at_its_outer_end(void **state)
{
    (void)state;
    enum { DEEP = 480 };
    for (uint32_t more = 0; more < 2; more++)
        for (uint32_t minor = 11; minor <= 14; minor++) {
            uint32_t deep = more ? 700 : DEEP;
            start(minor);
            char *frame = make_deep(deep);
            native(0x400000, node(0));
            native(EVAL + 8, node(1));
            native(EVAL + 16, node(2) + 64);
            native(0x400020, node(3) + 64);
            merge(frame);
            assert_int_equal(t.pcs[0], 0x400000);
            uint32_t kept = more ? KYMO_PYTHON_FRAMES_MAX : deep;
            for (uint32_t i = 0; i < kept; i++)
                assert_int_equal(t.pcs[1 + i], shown(0, 2 * (deep - 1 - i)));
            if (more) { /* what is outside is not known */
                assert_int_equal(t.n, 1 + kept);
                assert_int_equal(t.end, KYMO_WALK_DEPTH);
            } else {
                assert_int_equal(t.n, 1 + kept + 2);
                assert_int_equal(t.pcs[1 + kept], shown(1, 8));
                assert_int_equal(t.pcs[2 + kept], 0x400020);
                assert_int_equal(t.end, KYMO_WALK_COMPLETE);
            }
            assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 0);
        }
}

static void a_stack_deeper_than_the_limit_says_so(void **state)
{
    (void)state;
    for (uint32_t depth = 1; depth < 8; depth++) {
        start(12);
        char *chain = make_chain();
        native_chain();
        t.process.depth = depth;
        t.n = t.n < depth ? t.n : depth;
        t.end = t.n < 5 ? KYMO_WALK_DEPTH : KYMO_WALK_COMPLETE;
        merge(chain);
        const uint64_t whole[] = {0x400000, shown(0, 4), shown(1, 6),
                                  0x400010, shown(2, 8), 0x400020};
        assert_true(t.n >= 1);
        assert_int_equal(t.pcs[0], whole[0]);
        assert_int_equal(t.end, depth < 6 ? KYMO_WALK_DEPTH : KYMO_WALK_COMPLETE);
        if (depth >= 5)
            assert_stack(whole, depth < 6 ? depth : 6);
    }
}

/* ---- broken chains ---- */

static void what_cannot_be_read_is_counted_and_not_called_complete(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        start(minor);
        char *chain = make_chain();
        native_chain();
        put(node(2), 8, code_type + 8); /* the outermost is no code */
        merge(chain);
        assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 1);
        assert_int_equal(t.end, KYMO_WALK_BAD_STACK);
        assert_int_equal(t.pcs[0], 0x400000);
        assert_int_equal(t.pcs[1], shown(0, 4));
        assert_int_equal(t.pcs[2], shown(1, 6));
    }
}

/* 3.12 links its structure in before it fills it, too. What an earlier call has left there may be a
 * frame that is gone and looks as if it were alive. */
static void a_frame_that_is_gone_is_not_shown(void **state)
{
    (void)state;
    for (uint32_t minor = 11; minor <= 12; minor++) {
        start(minor);
        make_chain();
        make_chunk();
        char *dead = make_frame(70, make_code(3), 4, node(12));
        char *alive = make_frame(50, make_code(4), 4, minor == 11 ? node(12) : node(20));
        const uint64_t current[] = {at_of(alive), at_of(dead), 0xdbdbdbdbdbdbdbd8, at_of(w.gone)};
        for (uint32_t round = 0; round < KYMO_ARRAY_LEN(current); round++) {
            t.n = 0;
            t.end = KYMO_WALK_COMPLETE;
            native(0x400000, node(18));
            native(EVAL + 8, node(19));
            native(0x400010, node(20) + 128);
            native(EVAL + 24, node(20) + 192);
            native(0x400020, node(21) + 128);
            /* In each evaluator's native frame, 40 bytes below its end, behind the mark. */
            char *outer = node(21) + 88, *inner = node(20) + 88;
            put(outer, w.python.offsets.current, at_of(node(12)));
            put(outer, w.python.offsets.outer, at_of(state_cframe()));
            put(inner, w.python.offsets.current, current[round]);
            put(inner, w.python.offsets.outer, at_of(outer));
            merge(inner);
            if (round == 0)
                EXPECT(0x400000, shown(4, 4), 0x400010, shown(2, 8), 0x400020);
            else
                EXPECT(0x400000, EVAL + 8, 0x400010, shown(2, 8), 0x400020);
            assert_int_equal(t.end, KYMO_WALK_COMPLETE);
            assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 0);
        }
    }
    /* 3.13 has nothing that is filled later: it is counted. */
    for (uint32_t minor = 13; minor <= 14; minor++) {
        start(minor);
        make_chain();
        make_chunk();
        native_chain();
        merge(make_frame(70, make_code(3), 4, node(20)));
        assert_int_equal(t.pcs[1], EVAL + 8);
        assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 1);
    }
}

/* Up to 3.10, a chain that has frames of other calls than the native stack. */
static void calls_and_frames_that_do_not_fit_are_not_mixed(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 10; minor++)
        for (uint32_t more = 0; more < 2; more++) {
            start(minor);
            char *chain = make_chain();
            native(0x400000, node(0));
            for (uint32_t i = 0; i < (more ? 5 : 2); i++)
                native(EVAL + 8, node(1 + i));
            native(0x400020, node(21) + 64);
            merge(chain);
            EXPECT(0x400000, shown(0, 4), shown(1, 6), shown(2, 8));
            assert_int_equal(t.end, KYMO_WALK_BAD_STACK);
            assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 1);
        }
}

/* ---- sub-interpreters ---- */

enum { MAIN = 910, SUB = 914, OTHER = 918, THIRD = 922 }; /* nodes, with room for more */

/* Interpreters in a list that ends with the main one, and the states of their threads. The first
 * one of the calling thread is w.state. */
static void make_interpreters(uint32_t states, const uint32_t state_nodes[])
{
    const struct kymo_python_lists *l = &w.python.lists;
    char *runtime = node(900) + l->interpreters; /* in the nodes behind it */
    put(runtime, 0, at_of(node(SUB)));
    put(runtime, 8, at_of(node(MAIN)));
    put(node(SUB), l->next, at_of(node(MAIN)));
    put(node(MAIN), l->threads, at_of(w.state));
    put(node(SUB), l->threads, states ? at_of(node(state_nodes[0])) : 0);
    for (uint32_t i = 0; i < states; i++)
        put(node(state_nodes[i]), 8, i + 1 < states ? at_of(node(state_nodes[i + 1])) : 0);
}

/* A state of this thread, or of another one. */
static void make_state(uint32_t i, uint64_t thread, const char *innermost)
{
    put(node(i), w.python.offsets.thread_id, thread);
    put(node(i), w.python.offsets.frame, at_of(innermost));
}

/* The inner evaluator's frames are of a sub-interpreter, the outer one's of the main one. */
static void frames_of_each_interpreter_are_where_they_run(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++)
        for (uint32_t sub_first = 0; sub_first < 2; sub_first++) {
            start(minor);
            char *chain = make_chain();
            char *outer = node(12), *inner = chain;
            if (minor <= 10) {
                put(node(11), w.python.offsets.back, 0);
            } else if (minor == 11) {
                outer = node(21);
                put(node(11), w.python.offsets.back, 0);
                put(node(20), w.python.offsets.outer, at_of(node(OTHER)) + 512);
            } else {
                put(node(20), w.python.offsets.back, 0);
                outer = minor == 12 ? make_cframe(24, node(12), NULL) : node(12);
            }
            const uint32_t nodes[] = {THIRD, OTHER};
            make_interpreters(2, nodes);
            make_state(THIRD, 0x7777, node(12)); /* of another thread */
            /* From 3.12 on the one that the key has may be the inner one. */
            int swap = sub_first && minor >= 11;
            make_state(OTHER, (uint64_t)pthread_self(), swap ? outer : inner);
            if (minor == 11) { /* each chain ends in its own state */
                put(node(20), w.python.offsets.outer,
                    swap ? at_of(state_cframe()) : at_of(node(OTHER)) + 512);
                put(node(21), w.python.offsets.outer,
                    swap ? at_of(node(OTHER)) + 512 : at_of(state_cframe()));
                put(node(OTHER) + 512, w.python.offsets.current, 0);
            }
            native_chain();
            merge(swap ? inner : outer);
            EXPECT(0x400000, shown(0, 4), shown(1, 6), 0x400010, shown(2, 8), 0x400020);
            assert_int_equal(t.end, KYMO_WALK_COMPLETE);
            assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 0);
        }
}

/* More states than are read, and lists that lead nowhere: no frame is shown, and it is counted. */
static void interpreters_that_cannot_be_told_are_counted(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++)
        for (uint32_t what = 0; what < 3; what++) {
            start(minor);
            char *chain = make_chain();
            const uint32_t nodes[] = {930, 934, 938, 942, 946};
            make_interpreters(KYMO_ARRAY_LEN(nodes), nodes);
            for (uint32_t i = 0; i < KYMO_ARRAY_LEN(nodes); i++)
                make_state(nodes[i], what == 0 ? (uint64_t)pthread_self() : 0x7777, NULL);
            if (what == 1) /* a circle */
                put(node(946), 8, at_of(node(930)));
            else if (what == 2)
                put(node(946), 8, at_of(w.gone));
            native_chain();
            uint64_t before[MAX];
            uint32_t n = t.n;
            memcpy(before, t.pcs, sizeof before);
            merge(chain);
            assert_stack(before, n);
            assert_int_equal(t.end, KYMO_WALK_BAD_STACK);
            assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 1);
        }
}

/* 3.11 links the innermost structure in before it fills it. */
static void a_half_made_evaluator_does_not_hide_the_others(void **state)
{
    (void)state;
    start(11);
    char *chain = make_chain();
    /* The structures are as far from the ends of their native frames: 64 bytes. */
    for (uint32_t round = 0; round < 3; round++) {
        uint64_t stale[] = {at_of(node(10)), 0xdbdbdbdbdbdbdbd8, at_of(w.gone)};
        t.n = 0;
        t.end = KYMO_WALK_COMPLETE;
        native_chain();
        put(node(20), w.python.offsets.current, stale[round]);
        merge(chain);
        if (round == 0)
            EXPECT(0x400000, shown(0, 4), shown(1, 6), 0x400010, shown(2, 8), 0x400020);
        else
            EXPECT(0x400000, EVAL + 8, 0x400010, shown(2, 8), 0x400020);
        assert_int_equal(t.end, KYMO_WALK_COMPLETE);
        assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 0);
    }
}

/* ---- places ---- */

static void places_are_taken_and_given_back(void **state)
{
    (void)state;
    static struct kymo_capture_thread threads[KYMO_PYTHON_PLACES];
    struct kymo_python_place *places[2 * KYMO_PYTHON_PLACES];
    start(12);
    t.process.python_place_count = KYMO_PYTHON_PLACES;
    size_t bytes = KYMO_PYTHON_PLACES * kymo_python_place_bytes(MAX);
    t.process.python_places = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(t.process.python_places, MAP_FAILED);
    uint32_t taken = 0, refused = 0;
    for (uint32_t i = 0; i < KYMO_PYTHON_PLACES; i++) {
        threads[i].number = i;
        for (int is_alloc = 0; is_alloc < 2; is_alloc++) {
            struct kymo_python_place *place =
                kymo_python_place_take(&t.process, &threads[i], is_alloc);
            /* The thread left it by a longjmp. */
            assert_ptr_equal(kymo_python_place_take(&t.process, &threads[i], is_alloc), place);
            if (!place) {
                refused++;
                continue;
            }
            for (uint32_t k = 0; k < taken; k++)
                assert_ptr_not_equal(place, places[k]);
            size_t at = (size_t)((char *)place - t.process.python_places);
            assert_true(at + kymo_python_place_bytes(MAX) <= bytes);
            places[taken++] = place;
        }
    }
    assert_int_equal(taken, KYMO_PYTHON_PLACES);
    assert_int_equal(refused, KYMO_PYTHON_PLACES);
    assert_int_equal(t.session.lost[KYMO_LOSS_PYTHON], 2 * refused);
    for (uint32_t i = 0; i < taken; i++)
        kymo_python_place_give(places[i]);
    assert_non_null(kymo_python_place_take(&t.process, &threads[KYMO_PYTHON_PLACES - 1], 1));
    assert_int_equal(munmap(t.process.python_places, bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_take_the_place_of_their_evaluators, begin, end),
        cmocka_unit_test_setup_teardown(the_task_is_looked_for_in_the_frames_that_were_walked,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_evaluator_without_frames_stays, begin, end),
        cmocka_unit_test_setup_teardown(calls_at_the_edges_of_the_evaluator_are_its_own, begin,
                                        end),
        cmocka_unit_test_setup_teardown(where_a_signal_struck_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_native_stack_that_ends_early_has_all_frames, begin, end),
        cmocka_unit_test_setup_teardown(frames_that_are_hidden_are_left_out, begin, end),
        cmocka_unit_test_setup_teardown(a_thread_without_a_state_keeps_its_stack, begin, end),
        cmocka_unit_test_setup_teardown(a_part_of_the_evaluator_is_learnt, begin, end),
        cmocka_unit_test_setup_teardown(a_deep_recursion_is_cut_at_its_outer_end, begin, end),
        cmocka_unit_test_setup_teardown(a_stack_deeper_than_the_limit_says_so, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_counted_and_not_called_complete,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_half_made_evaluator_does_not_hide_the_others, begin, end),
        cmocka_unit_test_setup_teardown(a_frame_that_is_gone_is_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(calls_and_frames_that_do_not_fit_are_not_mixed, begin, end),
        cmocka_unit_test_setup_teardown(frames_of_each_interpreter_are_where_they_run, begin, end),
        cmocka_unit_test_setup_teardown(interpreters_that_cannot_be_told_are_counted, begin, end),
        cmocka_unit_test_setup_teardown(places_are_taken_and_given_back, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
