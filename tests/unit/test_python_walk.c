/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of each version, whole and broken. */
#include "python_fixture.h"

static void walk_from(const char *innermost)
{
    put(w.state, w.python.offsets.frame, at_of(innermost));
    memset(&w.stack, 0xff, sizeof w.stack);
    kymo_python_walk(&w.python, at_of(w.state), 0, &w.pages, &w.stack);
    assert_true(w.stack.frames <= KYMO_PYTHON_FRAMES_MAX && w.stack.runs <= KYMO_PYTHON_FRAMES_MAX);
    for (uint32_t i = 0; i < w.stack.runs; i++)
        assert_true(w.stack.run[i].first + w.stack.run[i].count <= w.stack.frames);
}

static void assert_frame(uint32_t i, const char *code, uint32_t at)
{
    assert_true(i < w.stack.frames);
    assert_int_equal(w.stack.frame[i].code, at_of(code));
    assert_int_equal(w.stack.frame[i].at, at);
}

static void assert_run(uint32_t i, const char *mark, uint32_t first, uint32_t count)
{
    assert_true(i < w.stack.runs);
    assert_int_equal(w.stack.run[i].mark, at_of(mark));
    assert_int_equal(w.stack.run[i].first, first);
    assert_int_equal(w.stack.run[i].count, count);
}

/* ---- whole chains ---- */

static void chains_are_read_as_each_version_keeps_them(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        walk_from(make_chain());
        assert_int_equal(w.stack.faults, 0);
        assert_int_equal(w.stack.frames, 3);
        assert_frame(0, node(0), 4);
        assert_frame(1, node(1), 6);
        assert_frame(2, node(2), 8);
        assert_int_equal(w.stack.runs, minor <= 10 ? 3 : 2);
        if (minor <= 10) {
            for (uint32_t i = 0; i < 3; i++)
                assert_run(i, NULL, i, 1);
        } else {
            assert_run(0, node(20), 0, 2);
            assert_run(1, node(21), 2, 1);
        }
    }
}

static void a_thread_without_frames_has_none(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        if (minor == 11)
            walk_from(state_cframe());
        else
            walk_from(minor == 12 ? make_cframe(22, NULL, NULL) : NULL);
        assert_int_equal(w.stack.frames + w.stack.runs + w.stack.faults, 0);
    }
}

/* 3.11: where the innermost structure is not filled, the caller begins at the next one. */
static void a_walk_begins_where_it_is_told(void **state)
{
    (void)state;
    use(11);
    put(w.state, w.python.offsets.frame, at_of(make_chain()));
    kymo_python_walk(&w.python, at_of(w.state), at_of(node(21)), &w.pages, &w.stack);
    assert_int_equal(w.stack.faults, 0);
    assert_int_equal(w.stack.frames, 1);
    assert_frame(0, node(2), 8);
    assert_run(0, node(21), 0, 1);
}

/* ---- broken chains ---- */

/* Frames are missing, but none is wrong, and they are in order. */
static void assert_some_of_the_chain(void)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < w.stack.frames; i++, next++) {
        while (next < 3 && w.stack.frame[i].code != at_of(node(next)))
            next++;
        assert_true(next < 3);
        assert_frame(i, node(next), 4 + 2 * next);
    }
}

/* What may be found in the place of a pointer, and must not be followed. */
static uint64_t bad_pointer(uint32_t i)
{
    const uint64_t bad[] = {
        at_of(w.gone), at_of(w.gone) + 4000, at_of(node(5)) + 1, at_of(node(5)) + 4, 8,
        1ull << 47,    0xdbdbdbdbdbdbdbd8,   UINT64_MAX - 7,     at_of(w.gone) - 8};
    return i < KYMO_ARRAY_LEN(bad) ? bad[i] : 0;
}

