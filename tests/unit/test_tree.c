/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of a tree, from outside: this process connects as a program does, and as it should not.
 */
#include "recorder/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "buffer/attach.h"
#include "buffer/stream.h"
#include "observe/wall_find.h"
#include "recorder/shared_memory.h"
#include "recorder/tree_state.h"
#include "session_fixture.h"
#include "sys/clock.h"
#include "unit.h"

enum { SILENT = 100 };

static struct {
    unsigned processes, ends, notes, qualities, threads;
    uint32_t last_process, last_end;
    uint64_t last_cpu_ns, samples, startup_ns;
    char exe[PATH_MAX], argument[64]; /* of the last process, its first argument */
} seen;

static kymo_err on_process(void *context, const kymo_event_process *e)
{
    (void)context;
    seen.processes++;
    seen.last_process = e->process;
    assert_int_equal(e->pid, getpid());
    assert_int_equal(e->parent_pid, getppid());
    assert_true(e->argc > 0);
    snprintf(seen.exe, sizeof seen.exe, "%s", e->exe);
    snprintf(seen.argument, sizeof seen.argument, "%s", e->argv[0]);
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
    if (e->samples[0].stack == KYMO_STARTUP_STACK) {
        assert_int_equal(e->count, 1);
        seen.startup_ns += e->samples[0].weight_ns;
        return KYMO_OK;
    }
    seen.samples += e->count;
    return KYMO_OK;
}

static kymo_err on_stack(void *context, const kymo_event_stack *e)
{
    (void)context;
    assert_int_equal(e->stack, KYMO_STARTUP_STACK);
    assert_int_equal(e->depth, 1);
    assert_int_equal(e->frames[0].flags, KYMO_EVENT_FRAME_STARTUP);
    return KYMO_OK;
}

static kymo_err on_thread(void *context, const kymo_event_thread *e)
{
    (void)context;
    (void)e;
    seen.threads++;
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
    .stack = on_stack,
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

static struct kymo_session *welcomed; /* the session of the last WELCOME */

static void hear_welcome(int fd, struct kymo_attach_message *m)
{
    unsigned descriptors;
    int memory;
    *m = hear_all(fd, &descriptors, &memory);
    assert_int_equal(m->kind, KYMO_ATTACH_WELCOME);
    assert_int_equal(m->error, KYMO_OK);
    assert_int_equal(m->event, -1); /* the engine has none */
    assert_int_equal(descriptors, 3);
    void *map = mmap(NULL, m->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(map != MAP_FAILED);
    close(memory);
    welcomed = map;
}

static int attach(kymo_tree *t, uint64_t *base_cpu_ns)
{
    int fd = dial(t);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    say(fd, &m);
    serve(t);
    hear_welcome(fd, &m);
    assert_int_equal(m.size_bytes, 2u << 20);
    if (base_cpu_ns)
        *base_cpu_ns = m.cpu_ns;
    return fd;
}

/* As the library does it. */
static void say_attached(int fd)
{
    kymo_store_release(&welcomed->attached, 1u);
    close(fd);
}

static void get_in(kymo_tree *t, int fd)
{
    say_attached(fd);
    assert_int_equal(kymo_tree_look_at_new(t), KYMO_OK);
}

static void an_image_follows_another(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    uint64_t base_ns;
    int fd = attach(t, &base_ns);
    assert_int_equal(base_ns, 5000000); /* its samples begin there */
    assert_int_equal(kymo_tree_alive(t), 1);
    assert_int_equal(kymo_tree_recorded(t), 0);
    get_in(t, fd);
    assert_int_equal(kymo_tree_recorded(t), 1);
    assert_int_equal(seen.processes, 0); /* process 0 is announced by who launched it */

    fd = attach(t, NULL);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.last_end, 0);
    get_in(t, fd);
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

/* A forked child has run the code of its parent, and its first sample tells of it. */
static void a_forked_child_has_no_start(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    int fd = dial(t);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    m.start = KYMO_ATTACH_FORK;
    say(fd, &m);
    serve(t);
    hear_welcome(fd, &m);
    assert_int_equal(m.cpu_ns, 0);
    close(fd);
    kymo_tree_destroy(t);
}

/* Nothing wakes the tree: the process may call exec, or end, before it is looked at. */
static void who_attached_is_seen_before_what_comes_after_it(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    say_attached(attach(t, NULL));
    /* It called exec. */
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    int fd = dial(t);
    say(fd, &m);
    assert_int_equal(kymo_tree_open_door(t), KYMO_OK);
    assert_int_equal(kymo_tree_recorded(t), 1);
    assert_int_equal(seen.ends, 1);
    hear_welcome(fd, &m);
    say_attached(fd);
    /* It ended. */
    const struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0, .cpu_ns = 7000};
    uint32_t process;
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    assert_int_equal(process, 1);
    assert_int_equal(kymo_tree_recorded(t), 2);
    assert_int_equal(seen.last_end, 1);
    /* A round. */
    say_attached(attach(t, NULL));
    assert_int_equal(kymo_tree_round(t), KYMO_OK);
    assert_int_equal(kymo_tree_recorded(t), 3);
    /* The recording ends. */
    say_attached(attach(t, NULL));
    assert_int_equal(kymo_tree_finish(t, 10), KYMO_OK);
    assert_int_equal(kymo_tree_recorded(t), 4);
    assert_int_equal(seen.processes, 3); /* process 0 is announced by who launched it */
    kymo_tree_destroy(t);
}

/* It ended before, or could not use the session. */
static void who_has_not_attached_is_not_recorded(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    const struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0, .cpu_ns = 7000};
    uint32_t process;
    close(attach(t, NULL));
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    assert_int_equal(process, UINT32_MAX);
    /* One that takes its time is still awaited. */
    int fd = attach(t, NULL);
    assert_int_equal(kymo_tree_round(t), KYMO_OK);
    assert_int_equal(kymo_tree_alive(t), 1);
    close(fd);
    assert_int_equal(kymo_tree_finish(t, 10), KYMO_OK);
    assert_int_equal(kymo_tree_recorded(t), 0);
    assert_int_equal(seen.ends, 0);
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
    get_in(t, fd);
    assert_int_equal(kymo_tree_recorded(t), 1);
    /* They end with the tree. */
    for (int i = 0; i < SILENT; i++)
        close(silent[i]);
    serve(t);
    assert_int_equal(kymo_tree_alive(t), 1);
    kymo_tree_destroy(t);
}

