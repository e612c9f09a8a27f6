/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of a tree, from outside: this process connects as a program does, and as it should not.
 */
#include "recorder/tree.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/attach.h"
#include "buffer/stream.h"
#include "session_fixture.h"
#include "sys/clock.h"
#include "unit.h"

enum { SILENT = 100 };

static struct {
    unsigned processes, ends, notes, qualities;
    uint32_t last_process, last_end;
    uint64_t last_cpu_ns, samples;
} seen;

static kymo_err on_process(void *context, const kymo_event_process *e)
{
    (void)context;
    seen.processes++;
    seen.last_process = e->process;
    assert_int_equal(e->pid, getpid());
    assert_int_equal(e->parent_pid, getppid());
    assert_true(e->argc > 0);
    return KYMO_OK;
}

static kymo_err on_process_end(void *context, const kymo_event_process_end *e)
{
    (void)context;
    seen.ends++;
    seen.last_end = e->process;
    seen.last_cpu_ns = e->user_ns + e->system_ns;
    return KYMO_OK;
}

static kymo_err on_note(void *context, const kymo_event_note *e)
{
    (void)context;
    (void)e;
    seen.notes++;
    return KYMO_OK;
}

static kymo_err on_quality(void *context, const kymo_event_quality *e)
{
    (void)context;
    (void)e;
    seen.qualities++;
    return KYMO_OK;
}

static kymo_err on_samples(void *context, const kymo_event_samples *e)
{
    (void)context;
    seen.samples += e->count;
    return KYMO_OK;
}

static kymo_err on_thread(void *context, const kymo_event_thread *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

static kymo_err on_thread_end(void *context, const kymo_event_thread_end *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

static const kymo_event_handler events = {
    .process = on_process,
    .process_end = on_process_end,
    .note = on_note,
    .quality = on_quality,
    .samples = on_samples,
    .thread = on_thread,
    .thread_end = on_thread_end,
};

static kymo_tree *make_tree_of(uint64_t buffer_bytes)
{
    kymo_tree *t;
    const struct kymo_host_config config = {
        .buffer_bytes = buffer_bytes,
        .period_ns = 1000000,
        .depth = 64,
        .signal = SIGURG,
        .engine = KYMO_SESSION_TIMER,
        .clock = KYMO_CLOCK_MONOTONIC,
        .events = &events,
        .flags = KYMO_SESSION_CHILDREN,
    };
    memset(&seen, 0, sizeof seen);
    assert_int_equal(kymo_tree_create(&config, &t, NULL), KYMO_OK);
    kymo_tree_set_program(t, getpid(), 1);
    return t;
}

static kymo_tree *make_tree(void)
{
    return make_tree_of(2u << 20);
}

/* Lets the tree serve whatever is there. */
static void serve(kymo_tree *t)
{
    for (int i = 0; i < 4; i++)
        assert_int_equal(kymo_tree_wait(t, 0, NULL), KYMO_OK);
}

static int dial(const kymo_tree *t)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *name = kymo_tree_socket(t);
    memcpy(address.sun_path + 1, name, strlen(name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, size), 0);
    return fd;
}

static struct kymo_attach_message message(enum kymo_attach_kind kind)
{
    return (struct kymo_attach_message){.magic = KYMO_ATTACH_MAGIC,
                                        .kind = kind,
                                        .layout = KYMO_SESSION_LAYOUT,
                                        .pid = getpid(),
                                        .tid = getpid(),
                                        .start = KYMO_ATTACH_EXEC,
                                        .cpu_ns = 5000000};
}

static void say(int fd, const struct kymo_attach_message *m)
{
    assert_int_equal(send(fd, m, sizeof *m, MSG_NOSIGNAL), sizeof *m);
}

/* The answer, and how many descriptors came with it; *first: that one, if it is wanted. */
static struct kymo_attach_message hear_all(int fd, unsigned *descriptors, int *first)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct kymo_attach_message m;
    struct iovec iov = {&m, sizeof m};
    struct msghdr h = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    assert_int_equal(recvmsg(fd, &h, MSG_DONTWAIT), sizeof m);
    *descriptors = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c; c = CMSG_NXTHDR(&h, c)) {
        int fds[8];
        *descriptors = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), *descriptors * sizeof(int));
        for (unsigned i = 0; i < *descriptors; i++)
            if (i == 0 && first)
                *first = fds[i];
            else
                close(fds[i]);
    }
    return m;
}

static struct kymo_attach_message hear(int fd, unsigned *descriptors)
{
    return hear_all(fd, descriptors, NULL);
}

static int is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static int attach(kymo_tree *t, uint64_t *base_cpu_ns)
{
    unsigned descriptors;
    int fd = dial(t);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    say(fd, &m);
    serve(t);
    m = hear(fd, &descriptors);
    assert_int_equal(m.kind, KYMO_ATTACH_WELCOME);
    assert_int_equal(m.error, KYMO_OK);
    assert_int_equal(m.size_bytes, 2u << 20);
    assert_int_equal(descriptors, KYMO_ATTACH_MEMORIES);
    if (base_cpu_ns)
        *base_cpu_ns = m.cpu_ns;
    return fd;
}