static void pointers_that_lead_nowhere_end_the_walk(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++)
        for (uint32_t i = 0; bad_pointer(i); i++) {
            const struct kymo_python_offsets *o = &w.python.offsets;
            for (uint32_t what = 0; what < 6; what++) {
                use(minor);
                char *start = make_chain();
                if (what == 0) /* of the state */
                    start = (char *)(uintptr_t)bad_pointer(i);
                else if (what < 3) /* of the inner and of the outer frame */
                    put(node(what == 1 ? 10 : 11), o->code, bad_pointer(i));
                else if (what < 5)
                    put(node(what == 3 ? 10 : 11), o->back, bad_pointer(i));
                else if (minor == 11)
                    put(node(20), o->outer, bad_pointer(i));
                else if (minor == 12)
                    put(node(22), o->current, bad_pointer(i));
                else
                    continue;
                walk_from(start);
                assert_int_not_equal(w.stack.faults, 0);
                assert_true(w.stack.frames < 3);
                assert_some_of_the_chain();
            }
        }
}

static void what_is_not_code_is_no_frame(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        char *start = make_chain();
        put(node(1), 8, code_type + 8); /* an object of another type, where code was */
        walk_from(start);
        assert_true(w.stack.faults & KYMO_PYTHON_BAD_CODE);
        /* From 3.11 on the run is not sure; in 3.11 the next one is found without it. */
        assert_int_equal(w.stack.frames, minor <= 11 ? 1 : 0);
        assert_some_of_the_chain();
    }
}

/* 3.11: a run that does not end where the next begins. */
static void a_run_that_misses_its_end_is_not_shown(void **state)
{
    (void)state;
    use(11);
    char *start = make_chain();
    put(node(11), w.python.offsets.back, 0);
    walk_from(start);
    assert_true(w.stack.faults & KYMO_PYTHON_BAD_CFRAME);
    assert_int_equal(w.stack.frames, 1);
    assert_frame(0, node(2), 8);
}

/* From 3.12 on: the chain ends without the mark of an evaluator. */
static void frames_of_no_evaluator_are_not_shown(void **state)
{
    (void)state;
    for (uint32_t minor = 12; minor <= 14; minor++) {
        use(minor);
        char *start = make_chain();
        put(node(12), w.python.offsets.back, 0);
        walk_from(start);
        assert_int_equal(w.stack.frames, 2);
        assert_int_equal(w.stack.runs, 1);
    }
}

static void circles_end(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        char *start = make_chain();
        put(node(11), w.python.offsets.back, at_of(node(10)));
        walk_from(start);
        assert_true(w.stack.faults & KYMO_PYTHON_CUT);
    }
    /* Of structures. */
    use(11);
    char *start = make_chain();
    put(node(21), w.python.offsets.outer, at_of(node(20)));
    walk_from(start);
    assert_int_not_equal(w.stack.faults, 0);
    /* Of marks alone. */
    for (uint32_t minor = 12; minor <= 14; minor++) {
        use(minor);
        start = make_shim(20, make_shim(21, node(20)));
        walk_from(minor == 12 ? make_cframe(22, start, NULL) : start);
        assert_int_equal(w.stack.frames, 0);
    }
}

/* The innermost are kept. */
static void more_frames_than_fit_are_cut(void **state)
{
    (void)state;
    enum { DEEP = 1000 };
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        char *code = make_code(0);
        char *frame = minor >= 12 ? make_shim(1, NULL) : NULL;
        for (uint32_t i = 0; i < DEEP; i++)
            frame = make_frame(100 + i, code, 2 * i, frame);
        if (minor == 11) {
            put(state_cframe(), w.python.offsets.current, 0);
            frame = make_cframe(2, frame, state_cframe());
        } else if (minor == 12) {
            frame = make_cframe(2, frame, NULL);
        }
        walk_from(frame);
        assert_int_equal(w.stack.faults, KYMO_PYTHON_CUT);
        assert_int_equal(w.stack.frames, KYMO_PYTHON_FRAMES_MAX);
        for (uint32_t i = 0; i < KYMO_PYTHON_FRAMES_MAX; i++)
            assert_frame(i, code, 2 * (DEEP - 1 - i));
        assert_int_equal(w.stack.runs, minor <= 10 ? KYMO_PYTHON_FRAMES_MAX : 1);
        assert_int_equal(w.stack.run[0].first, 0);
    }
}

