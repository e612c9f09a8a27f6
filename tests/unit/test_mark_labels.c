/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mark_process.h"
#include "unit.h"

static struct kymo_mark_cell number(int64_t value)
{
    return (struct kymo_mark_cell){.kind = KYMO_KIND_I64, .as.i64 = value};
}

static struct kymo_mark_cell string(const char *text)
{
    return (struct kymo_mark_cell){.kind = KYMO_KIND_STR, .as.ptr = text};
}

static const struct kymo_record_label *label(uint32_t n)
{
    const struct kymo_record *r = record_at(n);
    assert_int_equal(r->kind, KYMO_RECORD_LABEL);
    return (const void *)r;
}

static void expect_change(uint32_t n, enum kymo_label_change change, uint32_t depth)
{
    assert_int_equal(label(n)->head.stack, change);
    assert_int_equal(label(n)->depth, depth);
}

static void expect_key(uint32_t n, const char *key)
{
    const struct kymo_record_label *l = label(n);
    assert_int_equal(l->key_bytes, strlen(key));
    assert_memory_equal(l + 1, key, strlen(key));
}

/* The text, and the flags of its slot. */
static const char *text_of(uint32_t n, uint32_t *len, uint32_t *flags)
{
    const struct kymo_record_label *l = label(n);
    struct kymo_text_slot slot;
    assert_int_equal(l->value.kind, KYMO_KIND_TEXT);
    memcpy(&slot, &l->value.value, sizeof slot);
    assert_int_equal(slot.at, sizeof *l + l->key_bytes);
    assert_true(slot.at + slot.len <= l->head.size_bytes);
    *len = slot.len;
    *flags = slot.flags;
    return (const char *)l + slot.at;
}

static void expect_text(uint32_t n, const char *text)
{
    uint32_t len, flags;
    const char *is = text_of(n, &len, &flags);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(is, text, len);
    assert_int_equal(flags, KYMO_TEXT_IS_THERE);
}

/* No block is to be had, nor anything of the one that there is. */
static void buffer_is_full(int is)
{
    static uint32_t room;
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    if (is) {
        while (kymo_block_take(fixture.session, &fixture.plan, 0)) {
        }
        room = w->room;
        w->room = w->used;
    } else {
        w->room = room;
    }
}

static uint32_t push(const char *key, struct kymo_mark_cell value)
{
    return kymo_mark_label_push(key, &value);
}

static void scopes_nest(void **state)
{
    (void)state;
    uint32_t outer = push("request_id", number(-17));
    uint32_t inner = push("user", string("ann"));
    assert_int_equal(outer, 1);
    assert_int_equal(inner, 2);
    kymo_mark_label_pop(inner);
    inner = push("user", string("bob"));
    assert_int_equal(inner, 2);
    kymo_mark_label_pop(inner);
    kymo_mark_label_pop(outer);
    expect_change(0, KYMO_LABEL_PUSHED, 0);
    expect_key(0, "request_id");
    assert_int_equal(label(0)->value.kind, KYMO_KIND_I64);
    assert_int_equal(label(0)->value.value, (uint64_t)-17);
    expect_change(1, KYMO_LABEL_PUSHED, 1);
    expect_key(1, "user");
    expect_text(1, "ann");
    expect_change(2, KYMO_LABEL_POPPED, 1);
    expect_change(3, KYMO_LABEL_PUSHED, 1);
    expect_text(3, "bob");
    expect_change(4, KYMO_LABEL_POPPED, 1);
    expect_change(5, KYMO_LABEL_POPPED, 0);
    assert_int_equal(count_records(), 6);
    assert_true(label(0)->head.clock > 0 && label(0)->head.clock <= label(5)->head.clock);
}