static void get_ready(kymo_tree *t, int fd)
{
    unsigned descriptors;
    struct kymo_attach_message m = message(KYMO_ATTACH_READY);
    say(fd, &m);
    serve(t);
    assert_int_equal(hear(fd, &descriptors).kind, KYMO_ATTACH_GO);
    assert_true(is_closed(fd));
    close(fd);
}

static void an_image_follows_another(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    uint64_t base_ns;
    int fd = attach(t, &base_ns);
    assert_int_equal(base_ns, 0);
    assert_int_equal(kymo_tree_alive(t), 1);
    assert_int_equal(kymo_tree_recorded(t), 0);
    get_ready(t, fd);
    assert_int_equal(kymo_tree_recorded(t), 1);
    assert_int_equal(seen.processes, 0); /* process 0 is announced by who launched it */

    fd = attach(t, NULL);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.last_end, 0);
    get_ready(t, fd);
    assert_int_equal(seen.processes, 1);
    assert_int_equal(seen.last_process, 1);
    assert_int_equal(kymo_tree_alive(t), 1);

    /* What the caller says of its end is told of the image that is there. */
    struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0, .cpu_ns = 7000};
    uint32_t process;
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    assert_int_equal(process, 1);
    assert_int_equal(seen.last_end, 1);
    assert_int_equal(seen.last_cpu_ns, 7000);
    assert_int_equal(kymo_tree_alive(t), 0);
    assert_int_equal(seen.qualities, 2);
    kymo_tree_destroy(t);
}

static void who_says_nothing_keeps_nobody_out(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    int silent[SILENT];
    unsigned closed = 0;
    for (int i = 0; i < SILENT; i++) {
        silent[i] = dial(t);
        serve(t);
        closed += (unsigned)is_closed(silent[i]);
    }
    assert_true(closed > 0); /* they are bounded */
    assert_true(closed < SILENT);
    int fd = attach(t, NULL);
    get_ready(t, fd);
    assert_int_equal(kymo_tree_recorded(t), 1);
    /* They end with the tree. */
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    serve(t);
    assert_int_equal(kymo_tree_alive(t), 1);
    kymo_tree_destroy(t);
}

/* Where no descriptor is to be had for who comes, nobody is woken for it without end. */
static void who_cannot_be_let_in_waits_outside(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    struct rlimit before;
    int fd = dial(t);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)fd, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    serve(t);
    uint64_t until_ns = kymo_clock_ns(CLOCK_MONOTONIC) + 20000000;
    assert_int_equal(kymo_tree_wait(t, until_ns, NULL), KYMO_OK);
    assert_true(kymo_clock_ns(CLOCK_MONOTONIC) >= until_ns);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(kymo_tree_round(t), KYMO_OK);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    unsigned descriptors;
    say(fd, &m);
    serve(t);
    assert_int_equal(hear(fd, &descriptors).error, KYMO_OK);
    close(fd);
    kymo_tree_destroy(t);
}

static void what_makes_no_sense_is_turned_away(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    unsigned descriptors;
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    int fd = dial(t);
    m.layout++;
    say(fd, &m);
    serve(t);
    assert_int_equal(hear(fd, &descriptors).error, KYMO_E_VERSION);
    assert_int_equal(descriptors, 0);
    assert_true(is_closed(fd));
    close(fd);

    static const char *const garbage[] = {"", "x",
                                          "something that is far longer than a message is"};
    for (size_t i = 0; i < 3; i++) {
        fd = dial(t);
        (void)!send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL);
        serve(t);
        assert_true(is_closed(fd));
        close(fd);
    }
    fd = dial(t);
    m = message(KYMO_ATTACH_READY); /* before HELLO */
    say(fd, &m);
    serve(t);
    assert_true(is_closed(fd));
    close(fd);
    assert_int_equal(kymo_tree_alive(t), 0);
    kymo_tree_destroy(t);
}

static void one_that_gives_up_leaves_nothing(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    int fd = attach(t, NULL);
    assert_int_equal(kymo_tree_alive(t), 1);
    close(fd);
    serve(t);
    assert_int_equal(kymo_tree_alive(t), 0);
    assert_int_equal(kymo_tree_recorded(t), 0);
    assert_int_equal(seen.processes + seen.ends, 0);
    kymo_tree_destroy(t);
}

static void a_stopped_tree_lets_nobody_in(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    int fd = attach(t, NULL);
    get_ready(t, fd);
    assert_int_equal(kymo_tree_finish(t, 9), KYMO_OK);
    assert_int_equal(kymo_tree_alive(t), 0);
    assert_int_equal(seen.ends, 0); /* it has not ended */
    assert_int_equal(seen.qualities, 1);
    kymo_tree_destroy(t);
}