/* Another user, who reads the socket's name in /proc/net/unix. Their
 * process must not be the program's child. */
static void strangers_take_no_place(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    kymo_tree *t = make_tree();
    kymo_tree_set_program(t, 1, 1); /* not us, and not our child */
    int calls[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, calls), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        if (setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        for (int i = 0; i < SILENT; i++)
            (void)dial(t);
        /* All of them stay open, and say nothing, until we are told to end. */
        (void)!write(calls[1], "x", 1);
        _exit(read(calls[1], &byte, 1) != 1);
    }
    char byte;
    assert_int_equal(read(calls[0], &byte, 1), 1);
    serve(t);
    kymo_tree_set_program(t, getpid(), 1);
    /* There is a place for each of ours, who are silent for a while. */
    int ours[60];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ours); i++) {
        ours[i] = dial(t);
        serve(t);
        assert_false(is_closed(ours[i]));
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(ours); i++)
        close(ours[i]);
    int status;
    assert_int_equal(write(calls[0], "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(calls[0]);
    close(calls[1]);
    kymo_tree_destroy(t);
}

/* A process that waits, with the socket's name in its environment. */
static pid_t start_with_name(const kymo_tree *t, uid_t user)
{
    char name[128];
    int ends[2];
    char byte;
    snprintf(name, sizeof name, KYMO_ATTACH_ENV "=%s", kymo_tree_socket(t));
    char *words[] = {(char *)"sleep", (char *)"1000", NULL};
    char *environment[] = {name, NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setresuid(user, user, user) == 0)
            execve("/bin/sleep", words, environment);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* it has become that program */
    close(ends[0]);
    return pid;
}

static void only_relatives_are_waited_for(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    for (int ours = 0; ours < 2; ours++) {
        kymo_tree *t = make_tree();
        kymo_tree_set_program(t, 1, 1); /* whose child it shall not be */
        t->has_relatives = 1;
        pid_t pid = start_with_name(t, ours ? 0 : 65534);
        assert_int_equal(kymo_tree_look_for_more(t), KYMO_OK);
        assert_int_equal(kymo_tree_alive(t), ours);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        kymo_tree_destroy(t);
    }
}

/* A stranger whose environment is a page that was never touched, as a file of a file system of its
 * own could be, which answers when it likes. page: in a mapping that the fork has left it. 0: such
 * a process cannot be made here. */
static pid_t start_with_page(char *page, long bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)page;
    /* All that there is to say of its memory; it needs none of it. */
    struct prctl_mm_map map = {.start_code = at,
                               .end_code = at + 1,
                               .start_data = at,
                               .end_data = at + 1,
                               .start_brk = at + 2,
                               .brk = at + 3,
                               .start_stack = at,
                               .arg_start = at,
                               .arg_end = at,
                               .env_start = at,
                               .env_end = at + (uint64_t)bytes,
                               .exe_fd = UINT32_MAX};
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) != 0 ||
            setresuid(65534, 65534, 65534) != 0)
            _exit(1);
        if (write(ends[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], &byte, 1);
    close(ends[0]);
    if (n != 1)
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    return n == 1 ? pid : 0;
}