/* A longjmp has left the inner one: it goes with the outer one. */
static void what_is_above_goes_with_it(void **state)
{
    (void)state;
    uint32_t outer = push("a", number(1));
    (void)push("b", number(2));
    uint32_t inner = push("c", number(3));
    kymo_mark_label_pop(outer);
    expect_change(3, KYMO_LABEL_POPPED, 0);
    /* Of what is gone already, nothing is said again. */
    kymo_mark_label_pop(inner);
    kymo_mark_label_pop(outer);
    kymo_mark_label_pop(0);
    assert_int_equal(count_records(), 4);
    assert_int_equal(push("d", number(4)), 1);
}

static void one_is_set_until_it_is_cleared(void **state)
{
    (void)state;
    struct kymo_mark_cell value = string("Köln");
    struct kymo_mark_cell none = string(NULL);
    uint32_t outer = push("a", number(1));
    kymo_mark_label_set("town", &value);
    kymo_mark_label_set("town", NULL);
    kymo_mark_label_set("town", &none);
    kymo_mark_label_pop(outer);
    expect_change(1, KYMO_LABEL_WAS_SET, 1);
    expect_key(1, "town");
    expect_text(1, "Köln");
    for (uint32_t i = 2; i < 4; i++) {
        expect_change(i, KYMO_LABEL_WAS_SET, 1);
        expect_key(i, "town");
        assert_int_equal(label(i)->value.kind, KYMO_KIND_NONE);
    }
}

static void values_are_of_all_kinds(void **state)
{
    const struct kymo_mark_cell values[] = {
        {.kind = KYMO_KIND_U64, .as.u64 = UINT64_MAX},
        {.kind = KYMO_KIND_F64, .as.f64 = 1.5},
        {.kind = KYMO_KIND_PTR, .as.ptr = (const void *)0x1234},
        {.kind = KYMO_KIND_TEXT, .len = 3, .as.ptr = "abcdef"},
        {.kind = KYMO_KIND_TEXT, .len = 0, .as.ptr = ""},
    };
    double half;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(push("v", values[i]), i + 1);
    assert_int_equal(label(0)->value.value, UINT64_MAX);
    memcpy(&half, &label(1)->value.value, sizeof half);
    assert_true(half == 1.5);
    assert_int_equal(label(2)->value.kind, KYMO_KIND_PTR);
    assert_int_equal(label(2)->value.value, 0x1234);
    expect_text(3, "abc");
    expect_text(4, "");
    /* What is pushed is there, whatever it is. */
    (void)kymo_mark_label_push("v", NULL);
    (void)push("v", string(NULL));
    (void)push("v", (struct kymo_mark_cell){.kind = KYMO_KIND_CELLS});
    (void)push(NULL, number(0));
    for (uint32_t i = 5; i < 8; i++)
        expect_text(i, "");
    expect_key(8, "");
}

static void long_texts_are_cut_where_a_character_begins(void **state)
{
    char text[2 * KYMO_MARK_TEXT_MAX];
    char key[400];
    uint32_t len, flags;
    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text + KYMO_MARK_TEXT_MAX - 1, "\xe2\x82\xac", 3);
    text[sizeof text - 1] = '\0';
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    (void)push(key, string(text));
    assert_int_equal(label(0)->key_bytes, 128);
    (void)text_of(0, &len, &flags);
    assert_int_equal(len, KYMO_MARK_TEXT_MAX - 1);
    assert_int_equal(flags, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    (void)push("k", (struct kymo_mark_cell){
                        .kind = KYMO_KIND_TEXT, .len = sizeof text - 1, .as.ptr = text});
    (void)text_of(1, &len, &flags);
    assert_int_equal(len, KYMO_MARK_TEXT_MAX - 1);
    assert_int_equal(flags, KYMO_TEXT_IS_THERE | KYMO_TEXT_IS_CUT);
    (void)push("k", string("short"));
    assert_int_equal(fixture.session->lost[KYMO_LOSS_LABEL_CUT], 2);
}