/* No frame is like another, and each may hold anything: the walk ends, within its arrays. */
static void random_words_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (uint32_t round = 0; round < 3000; round++) {
        use(9 + round % 5);
        char *start = make_chain();
        for (uint32_t i = 0; i < 6; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t to = at_of(node(random >> 40 & 31)) + (random >> 33 & 7) * 32;
            put(node(random >> 48 & 31), (uint32_t)(random >> 60) * 8,
                random & 1ull << 32 ? to : random);
        }
        walk_from(start);
    }
}

/* ---- the thread ---- */

static void the_state_is_found_by_its_key(void **state)
{
    (void)state;
    for (uint32_t minor = 9; minor <= 14; minor++) {
        use(minor);
        char *runtime = node(500); /* and those behind it */
        const uint64_t made = 1 | (uint64_t)w.key << 32;
        w.python.runtime = at_of(runtime);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        put(runtime, w.python.offsets.key, made);
        assert_int_equal(pthread_setspecific(w.key, NULL), 0);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        assert_int_equal(pthread_setspecific(w.key, w.state), 0);
        put(w.state, w.python.offsets.thread_id, (uint64_t)pthread_self() + 64);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0); /* of another thread */
        put(w.state, w.python.offsets.thread_id, (uint64_t)pthread_self());
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), at_of(w.state));
        put(runtime, w.python.offsets.key, made & ~1ull); /* no key was made */
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        put(runtime, w.python.offsets.key, 1ull | 0xffffffffull << 32);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        put(runtime, w.python.offsets.key, made);
        assert_int_equal(pthread_setspecific(w.key, w.gone), 0);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        assert_int_equal(pthread_setspecific(w.key, w.state + 4), 0);
        assert_int_equal(kymo_python_thread_state(&w.python, &w.pages), 0);
        assert_int_equal(pthread_setspecific(w.key, NULL), 0);
    }
}

/* ---- memory ---- */

static void copies_need_each_page(void **state)
{
    (void)state;
    use(9);
    char to[9000];
    memset(w.gone - 8192, 'x', 8192);
    assert_true(kymo_python_copy(&w.pages, at_of(w.gone) - 100, to, 99));
    assert_true(kymo_python_copy(&w.pages, at_of(w.gone) - 100, to, 100));
    assert_false(kymo_python_copy(&w.pages, at_of(w.gone) - 100, to, 101));
    assert_true(kymo_python_copy(&w.pages, at_of(w.gone) - 8192, to, 8192));
    assert_false(kymo_python_copy(&w.pages, at_of(w.gone) - 8192, to, 8193));
    assert_false(kymo_python_copy(&w.pages, at_of(w.gone) + 10, to, 1));
    assert_false(kymo_python_copy(&w.pages, 0, to, 1));
    assert_false(kymo_python_copy(&w.pages, UINT64_MAX, to, 8));
    assert_false(kymo_python_copy(&w.pages, (1ull << 47) - 1, to, 8));
    assert_false(kymo_python_copy(&w.pages, at_of(w.memory), to, 1ull << 47));
    assert_int_equal(to[8191], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chains_are_read_as_each_version_keeps_them, begin, end),
        cmocka_unit_test_setup_teardown(a_thread_without_frames_has_none, begin, end),
        cmocka_unit_test_setup_teardown(a_walk_begins_where_it_is_told, begin, end),
        cmocka_unit_test_setup_teardown(pointers_that_lead_nowhere_end_the_walk, begin, end),
        cmocka_unit_test_setup_teardown(what_is_not_code_is_no_frame, begin, end),
        cmocka_unit_test_setup_teardown(a_run_that_misses_its_end_is_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(frames_of_no_evaluator_are_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(circles_end, begin, end),
        cmocka_unit_test_setup_teardown(more_frames_than_fit_are_cut, begin, end),
        cmocka_unit_test_setup_teardown(random_words_do_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(the_state_is_found_by_its_key, begin, end),
        cmocka_unit_test_setup_teardown(copies_need_each_page, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
