/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames of threads that wait, read from outside. The process is this one, and so are the
 * structures of its interpreter, which lie as those of 3.12 do.
 */
#include "observe/remote_python.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer/record.h"
#include "unit.h"

#define DEPTH 16u
#define TID_OFFSET 64u
#define CODE_TYPE 0x7777000ull
/* The interpreter's native code, and that of its evaluator. */
#define LO 0x500000ull
#define EVAL 0x501000ull
#define EVAL_END 0x502000ull
#define HI 0x510000ull
#define OTHER 0x900000ull /* of no interpreter */

/* ---- an interpreter ---- */

struct text {
    uint64_t head[2], length, hash, state;
    char bytes[64];
};

struct code {
    uint64_t refs, type;
    char head[52];
    int32_t first_line; /* 68 */
    char middle[40];
    const struct text *file, *name, *qualified_name; /* 112 */
    const uint64_t *lines;                           /* 136 */
    char rest[48];
    char instructions[64]; /* 192 */
};

struct frame {
    const struct code *code;
    struct frame *back;
    char middle[40];
    const char *at; /* 56 */
    char rest[6];
    uint8_t owner; /* 70 */
};

struct cframe {
    struct frame *current;
};

struct state {
    struct state *before, *next;
    char head[40];
    struct cframe *cframe; /* 56 */
    char middle[72];
    uint64_t thread; /* 136 */
};

struct interpreter {
    struct interpreter *next;
    char head[64];
    struct state *threads; /* 72 */
};

struct runtime {
    char head[40];
    struct interpreter *interpreters; /* 40 */
    char rest[4096];
};

/* What glibc keeps of a thread: its number. */
struct thread {
    char head[TID_OFFSET];
    int32_t tid;
};

#define TEXT(string)                                                 \
    {                                                                \
        .length = sizeof(string) - 1, .state = 0x60, .bytes = string \
    }

static struct {
    struct runtime runtime;
    struct interpreter main, other;
    struct state states[3];
    struct thread threads[3];
    struct cframe cframe;
    struct code codes[3];
    struct frame frames[4]; /* two functions, and the evaluator's shim behind each run */
    uint64_t stack[64];     /* native; the shims lie in it */
    uint64_t lines[8];
} it;

static const struct text file_name = TEXT("/srv/app.py");
static struct text inner_name, outer_name;
static struct frame *shims[2];

static struct code make_code(const struct text *name, int32_t first_line)
{
    return (struct code){.type = CODE_TYPE,
                         .first_line = first_line,
                         .file = &file_name,
                         .name = name,
                         .qualified_name = name,
                         .lines = it.lines};
}

static void make_interpreter(void)
{
    memset(&it, 0, sizeof it);
    inner_name = (struct text)TEXT("Inner.wait");
    outer_name = (struct text)TEXT("outer");
    it.lines[2] = 8; /* bytes: size, and data from 32 on */
    it.runtime.interpreters = &it.other;
    it.other.next = &it.main;
    it.main.threads = &it.states[2];
    for (int i = 0; i < 3; i++) {
        it.threads[i].tid = 1000 + i;
        it.states[i].thread = (uint64_t)(uintptr_t)&it.threads[i];
        it.states[i].next = i > 0 ? &it.states[i - 1] : NULL;
    }
    it.codes[0] = make_code(&inner_name, 10);
    it.codes[1] = make_code(&outer_name, 20);
    /* The native stack: a wait, its evaluator with a shim, native code, another evaluator. */
    shims[0] = (struct frame *)(void *)&it.stack[8];
    shims[1] = (struct frame *)(void *)&it.stack[32];
    for (int i = 0; i < 2; i++) {
        it.frames[i].code = &it.codes[i];
        it.frames[i].at = it.codes[i].instructions + 4 + 2 * i;
        it.frames[i].back = shims[i];
        shims[i]->owner = 3;
    }
    shims[0]->back = &it.frames[1];
    it.cframe.current = &it.frames[0];
    it.states[1].cframe = &it.cframe;
}

/* ---- what is told ---- */

static struct {
    uint32_t codes;
    char names[8][64];
    char file[64];
    uint32_t first_lines[8], lines_len;
    kymo_err err;
} told;

static kymo_err on_code(void *context, const struct kymo_drain_code *c)
{
    assert_ptr_equal(context, &told);
    assert_int_equal(c->number, told.codes);
    assert_int_equal(c->minor, 12);
    assert_true(c->name_len < sizeof told.names[0] && c->file_len < sizeof told.file);
    memcpy(told.names[told.codes], c->name, c->name_len);
    told.names[told.codes][c->name_len] = '\0';
    memcpy(told.file, c->file, c->file_len);
    told.file[c->file_len] = '\0';
    told.first_lines[told.codes++] = c->first_line;
    told.lines_len = c->lines_len;
    return told.err;
}