/* Blocks are used again: nothing of what lay there is in a record. */
static void what_lies_between_is_zero(void **state)
{
    (void)state;
    (void)push("k", number(1));
    struct kymo_stream_writer *w = &kymo_thread_self->streams[KYMO_STREAM_TASK];
    memset((char *)w->block + w->used, 0xff, w->room - w->used);
    (void)push("k", string("abc"));
    const struct kymo_record_label *l = label(1);
    assert_int_equal(l->head.size_bytes, 48);
    assert_memory_equal(l + 1, "kabc\0\0\0\0", 8);
    kymo_mark_label_pop(1);
    assert_int_equal(label(2)->value.kind, 0);
    assert_int_equal(label(2)->value.value, 0);
    assert_int_equal(label(2)->key_bytes, 0);
}

static void what_finds_no_room_is_counted_and_not_popped(void **state)
{
    const uint64_t *lost;
    (void)state;
    lost = &fixture.session->lost[KYMO_LOSS_LABEL];
    uint32_t outer = push("a", number(1));
    buffer_is_full(1);
    uint32_t inner = push("b", number(2));
    assert_int_equal(inner, 0);
    assert_int_equal(*lost, 1);
    buffer_is_full(0);
    kymo_mark_label_pop(inner);
    assert_int_equal(count_records(), 1);
    /* The next one stands where the lost one would have been. */
    inner = push("c", number(3));
    assert_int_equal(inner, 2);
    expect_change(1, KYMO_LABEL_PUSHED, 1);
    /* A pop that is lost is made good by the next change, or by a sample. */
    buffer_is_full(1);
    kymo_mark_label_pop(inner);
    assert_int_equal(*lost, 2);
    assert_int_equal(kymo_thread_self->labels_owed, 1);
    kymo_mark_labels_repay(kymo_thread_self, KYMO_FRAME_BEGIN());
    assert_int_equal(*lost, 2);
    assert_int_equal(kymo_thread_self->labels_owed, 1);
    buffer_is_full(0);
    kymo_mark_labels_repay(kymo_thread_self, KYMO_FRAME_BEGIN());
    assert_int_equal(kymo_thread_self->labels_owed, 0);
    expect_change(2, KYMO_LABEL_POPPED, 1);
    kymo_mark_label_pop(outer);
    expect_change(3, KYMO_LABEL_POPPED, 0);
}

/* ---- handlers ---- */

static char *page;

/* The text that is being copied cannot be read: now it can. */
static void on_fault(int signo)
{
    (void)signo;
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    uint32_t depth = push("handler", number(9));
    kymo_mark_label_pop(depth);
}

struct found {
    uint32_t n;
    const struct kymo_record_label *labels[2];
};

static void take_label(const struct kymo_record *r, void *context)
{
    struct found *f = context;
    assert_true(f->n < 2);
    f->labels[f->n++] = (const void *)r;
}

/* Its records are in the other stream, and above what it came into. */
static void a_handler_has_labels_of_its_own(void **state)
{
    struct found f = {0};
    struct sigaction action = {.sa_handler = on_fault};
    struct sigaction before;
    (void)state;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    (void)push("a", number(1));
    (void)push("b", (struct kymo_mark_cell){.kind = KYMO_KIND_TEXT, .len = 5, .as.ptr = page});
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    (void)munmap(page, 4096);
    expect_change(0, KYMO_LABEL_PUSHED, 0);
    expect_change(1, KYMO_LABEL_PUSHED, 1);
    expect_key(1, "b");
    read_stream(kymo_thread_self->number, KYMO_STREAM_SIGNAL, take_label, &f);
    assert_int_equal(f.n, 2);
    assert_int_equal(f.labels[0]->head.stack, KYMO_LABEL_PUSHED);
    assert_int_equal(f.labels[0]->depth, 2);
    assert_int_equal(f.labels[1]->head.stack, KYMO_LABEL_POPPED);
    assert_int_equal(f.labels[1]->depth, 2);
    assert_int_equal(kymo_thread_self->labels, 2);
}