/* Whether the page has been touched, by whom ever; -1: the kernel does not tell. */
static int is_touched(pid_t pid, const char *page, long bytes)
{
    char path[64];
    uint64_t entry;
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n =
        pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)page / (uintptr_t)bytes * sizeof entry));
    close(fd);
    return n == (ssize_t)sizeof entry ? entry >> 63 != 0 : -1;
}

static void the_memory_of_strangers_is_not_read(void **state)
{
    (void)state;
    long bytes = sysconf(_SC_PAGESIZE);
    char *page =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    pid_t pid = geteuid() == 0 ? start_with_page(page, bytes) : 0;
    if (pid == 0)
        skip();
    kymo_tree *t = make_tree();
    kymo_tree_set_program(t, 1, 1); /* whose child it shall not be */
    t->has_relatives = 1;
    int before = is_touched(pid, page, bytes);
    kymo_err err = kymo_tree_look_for_more(t);
    int after = is_touched(pid, page, bytes);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    kymo_tree_destroy(t);
    munmap(page, (size_t)bytes);
    assert_int_equal(err, KYMO_OK);
    assert_int_equal(after, before);
}

/* A process that waits; with memory of a session of this tree, as a forked child has. NULL: with
 * what it has from us alone. */
static pid_t fork_with_memory(const char *tree, uid_t user)
{
    int ends[2];
    char byte;
    char name[128];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        kymo_host_memory_name(tree, name, sizeof name);
        int fd = tree ? kymo_shared_memory_make(name, 4096) : -1;
        if (setresuid(user, user, user) != 0 ||
            (tree && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED))
            _exit(1);
        close(fd);
        /* Should the test fail, nothing else ends it. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && write(ends[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static void who_maps_a_session_is_waited_for(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    const struct {
        const char *tree;
        uid_t user;
        uint32_t is_relative;
    } cases[] = {
        {kymo_tree_socket(t), geteuid(), 1},
        {"kymo-1-0123456789abcdef", geteuid(), 0}, /* another recorder's */
        {NULL, geteuid(), 0},                      /* one that the recorder forked */
        {kymo_tree_socket(t), 65534, 0},
    };
    kymo_tree_set_program(t, 1, 1); /* whose child it shall not be */
    t->has_relatives = 1;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        siginfo_t end;
        if (cases[i].user != geteuid() && geteuid() != 0)
            continue;
        pid_t pid = fork_with_memory(cases[i].tree, cases[i].user);
        for (int looks = 0; looks < 2; looks++) {
            assert_int_equal(kymo_tree_look_for_more(t), KYMO_OK);
            assert_int_equal(kymo_tree_alive(t), cases[i].is_relative);
        }
        /* Once it has ended it is no process, also while its parent has not been told. */
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
        serve(t);
        assert_int_equal(kymo_tree_look_for_more(t), KYMO_OK);
        assert_int_equal(kymo_tree_alive(t), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
    }
    kymo_tree_destroy(t);
}

/* Where there is no descriptor for a connection, no thread is woken for it without end. */
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

/* HELLO with a name whose text has these bytes; says how long name and text are. */
static int say_name(kymo_tree *t, const char *text, uint32_t bytes, uint32_t name_bytes,
                    uint32_t text_bytes)
{
    struct kymo_attach_hello hello = {.m = message(KYMO_ATTACH_HELLO)};
    size_t head = offsetof(struct kymo_attach_name, text);
    hello.m.name_bytes = name_bytes;
    hello.name.text_bytes = text_bytes;
    hello.name.auxv = 1;
    memcpy(hello.name.text, text, bytes);
    int fd = dial(t);
    size_t size = sizeof hello.m + head + bytes;
    assert_int_equal(send(fd, &hello, size, MSG_NOSIGNAL), size);
    serve(t);
    return fd;
}

static void names_that_make_no_sense_are_turned_away(void **state)
{
    (void)state;
    static const char text[] = "/bin/true\0true\0-x";
    enum { HEAD = offsetof(struct kymo_attach_name, text), BYTES = sizeof text };
    kymo_tree *t = make_tree();
    const struct {
        uint32_t bytes, name, text;
    } wrong[] = {
        {BYTES, HEAD + BYTES - 1, BYTES - 1},
        {BYTES, HEAD + BYTES, BYTES - 1},
        {BYTES, HEAD + BYTES, UINT32_MAX},
        {BYTES, UINT32_MAX, BYTES},
        {BYTES - 1, HEAD + BYTES - 1, BYTES - 1}, /* no NUL */
        {0, HEAD, 0},
        {0, 0, 0},
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(wrong); i++) {
        int fd = say_name(t, text, wrong[i].bytes, wrong[i].name, wrong[i].text);
        assert_true(is_closed(fd));
        close(fd);
    }
    assert_int_equal(kymo_tree_alive(t), 0);
    kymo_tree_destroy(t);
}