static kymo_event_frame on_frame(void *context, const struct kymo_drain_frame *f)
{
    assert_ptr_equal(context, &told);
    assert_int_equal(f->is_code, 1);
    return (kymo_event_frame){f->address, f->code, KYMO_EVENT_FRAME_SCRIPT};
}

static const struct kymo_remote_python_sink sink = {on_code, on_frame, &told};
static kymo_remote_store *store;
static kymo_remote *remote;

static kymo_remote_python *open_python(void)
{
    static struct kymo_session session;
    kymo_remote_python *p;
    make_interpreter();
    memset(&told, 0, sizeof told);
    session.python = 12;
    session.python_read = 1;
    session.python_lo = LO;
    session.python_hi = HI;
    session.python_eval_lo = EVAL;
    session.python_eval_hi = EVAL_END;
    session.python_runtime = (uint64_t)(uintptr_t)&it.runtime;
    session.python_code_type = CODE_TYPE;
    session.python_tid_offset = TID_OFFSET;
    assert_int_equal(kymo_remote_python_create(&sink, &session, DEPTH, &p), KYMO_OK);
    assert_non_null(p);
    return p;
}

/* ---- stacks ---- */

static uint64_t pcs[DEPTH], sps[DEPTH];

/* A wait, the evaluator, native code between, the evaluator, the begin. */
static struct kymo_remote_python_stack native_stack(void)
{
    static const uint64_t native[] = {OTHER, EVAL + 9, LO + 5, EVAL + 9, OTHER + 7};
    static const uint32_t at[] = {0, 4, 24, 28, 56};
    for (uint32_t i = 0; i < KYMO_ARRAY_LEN(native); i++) {
        pcs[i] = native[i];
        sps[i] = (uint64_t)(uintptr_t)&it.stack[at[i]];
    }
    return (struct kymo_remote_python_stack){pcs, sps, KYMO_ARRAY_LEN(native), KYMO_WALK_COMPLETE,
                                             NULL};
}

static struct kymo_remote_python_stack merge(kymo_remote_python *p, pid_t tid, uint64_t now_ns,
                                             struct kymo_remote_python_thread *t)
{
    struct kymo_remote_python_stack s = native_stack();
    assert_int_equal(kymo_remote_python_merge(p, remote, tid, now_ns, t, &s), KYMO_OK);
    return s;
}

static void check_frame(const kymo_remote_python *p, uint64_t word, uint32_t code, uint64_t at)
{
    assert_true(word & KYMO_PC_PYTHON);
    const kymo_event_frame f = kymo_remote_python_frame(p, word);
    assert_int_equal(f.module, code);
    assert_int_equal(f.address, at);
}

static void frames_take_the_place_of_the_evaluator(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    for (int i = 0; i < 3; i++) {
        struct kymo_remote_python_stack s = merge(p, 1001, 1, &t);
        assert_int_equal(s.n, 5);
        assert_int_equal(pcs[0], OTHER);
        check_frame(p, pcs[1], 0, 4);
        assert_int_equal(pcs[2], LO + 5);
        check_frame(p, pcs[3], 1, 6);
        assert_int_equal(pcs[4], OTHER + 7);
    }
    /* Each code once. */
    assert_int_equal(told.codes, 2);
    assert_string_equal(told.names[0], "Inner.wait");
    assert_string_equal(told.names[1], "outer");
    assert_string_equal(told.file, "/srv/app.py");
    assert_int_equal(told.first_lines[0], 10);
    assert_int_equal(told.first_lines[1], 20);
    assert_int_equal(told.lines_len, 8);
    assert_int_equal(t.state, (uint64_t)(uintptr_t)&it.states[1]);
    kymo_remote_python_destroy(p);
}

/* The thread waits at the same native place, in other code. */
static void the_same_native_stack_may_run_other_code(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    (void)merge(p, 1001, 1, &t);
    uint64_t before = pcs[1];
    it.frames[0].code = &it.codes[1];
    it.frames[0].at = it.codes[1].instructions;
    (void)merge(p, 1001, 1, &t);
    assert_int_not_equal(pcs[1], before);
    check_frame(p, pcs[1], 1, 0);
    kymo_remote_python_destroy(p);
}

/* Its memory was used again: the address is the same, and the function another. */
static void code_is_told_apart_by_what_it_holds(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    static const struct text again = TEXT("again");
    (void)merge(p, 1001, 1, &t);
    it.codes[0].qualified_name = &again;
    it.codes[0].first_line = 30;
    (void)merge(p, 1001, 1, &t);
    check_frame(p, pcs[1], 2, 4);
    assert_int_equal(told.codes, 3);
    assert_string_equal(told.names[2], "again");
    assert_int_equal(told.first_lines[2], 30);
    kymo_remote_python_destroy(p);
}