/* A process that writes much, in a session of this size. */
struct flood {
    struct fixture f;
    uint32_t slot;
    struct kymo_stream_writer stream;
};

static struct flood begin_flood(kymo_tree *t)
{
    struct flood w = {.stream = {.kind = KYMO_STREAM_TASK}};
    unsigned descriptors;
    int memory;
    int fd = dial(t);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    say(fd, &m);
    serve(t);
    m = hear_all(fd, &descriptors, &memory);
    void *map = mmap(NULL, m.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(map != MAP_FAILED);
    close(memory);
    w.f.session = map;
    assert_int_equal(kymo_session_check(map, m.size_bytes, &w.f.plan), KYMO_OK);
    w.slot = kymo_slot_take(w.f.session, &w.f.plan) - 1;
    struct kymo_thread_slot *slot = kymo_session_slot(w.f.session, &w.f.plan, w.slot);
    slot->tid = (uint32_t)getpid();
    slot->flags = KYMO_SLOT_MAIN;
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
    get_ready(t, fd);
    return w;
}

/* Samples that fill so many bytes. */
static uint64_t write_flood(struct flood *w, uint64_t bytes)
{
    uint64_t n = bytes / sizeof(struct kymo_record_sample);
    for (uint64_t i = 0; i < n; i++) {
        struct kymo_record_sample *r =
            kymo_stream_reserve(&w->stream, w->f.session, &w->f.plan, w->slot, sizeof *r);
        assert_non_null(r);
        *r = (struct kymo_record_sample){
            .head = {kymo_clock_now(KYMO_CLOCK_MONOTONIC), KYMO_RECORD_SAMPLE_CPU, sizeof *r, 0},
            .weight_ns = 1};
        kymo_stream_publish(&w->stream, sizeof *r);
    }
    return n;
}

/* While what a process has left is read, others come in; and its end is told when all is read. */
static void who_leaves_much_keeps_nobody_out(void **state)
{
    (void)state;
    kymo_tree *t = make_tree_of(64u << 20);
    struct flood w = begin_flood(t);
    uint64_t written = write_flood(&w, 16u << 20);
    w.f.session->filled++;
    while (seen.samples == 0)
        assert_int_equal(kymo_tree_wait(t, UINT64_MAX, NULL), KYMO_OK);
    uint64_t after_one = seen.samples;
    assert_true(after_one > 0 && after_one < written);
    /* Behind what the recorder has begun with. */
    written += write_flood(&w, 24u << 20);
    struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0, .cpu_ns = written};
    uint32_t process;
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    assert_int_equal(process, 0);
    assert_int_equal(seen.ends, 0);
    assert_int_equal(kymo_tree_alive(t), 0);
    int fd = dial(t);
    assert_int_equal(kymo_tree_wait(t, 0, NULL), KYMO_OK);
    assert_int_equal(seen.ends, 0);
    struct kymo_attach_message m = message(KYMO_ATTACH_READY); /* makes no sense: it is looked at */
    say(fd, &m);
    assert_int_equal(kymo_tree_wait(t, 0, NULL), KYMO_OK);
    assert_true(is_closed(fd));
    assert_int_equal(seen.ends, 0);
    close(fd);
    for (int turns = 0; seen.ends == 0; turns++) {
        assert_true(turns < 10);
        assert_int_equal(kymo_tree_wait(t, UINT64_MAX, NULL), KYMO_OK);
    }
    assert_int_equal(seen.samples, written);
    assert_int_equal(seen.last_end, 0);
    assert_int_equal(seen.qualities, 1);
    kymo_tree_destroy(t);
    fixture_close(&w.f);
}

/* A recording that shall end has all that was written by then. */
static void what_was_left_is_read_before_the_end(void **state)
{
    (void)state;
    kymo_tree *t = make_tree_of(64u << 20);
    struct flood w = begin_flood(t);
    uint64_t written = write_flood(&w, 24u << 20);
    struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0, .cpu_ns = 7};
    uint32_t process;
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    assert_int_equal(seen.ends, 0);
    assert_int_equal(kymo_tree_finish(t, 10), KYMO_OK);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.samples, written);
    kymo_tree_destroy(t);
    fixture_close(&w.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_follows_another),
        cmocka_unit_test(who_says_nothing_keeps_nobody_out),
        cmocka_unit_test(who_cannot_be_let_in_waits_outside),
        cmocka_unit_test(what_makes_no_sense_is_turned_away),
        cmocka_unit_test(one_that_gives_up_leaves_nothing),
        cmocka_unit_test(who_leaves_much_keeps_nobody_out),
        cmocka_unit_test(what_was_left_is_read_before_the_end),
        cmocka_unit_test(a_stopped_tree_lets_nobody_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