/* A file that is not the one it means, one that there is not, none at all: /proc tells. */
static void names_are_not_believed(void **state)
{
    (void)state;
    static const char *const files[] = {"/bin/true", "/nowhere/x", "", "true", "/dev/null"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(files); i++) {
        kymo_tree *t = make_tree();
        char text[64] = "";
        uint32_t bytes = (uint32_t)strlen(files[i]) + 1,
                 head = offsetof(struct kymo_attach_name, text);
        struct kymo_attach_message m;
        get_in(t, attach(t, NULL)); /* the first one is named by who launched it */
        memcpy(text, files[i], bytes);
        memcpy(text + bytes, "an argument", 12);
        int fd = say_name(t, text, bytes + 12, head + bytes + 12, bytes + 12);
        hear_welcome(fd, &m);
        get_in(t, fd);
        assert_int_equal(seen.processes, 1);
        assert_string_equal(seen.argument, "an argument");
        char exe[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
        assert_true(n > 0);
        exe[n] = '\0';
        assert_string_equal(seen.exe, exe);
        kymo_tree_destroy(t);
    }
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
    m = message(KYMO_ATTACH_WELCOME); /* instead of HELLO */
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
    assert_int_equal(kymo_tree_round(t), KYMO_OK);
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
    get_in(t, fd);
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
    int fd = dial(t);
    struct kymo_attach_message m = message(KYMO_ATTACH_HELLO);
    say(fd, &m);
    serve(t);
    hear_welcome(fd, &m);
    w.f.session = welcomed;
    assert_int_equal(kymo_session_check(welcomed, m.size_bytes, &w.f.plan), KYMO_OK);
    w.slot = kymo_slot_take(w.f.session, &w.f.plan) - 1;
    struct kymo_thread_slot *slot = kymo_session_slot(w.f.session, &w.f.plan, w.slot);
    slot->tid = (uint32_t)getpid();
    slot->flags = KYMO_SLOT_MAIN;
    kymo_store_release(&slot->state, KYMO_SLOT_LIVE);
    get_in(t, fd);
    return w;
}

/* Its flags are what the program writes. */
static void a_second_main_thread_has_no_start(void **state)
{
    (void)state;
    kymo_tree *t = make_tree();
    struct flood w = begin_flood(t);
    struct kymo_thread_slot *second =
        kymo_session_slot(w.f.session, &w.f.plan, kymo_slot_take(w.f.session, &w.f.plan) - 1);
    second->tid = (uint32_t)getpid() + 1;
    second->flags = KYMO_SLOT_MAIN;
    kymo_store_release(&second->state, KYMO_SLOT_LIVE);
    struct kymo_tree_ending ending = {.end_ns = 9, .wait_status = 0};
    uint32_t process;
    assert_int_equal(kymo_tree_ended(t, getpid(), &ending, &process), KYMO_OK);
    for (int turns = 0; seen.ends == 0; turns++) {
        assert_true(turns < 10);
        assert_int_equal(kymo_tree_wait(t, UINT64_MAX, NULL), KYMO_OK);
    }
    assert_int_equal(seen.threads, 2);
    assert_int_equal(seen.startup_ns, 5000000);
    assert_int_equal(seen.last_cpu_ns, 5000000);
    kymo_tree_destroy(t);
    fixture_close(&w.f);
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
    struct kymo_attach_message m =
        message(KYMO_ATTACH_WELCOME); /* makes no sense: it is looked at */
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
    assert_int_equal(seen.startup_ns, 5000000);
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
        cmocka_unit_test(a_forked_child_has_no_start),
        cmocka_unit_test(who_attached_is_seen_before_what_comes_after_it),
        cmocka_unit_test(who_has_not_attached_is_not_recorded),
        cmocka_unit_test(who_says_nothing_keeps_nobody_out),
        cmocka_unit_test(strangers_take_no_place),
        cmocka_unit_test(only_relatives_are_waited_for),
        cmocka_unit_test(the_memory_of_strangers_is_not_read),
        cmocka_unit_test(who_maps_a_session_is_waited_for),
        cmocka_unit_test(who_cannot_be_let_in_waits_outside),
        cmocka_unit_test(what_makes_no_sense_is_turned_away),
        cmocka_unit_test(names_that_make_no_sense_are_turned_away),
        cmocka_unit_test(names_are_not_believed),
        cmocka_unit_test(one_that_gives_up_leaves_nothing),
        cmocka_unit_test(a_second_main_thread_has_no_start),
        cmocka_unit_test(who_leaves_much_keeps_nobody_out),
        cmocka_unit_test(what_was_left_is_read_before_the_end),
        cmocka_unit_test(a_stopped_tree_lets_nobody_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