static void a_frame_of_the_interpreter_itself_is_hidden(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    it.codes[2] = make_code(&file_name, 1); /* file and name are one object */
    it.frames[2] =
        (struct frame){.code = &it.codes[2], .back = shims[0], .at = it.codes[2].instructions};
    it.frames[0].back = &it.frames[2];
    struct kymo_remote_python_stack s = merge(p, 1001, 1, &t);
    assert_int_equal(s.n, 5);
    check_frame(p, pcs[1], 0, 4);
    assert_int_equal(told.codes, 2);
    kymo_remote_python_destroy(p);
}

/* ---- states of threads ---- */

static void a_thread_without_a_state_keeps_its_stack(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    struct kymo_remote_python_stack s = merge(p, 4711, 1, &t);
    assert_int_equal(s.n, 5);
    assert_int_equal(pcs[1], EVAL + 9);
    assert_int_equal(t.state, 0);
    /* It gets one. The lists are not read again at once. */
    it.threads[1].tid = 4711;
    assert_true(t.retry_ns > 1);
    (void)merge(p, 4711, t.retry_ns, &t);
    check_frame(p, pcs[1], 0, 4);
    kymo_remote_python_destroy(p);
}

/* The state's memory is another thread's by now. */
static void a_state_is_checked_each_time(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    (void)merge(p, 1001, 1, &t);
    it.threads[1].tid = 4711;
    (void)merge(p, 1001, 2, &t);
    assert_int_equal(pcs[1], EVAL + 9);
    assert_int_equal(t.state, 0);
    kymo_remote_python_destroy(p);
}

/* Of the sub-interpreter, which is first in the list, and of the main one. */
static void the_main_interpreter_comes_first(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    struct state other = {.thread = it.states[1].thread};
    it.other.threads = &other;
    (void)merge(p, 1001, 1, &t);
    assert_int_equal(t.state, (uint64_t)(uintptr_t)&it.states[1]);
    check_frame(p, pcs[1], 0, 4);
    kymo_remote_python_destroy(p);
}

static void lists_that_do_not_end_are_left(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    it.states[0].next = &it.states[2];
    it.main.next = &it.other;
    (void)merge(p, 4711, 1, &t);
    assert_int_equal(t.state, 0);
    /* Whether a thread has more states than the one that is found cannot be told. */
    struct kymo_remote_python_stack s = native_stack();
    assert_int_equal(kymo_remote_python_merge(p, remote, 1001, 1, &t, &s), KYMO_OK);
    assert_int_not_equal(t.state, 0);
    assert_int_equal(s.n, 5);
    assert_int_equal(pcs[1], EVAL + 9);
    assert_int_equal(s.end, KYMO_WALK_BAD_STACK);
    kymo_remote_python_destroy(p);
}

/* ---- what is not to be read ---- */

static void other_stacks_are_left_alone(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    struct kymo_remote_python_stack s = native_stack();
    for (size_t i = 0; i < s.n; i++)
        pcs[i] = OTHER + i;
    assert_int_equal(kymo_remote_python_merge(p, remote, 1001, 1, &t, &s), KYMO_OK);
    assert_int_equal(t.state, 0);
    assert_int_equal(s.n, 5);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(pcs[i], OTHER + i);
    assert_true(kymo_remote_python_has(p, LO) && !kymo_remote_python_has(p, HI));
    kymo_remote_python_destroy(p);
}

/* Of a native stack that ends early, the frames that are known to be outside follow. */
static void frames_of_a_cut_stack_follow(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    struct kymo_remote_python_stack s = native_stack();
    s.n = 1;
    s.end = KYMO_WALK_NO_ROW;
    assert_int_equal(kymo_remote_python_merge(p, remote, 1001, 1, &t, &s), KYMO_OK);
    assert_int_equal(s.n, 3);
    assert_int_equal(pcs[0], OTHER);
    check_frame(p, pcs[1], 0, 4);
    check_frame(p, pcs[2], 1, 6);
    assert_int_equal(s.end, KYMO_WALK_NO_ROW);
    kymo_remote_python_destroy(p);
}