static void a_thread_that_is_not_known_has_none(void **state)
{
    struct kymo_mark_cell value = number(1);
    struct kymo_capture_thread *t = kymo_thread_self;
    (void)state;
    uint32_t outer = push("a", number(1));
    kymo_thread_self = &kymo_thread_dead;
    kymo_mark_label_pop(outer);
    assert_int_equal(push("a", number(1)), 0);
    kymo_mark_label_set("a", &value);
    kymo_thread_self = t;
    assert_int_equal(count_records(), 1);
}

static void a_forked_child_does_not_end_what_its_parent_began(void **state)
{
    (void)state;
    uint32_t outer = push("a", number(1));
    (void)push("b", number(1));
    /* As it finds itself once it has attached. */
    kymo_thread_self->labels = 0;
    kymo_mark_label_pop(outer);
    assert_int_equal(count_records(), 2);
    assert_int_equal(push("c", number(1)), 1);
    expect_change(2, KYMO_LABEL_PUSHED, 0);
}

/* The child finds none of its parent's session, and its own state wiped, until it attaches. */
static void fork_and_attach(uint32_t popped_before)
{
    static struct kymo_capture_thread wiped;
    kymo_mark_labels_before_fork();
    (void)close_process(NULL);
    kymo_thread_self = &wiped;
    kymo_mark_label_pop(popped_before);
    open_process(1u << 20);
    kymo_mark_labels_inherit(kymo_thread_self);
}

static const struct kymo_record_label_inherited *inherited(uint32_t n)
{
    expect_change(n, KYMO_LABEL_INHERITED, kymo_thread_self->labels);
    return (const void *)label(n);
}

static void a_forked_child_has_its_parents_labels(void **state)
{
    (void)state;
    fixture.session->recorded_as = 7;
    uint32_t tid = kymo_thread_self->tid;
    (void)push("a", number(1));
    uint32_t inner = push("b", number(1));
    (void)push("c", number(1));
    uint64_t before_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    fork_and_attach(3);
    assert_int_equal(kymo_thread_self->labels, 2);
    assert_int_equal(inherited(0)->recorded_as, 7);
    assert_int_equal(inherited(0)->tid, tid);
    assert_true(inherited(0)->fork_ns > before_ns);
    kymo_mark_label_pop(inner);
    expect_change(1, KYMO_LABEL_POPPED, 1);
    /* And so has its child, which is another one's in the recording. */
    fixture.session->recorded_as = 8;
    fork_and_attach(0);
    assert_int_equal(kymo_thread_self->labels, 1);
    assert_int_equal(inherited(0)->recorded_as, 8);
    kymo_mark_label_pop(1);
    expect_change(1, KYMO_LABEL_POPPED, 0);
    assert_int_equal(count_records(), 2);
}

static void a_child_of_one_that_never_attached_has_them_too(void **state)
{
    static struct kymo_capture_thread wiped;
    (void)state;
    fixture.session->recorded_as = 7;
    (void)push("a", number(1));
    (void)push("b", number(1));
    kymo_mark_labels_before_fork();
    (void)close_process(NULL);
    kymo_thread_self = &wiped;
    kymo_mark_label_pop(2);
    fork_and_attach(0);
    assert_int_equal(kymo_thread_self->labels, 1);
    assert_int_equal(inherited(0)->recorded_as, 7);
}

static void one_whose_parent_has_no_labels_inherits_none(void **state)
{
    (void)state;
    fixture.session->recorded_as = 7;
    fork_and_attach(0);
    assert_int_equal(count_records(), 0);
    /* Labels that were set are not counted, and may be there. */
    fixture.session->recorded_as = 8;
    struct kymo_mark_cell one = number(1);
    kymo_mark_label_set("phase", &one);
    fork_and_attach(0);
    assert_int_equal(inherited(0)->recorded_as, 8);
    assert_int_equal(kymo_thread_self->labels, 0);
}

/* Blocks that the parent was in are left by a longjmp in the child as in the parent. */
static void an_inherited_block_may_be_left(void **state)
{
    const struct kymo_mark_cell of_block = {.kind = KYMO_KIND_I64 | KYMO_CELL_OF_BLOCK};
    (void)state;
    fixture.session->recorded_as = 7;
    assert_int_equal(kymo_mark_label_push("a", &of_block), 1);
    fork_and_attach(0);
    assert_int_equal(kymo_thread_self->labels, 1);
    const struct kymo_capture_thread *t = kymo_thread_self;
    kymo_mark_labels_repay(kymo_thread_self, t->stack.lo + t->label_blocks[0].frame + 16);
    expect_change(1, KYMO_LABEL_POPPED, 0);
}

static jmp_buf outside;

static KYMO_NOINLINE void push_and_leave(int depth)
{
    const struct kymo_mark_cell of_block = {.kind = KYMO_KIND_I64 | KYMO_CELL_OF_BLOCK,
                                            .as.i64 = depth};
    assert_int_equal(kymo_mark_label_push("inner", &of_block), depth + 1);
    longjmp(outside, 1);
}

/* It is gone as soon as the thread is seen outside of its block's function. */
static void what_a_longjmp_has_left_is_gone(void **state)
{
    const struct kymo_mark_cell of_block = {.kind = KYMO_KIND_I64 | KYMO_CELL_OF_BLOCK};
    const struct kymo_mark_cell of_object = number(2);
    struct kymo_capture_thread *t = kymo_thread_self;
    (void)state;
    assert_int_equal(kymo_mark_label_push("outer", &of_block), 1);
    if (setjmp(outside) == 0)
        push_and_leave(1);
    /* By the next label... */
    assert_int_equal(kymo_mark_label_push("second", &of_object), 2);
    kymo_mark_label_pop(2);
    if (setjmp(outside) == 0)
        push_and_leave(1);
    assert_int_equal(t->labels, 2);
    /* ...and by a sample, here. */
    const uint64_t here = t->stack.lo + t->label_blocks[0].frame;
    uint32_t before = (uint32_t)count_records();
    kymo_mark_labels_repay(t, here);
    assert_int_equal(t->labels, 1);
    expect_change(before, KYMO_LABEL_POPPED, 1);
    /* Whose block goes on is not left, nor is what is no block's. */
    assert_int_equal(kymo_mark_label_push("object", &of_object), 2);
    kymo_mark_labels_repay(t, t->stack.hi - 8);
    assert_int_equal(t->labels, 2);
    kymo_mark_label_pop(2);
    kymo_mark_labels_repay(t, here - 4096);
    assert_int_equal(t->labels, 1);
}

/* A loop whose turns are left comes by the same place again. */
static void a_place_has_one_label_in_a_frame(void **state)
{
    const struct kymo_mark_cell of_block = {.kind = KYMO_KIND_I64 | KYMO_CELL_OF_BLOCK};
    const struct kymo_mark_cell of_object = number(1);
    volatile uint32_t depth[3] = {0};
    (void)state;
    for (volatile int i = 0; i < 3; i++)
        depth[i] = kymo_mark_label_push("turn", &of_block);
    assert_int_equal(depth[2], 1);
    for (volatile int i = 0; i < 3; i++)
        depth[i] = kymo_mark_label_push("object", &of_object);
    assert_int_equal(depth[2], 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_small_process, close_process)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scopes_nest),
        TEST(what_is_above_goes_with_it),
        TEST(one_is_set_until_it_is_cleared),
        TEST(values_are_of_all_kinds),
        TEST(long_texts_are_cut_where_a_character_begins),
        TEST(what_lies_between_is_zero),
        TEST(what_finds_no_room_is_counted_and_not_popped),
        TEST(what_a_longjmp_has_left_is_gone),
        TEST(a_place_has_one_label_in_a_frame),
        TEST(a_handler_has_labels_of_its_own),
        TEST(a_thread_that_is_not_known_has_none),
        TEST(a_forked_child_does_not_end_what_its_parent_began),
        TEST(a_forked_child_has_its_parents_labels),
        TEST(a_child_of_one_that_never_attached_has_them_too),
        TEST(one_whose_parent_has_no_labels_inherits_none),
        TEST(an_inherited_block_may_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