static void rubbish_gives_no_frames(void **state)
{
    (void)state;
    void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(gone != MAP_FAILED);
    struct frame *const bad[] = {NULL, gone, (struct frame *)1, (struct frame *)UINTPTR_MAX,
                                 (struct frame *)(void *)&it.codes[0]};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        kymo_remote_python *p = open_python();
        struct kymo_remote_python_thread t = {0};
        it.cframe.current = bad[i];
        (void)merge(p, 1001, 1, &t);
        assert_int_equal(pcs[1], EVAL + 9);
        kymo_remote_python_destroy(p);
        p = open_python();
        t = (struct kymo_remote_python_thread){0};
        it.states[1].cframe = (struct cframe *)(void *)bad[i];
        (void)merge(p, 1001, 1, &t);
        assert_int_equal(pcs[1], EVAL + 9);
        kymo_remote_python_destroy(p);
        p = open_python();
        t = (struct kymo_remote_python_thread){0};
        it.frames[0].code = (const struct code *)(const void *)bad[i];
        (void)merge(p, 1001, 1, &t);
        assert_true(told.codes <= 1 || (const void *)bad[i] == &it.codes[0]); /* which is code */
        kymo_remote_python_destroy(p);
    }
    munmap(gone, 4096);
}

static void names_that_cannot_be_read_are_left_out(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    it.codes[0].qualified_name = (const struct text *)64;
    (void)merge(p, 1001, 1, &t);
    check_frame(p, pcs[1], 0, 4);
    assert_string_equal(told.names[0], "");
    assert_string_equal(told.names[1], "outer");
    kymo_remote_python_destroy(p);
}

static void errors_are_forwarded(void **state)
{
    (void)state;
    kymo_remote_python *p = open_python();
    struct kymo_remote_python_thread t = {0};
    struct kymo_remote_python_stack s = native_stack();
    told.err = KYMO_E_IO;
    assert_int_equal(kymo_remote_python_merge(p, remote, 1001, 1, &t, &s), KYMO_E_IO);
    kymo_remote_python_destroy(p);
}

static void without_an_interpreter_there_is_nothing(void **state)
{
    (void)state;
    struct kymo_session *session = calloc(1, sizeof *session);
    kymo_remote_python *p = (kymo_remote_python *)(void *)session;
    assert_non_null(session);
    assert_int_equal(kymo_remote_python_create(&sink, session, DEPTH, &p), KYMO_OK);
    assert_null(p);
    kymo_remote_python_destroy(p);
    /* A version that is not known. */
    session->python = 99;
    session->python_read = 1;
    session->python_lo = LO;
    session->python_hi = HI;
    session->python_tid_offset = TID_OFFSET;
    session->python_runtime = (uint64_t)(uintptr_t)&it.runtime;
    assert_int_equal(kymo_remote_python_create(&sink, session, DEPTH, &p), KYMO_OK);
    struct kymo_remote_python_thread t = {0};
    (void)merge(p, 1001, 1, &t);
    assert_int_equal(pcs[1], EVAL + 9);
    kymo_remote_python_destroy(p);
    free(session);
}

static int open_remote(void **state)
{
    (void)state;
    return kymo_remote_store_create(&store) == KYMO_OK &&
                   kymo_remote_create(store, getpid(), &remote) == KYMO_OK
               ? 0
               : -1;
}

static int close_remote(void **state)
{
    (void)state;
    kymo_remote_destroy(remote);
    kymo_remote_store_destroy(store);
    return 0;
}

int main(void)
{
    static_assert(offsetof(struct code, first_line) == 68 && offsetof(struct code, file) == 112 &&
                      offsetof(struct code, qualified_name) == 128 &&
                      offsetof(struct code, lines) == 136 &&
                      offsetof(struct code, instructions) == 192,
                  "code");
    static_assert(offsetof(struct frame, at) == 56 && offsetof(struct frame, owner) == 70, "frame");
    static_assert(offsetof(struct state, cframe) == 56 && offsetof(struct state, thread) == 136,
                  "state");
    static_assert(offsetof(struct interpreter, threads) == 72 && offsetof(struct text, bytes) == 40,
                  "interpreter");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_take_the_place_of_the_evaluator),
        cmocka_unit_test(the_same_native_stack_may_run_other_code),
        cmocka_unit_test(code_is_told_apart_by_what_it_holds),
        cmocka_unit_test(a_frame_of_the_interpreter_itself_is_hidden),
        cmocka_unit_test(a_thread_without_a_state_keeps_its_stack),
        cmocka_unit_test(a_state_is_checked_each_time),
        cmocka_unit_test(the_main_interpreter_comes_first),
        cmocka_unit_test(lists_that_do_not_end_are_left),
        cmocka_unit_test(other_stacks_are_left_alone),
        cmocka_unit_test(frames_of_a_cut_stack_follow),
        cmocka_unit_test(rubbish_gives_no_frames),
        cmocka_unit_test(names_that_cannot_be_read_are_left_out),
        cmocka_unit_test(errors_are_forwarded),
        cmocka_unit_test(without_an_interpreter_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, open_remote, close_remote);
}
