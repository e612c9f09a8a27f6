/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of `kymo control`, and callers that are not to be served. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "mark_fixture.h"
#include "recorder/control_server.h"
#include "recorder/host.h"
#include "recorder/tree.h"
#include "sys/clock.h"
#include "unit.h"

#define NOBODY 65534
#define REFUSED 77 /* a rate */

struct scene {
    int poller;
    struct kymo_control_server server;
    uint32_t asked;
    uint32_t files; /* that were asked for */
    uint32_t later; /* processes that have not done it */
    uint64_t rate;
    char markers[KYMO_CONTROL_BYTES];
    uint32_t done; /* by the client */
};

static kymo_err on_obey(void *context, const struct kymo_control_request *request)
{
    struct scene *s = context;
    s->asked++;
    s->rate = request->rate;
    strcpy(s->markers, request->markers);
    return request->rate == REFUSED ? KYMO_E_UNSUPPORTED : KYMO_OK;
}

static kymo_err on_count(void *context, const struct kymo_control_request *request,
                         uint64_t asked_ns, struct kymo_control_answer *answer)
{
    const struct scene *s = context;
    assert_true(asked_ns > 0 && request->what > 0);
    answer->told = 3 - s->later;
    answer->later = s->later;
    return KYMO_OK;
}

/* A file that says which process was asked for, or nothing. */
static kymo_err on_answer(void *context, const struct kymo_control_request *request,
                          uint64_t asked_ns, int connection)
{
    const struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC};
    struct scene *s = context;
    s->files++;
    assert_true(asked_ns > 0);
    if (strcmp(request->format, ".full") == 0)
        return KYMO_E_FULL;
    int fd = strcmp(request->format, ".none") ? memfd_create("test", MFD_CLOEXEC) : -1;
    if (fd >= 0) {
        assert_int_equal(write(fd, &request->pid, sizeof request->pid), sizeof request->pid);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    }
    kymo_err err = kymo_control_send(connection, &answer, fd);
    if (fd >= 0)
        close(fd);
    return err;
}

static void set_up(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->poller = kymo_poller_open();
    assert_true(s->poller >= 0);
    kymo_control_server_init(&s->server);
    s->server.obey = on_obey;
    s->server.count = on_count;
    s->server.answer = on_answer;
    s->server.context = s;
    assert_int_equal(kymo_control_server_open(&s->server, s->poller), KYMO_OK);
}

static void tear_down(struct scene *s)
{
    kymo_control_server_close(&s->server);
    kymo_control_server_close(&s->server);
    close(s->poller);
}

static void serve(struct scene *s)
{
    assert_int_equal(kymo_poller_wait(s->poller, kymo_clock_ns(CLOCK_MONOTONIC) + 1000000, NULL),
                     KYMO_OK);
}

struct client {
    struct scene *scene;
    pid_t pid;
    const char *markers;
    struct kymo_control_request request;
    struct kymo_control_answer answer;
    int file;
    kymo_error detail;
    kymo_err err;
};

static kymo_err ask_markers(pid_t pid, const char *markers, struct kymo_control_answer *answer,
                            kymo_error *detail)
{
    struct kymo_control_request request = {.what = KYMO_CONTROL_MARKERS};
    strcpy(request.markers, markers);
    return kymo_control_ask(pid, &request, answer, NULL, detail);
}

static void *ask(void *argument)
{
    struct client *c = argument;
    c->file = -1;
    if (c->markers)
        c->err = ask_markers(c->pid, c->markers, &c->answer, &c->detail);
    else
        c->err = kymo_control_ask(c->pid, &c->request, &c->answer, &c->file, &c->detail);
    kymo_store_release(&c->scene->done, 1u);
    return NULL;
}

static void run(struct scene *s, struct client *c)
{
    pthread_t thread;
    c->scene = s;
    s->done = 0;
    assert_int_equal(pthread_create(&thread, NULL, ask, c), 0);
    while (!kymo_load_acquire(&s->done))
        serve(s);
    pthread_join(thread, NULL);
}

static void what_is_asked_arrives_and_is_answered(void **state)
{
    struct scene s;
    (void)state;
    set_up(&s);
    struct client c = {.pid = getpid(), .markers = "all:-net"};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_OK);
    assert_string_equal(s.markers, "all:-net");
    assert_int_equal(c.answer.told, 3);
    assert_int_equal(c.answer.later, 0);
    tear_down(&s);
}

static void a_rate_is_asked_for_and_may_be_refused(void **state)
{
    struct scene s;
    (void)state;
    set_up(&s);
    struct client c = {.pid = getpid(), .request = {.what = KYMO_CONTROL_ALLOC, .rate = 65536}};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_OK);
    assert_int_equal(s.rate, 65536);
    assert_int_equal(c.answer.told, 3);
    assert_int_equal(c.file, -1);
    c.request.rate = REFUSED;
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_UNSUPPORTED);
    assert_non_null(strstr(c.detail.message, "--alloc"));
    c.request.rate = KYMO_CONTROL_RATE_MAX + 1;
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_INVALID);
    assert_int_equal(s.asked, 2);
    c.request = (struct kymo_control_request){.what = 99};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_INVALID);
    assert_int_equal(s.asked, 2);
    tear_down(&s);
}

static void check_file(uint32_t what)
{
    struct scene s;
    int32_t pid = 0;
    set_up(&s);
    struct client c = {.pid = getpid(), .request = {.what = what, .pid = 4711, .format = ".pb.gz"}};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_OK);
    assert_true(c.file >= 0);
    assert_int_equal(read(c.file, &pid, sizeof pid), sizeof pid);
    assert_int_equal(pid, 4711);
    close(c.file);
    strcpy(c.request.format, ".none");
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_IO);
    strcpy(c.request.format, ".full");
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_FULL);
    assert_int_equal(s.files, 3);
    memset(c.request.format, 'x', sizeof c.request.format);
    run(&s, &c);
    assert_int_equal(c.err, KYMO_E_INVALID);
    assert_int_equal(c.file, -1);
    assert_int_equal(s.files, 3);
    tear_down(&s);
}

static void a_file_is_an_answer(void **state)
{
    (void)state;
    check_file(KYMO_CONTROL_HEAP);
    check_file(KYMO_CONTROL_SNAPSHOT);
}

/* A process is found by its recorder, which is above it. */
static void a_child_finds_the_recorder_above_it(void **state)
{
    struct scene s;
    (void)state;
    set_up(&s);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct kymo_control_answer answer;
        kymo_error detail;
        _exit(ask_markers(getpid(), "", &answer, &detail) == KYMO_OK ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0)
        serve(&s);
    assert_int_equal(status, 0);
    assert_int_equal(s.asked, 1);
    assert_string_equal(s.markers, "");
    tear_down(&s);
}

static void there_may_be_nobody_to_ask(void **state)
{
    struct kymo_control_answer answer;
    kymo_error detail;
    (void)state;
    assert_int_equal(ask_markers(getpid(), "net", &answer, &detail), KYMO_E_NOT_FOUND);
    assert_non_null(strstr(detail.message, "no recorder"));
}

static int call(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, KYMO_CONTROL_NAME "%d",
                       (int)getpid());
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, size), 0);
    return fd;
}

/* What is not a request ends the connection without a word; what is no list is refused. */
static void nonsense_is_not_obeyed(void **state)
{
    struct kymo_control_request request = {.magic = KYMO_CONTROL_MAGIC,
                                           .what = KYMO_CONTROL_MARKERS};
    struct kymo_control_answer answer;
    struct scene s;
    (void)state;
    set_up(&s);
    /* The last one begins as a request does. */
    char longer[sizeof request + 1] = "";
    memcpy(longer, &request, sizeof request);
    const size_t lengths[] = {0, 1, sizeof request - 1, sizeof longer};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(lengths); i++) {
        int fd = call();
        assert_int_equal(send(fd, longer, lengths[i], 0), lengths[i]);
        serve(&s);
        serve(&s);
        assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), 0);
        close(fd);
    }
    request.magic++;
    int fd = call();
    assert_int_equal(send(fd, &request, sizeof request, 0), sizeof request);
    serve(&s);
    serve(&s);
    assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), 0);
    close(fd);
    request.magic--;
    static const char *const no_lists[] = {NULL, "\n", "a::b", "a,b", "-none"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(no_lists); i++) {
        if (no_lists[i])
            strcpy(request.markers, no_lists[i]);
        else
            memset(request.markers, 'm', sizeof request.markers);
        fd = call();
        assert_int_equal(send(fd, &request, sizeof request, 0), sizeof request);
        serve(&s);
        serve(&s);
        assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
        assert_int_equal(answer.error, KYMO_E_INVALID);
        close(fd);
        memset(request.markers, 0, sizeof request.markers);
    }
    assert_int_equal(s.asked, 0);
    tear_down(&s);
}

/* Who says nothing has a place until others want it. */
static void the_silent_keep_nobody_out(void **state)
{
    int silent[3 * KYMO_CONTROL_CALLERS];
    char byte;
    struct scene s;
    (void)state;
    set_up(&s);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(silent); i++) {
        silent[i] = call();
        serve(&s);
    }
    struct client c = {.pid = getpid(), .markers = "net"};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_OK);
    assert_int_equal(recv(silent[0], &byte, 1, MSG_DONTWAIT), 0);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(silent); i++)
        close(silent[i]);
    assert_int_equal(s.asked, 1);
    tear_down(&s);
}

static void periods_have_limits(void **state)
{
    static const struct {
        uint64_t period_ns;
        int is_obeyed;
    } cases[] = {{0, 0}, {1, 1}, {KYMO_CONTROL_PERIOD_MAX_NS, 1}, {UINT64_MAX, 0}};
    struct scene s;
    (void)state;
    set_up(&s);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++)
        for (uint32_t what = KYMO_CONTROL_CPU; what <= KYMO_CONTROL_WALL; what++) {
            struct client c = {.pid = getpid(),
                               .request = {.what = what, .rate = cases[i].period_ns}};
            const uint32_t before = s.asked;
            run(&s, &c);
            assert_int_equal(c.err == KYMO_OK, cases[i].is_obeyed);
            assert_int_equal(s.asked - before, cases[i].is_obeyed);
        }
    tear_down(&s);
}

static void what_is_not_supported_is_said(void **state)
{
    static const struct {
        uint32_t what;
        const char *text;
    } cases[] = {{KYMO_CONTROL_FLUSH, "nothing to flush to"},
                 {KYMO_CONTROL_WALL, "wall time is not recorded"},
                 {KYMO_CONTROL_ALLOC, "allocations are not recorded"}};
    struct scene s;
    (void)state;
    set_up(&s);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cases); i++) {
        struct client c = {.pid = getpid(), .request = {.what = cases[i].what, .rate = REFUSED}};
        run(&s, &c);
        assert_int_equal(c.err, KYMO_E_UNSUPPORTED);
        assert_non_null(strstr(c.detail.message, cases[i].text));
    }
    tear_down(&s);
}

static int ask_for(const char *markers)
{
    struct kymo_control_request request = {.magic = KYMO_CONTROL_MAGIC,
                                           .what = KYMO_CONTROL_MARKERS};
    int fd = call();
    strcpy(request.markers, markers);
    assert_int_equal(send(fd, &request, sizeof request, 0), sizeof request);
    return fd;
}

static int is_answered(int fd, struct kymo_control_answer *answer)
{
    return recv(fd, answer, sizeof *answer, MSG_DONTWAIT) == (ssize_t)sizeof *answer;
}

/* Told is who says so, and the answer waits for it, though not for ever. */
/* Who waits for the seconds of a profile keeps his place, and is answered when they are over. */
static void seconds_are_waited_for(void **state)
{
    struct kymo_control_request request = {.magic = KYMO_CONTROL_MAGIC,
                                           .what = KYMO_CONTROL_PROFILE,
                                           .duration_ns = 1000000000,
                                           .format = ".pb.gz"};
    struct kymo_control_answer answer;
    struct scene s;
    int others[3 * KYMO_CONTROL_CALLERS];
    (void)state;
    set_up(&s);
    assert_true(kymo_control_server_since(&s.server) == UINT64_MAX);
    s.later = 1;
    int fd = call();
    assert_int_equal(send(fd, &request, sizeof request, 0), sizeof request);
    serve(&s);
    serve(&s);
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    assert_true(kymo_control_server_since(&s.server) <= now_ns);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++) {
        others[i] = call();
        serve(&s);
    }
    assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), -1);
    assert_int_equal(s.files, 0);
    s.later = 0;
    kymo_control_server_round(&s.server, now_ns);
    assert_int_equal(recv(fd, &answer, sizeof answer, MSG_DONTWAIT), sizeof answer);
    assert_int_equal(s.files, 1);
    assert_true(kymo_control_server_since(&s.server) == UINT64_MAX);
    close(fd);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++)
        close(others[i]);

    /* One who does not wait any longer is forgotten. */
    s.later = 1;
    fd = call();
    assert_int_equal(send(fd, &request, sizeof request, 0), sizeof request);
    serve(&s);
    serve(&s);
    assert_true(kymo_control_server_since(&s.server) != UINT64_MAX);
    close(fd);
    serve(&s);
    assert_true(kymo_control_server_since(&s.server) == UINT64_MAX);
    tear_down(&s);

    /* What cannot be waited for is refused. */
    static const struct kymo_control_request wrong[] = {
        {.duration_ns = 0, .format = ".jfr"},
        {.duration_ns = KYMO_CONTROL_DURATION_MAX_NS + 1, .format = ".jfr"},
        {.duration_ns = 1, .show = KYMO_CONTROL_SHOW_ALLOC + 1, .format = ".jfr"},
    };
    set_up(&s);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(wrong); i++) {
        struct client c = {.pid = getpid(), .request = wrong[i]};
        c.request.what = KYMO_CONTROL_PROFILE;
        run(&s, &c);
        assert_int_equal(c.err, KYMO_E_INVALID);
    }
    assert_int_equal(s.asked, 0);
    tear_down(&s);
}

static void the_answer_comes_when_all_have_done_it(void **state)
{
    struct kymo_control_answer answer;
    struct scene s;
    (void)state;
    set_up(&s);
    s.later = 2;
    int fd = ask_for("net");
    serve(&s);
    kymo_control_server_round(&s.server, 1);
    assert_int_equal(s.asked, 1);
    assert_false(is_answered(fd, &answer));
    s.later = 0;
    kymo_control_server_round(&s.server, 1);
    assert_true(is_answered(fd, &answer));
    assert_int_equal(answer.error, KYMO_OK);
    assert_int_equal(answer.told, 3);
    close(fd);

    s.later = 2;
    fd = ask_for("net");
    serve(&s);
    assert_false(is_answered(fd, &answer));
    kymo_control_server_round(&s.server, UINT64_MAX);
    assert_true(is_answered(fd, &answer));
    assert_int_equal(answer.told, 1);
    assert_int_equal(answer.later, 2);
    close(fd);
    tear_down(&s);
}

/* Who waits for an answer has one before its place is another's, and at the end. */
static void who_has_asked_is_answered(void **state)
{
    int others[KYMO_CONTROL_CALLERS];
    struct kymo_control_answer answer;
    struct scene s;
    (void)state;
    set_up(&s);
    s.later = 1;
    int fd = ask_for("net");
    serve(&s);
    assert_false(is_answered(fd, &answer));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++) {
        others[i] = call();
        serve(&s);
    }
    assert_true(is_answered(fd, &answer));
    assert_int_equal(answer.later, 1);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(others); i++)
        close(others[i]);
    close(fd);
    fd = ask_for("disk");
    serve(&s);
    tear_down(&s);
    assert_true(is_answered(fd, &answer));
    assert_int_equal(s.asked, 2);
    close(fd);
}

/* Where there is no descriptor for a connection, no thread is woken for it without end. */
static void who_cannot_be_let_in_waits_outside(void **state)
{
    struct kymo_control_answer answer;
    struct rlimit before;
    struct scene s;
    (void)state;
    set_up(&s);
    int fd = ask_for("net");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = (rlim_t)fd, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    serve(&s);
    struct pollfd p = {.fd = s.poller, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    kymo_control_server_round(&s.server, 1);
    serve(&s);
    assert_true(is_answered(fd, &answer));
    assert_int_equal(s.asked, 1);
    close(fd);
    tear_down(&s);
}

static void another_user_is_not_served(void **state)
{
    struct scene s;
    (void)state;
    if (geteuid() != 0)
        skip();
    set_up(&s);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct kymo_control_answer answer;
        kymo_error detail;
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(2);
        _exit(ask_markers(getppid(), "net", &answer, &detail) == KYMO_OK ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0)
        serve(&s);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_int_equal(s.asked, 0);
    tear_down(&s);
}

static int squat(pid_t pid)
{
    struct sockaddr_un address;
    socklen_t size = kymo_control_address(pid, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return bind(fd, (const struct sockaddr *)&address, size) == 0 && listen(fd, 0) == 0 ? fd : -1;
}

/* Fills the queue of those who wait for that socket. */
static void crowd(pid_t pid)
{
    struct sockaddr_un address;
    socklen_t size = kymo_control_address(pid, &address);
    int n = 0;
    while (connect(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                   (const struct sockaddr *)&address, size) == 0)
        n++;
    assert_true(n > 0);
}

/* In a network namespace of its own, where no other recorder is. */
static void names_that_others_took_hide_nobody(void **state)
{
    enum { NAMES = 40 };
    int squatters[NAMES];
    struct scene s;
    (void)state;
    if (unshare(CLONE_NEWNET) != 0)
        skip();
    for (int i = 0; i < NAMES; i++) {
        squatters[i] = squat(getpid() + 1 + i);
        assert_true(squatters[i] >= 0);
    }
    set_up(&s);
    struct client c = {.pid = 0, .markers = "net"};
    run(&s, &c);
    assert_int_equal(c.err, KYMO_OK);
    assert_int_equal(s.asked, 1);
    tear_down(&s);
    for (int i = 0; i < NAMES; i++)
        close(squatters[i]);
}

/* The ancestors' names are taken by a process that lets no other in: they are waited for once. */
static void who_lets_callers_wait_holds_nobody_up(void **state)
{
    enum { GENERATIONS = 12, MOST_S = 8 };
    struct kymo_control_answer answer;
    kymo_error detail;
    (void)state;
    uint64_t begun_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < GENERATIONS; i++) {
        int fd = squat(getpid());
        assert_true(fd >= 0);
        crowd(getpid());
        pid_t child = fork();
        assert_true(child >= 0);
        if (child > 0) {
            int status = 0;
            assert_int_equal(waitpid(child, &status, 0), child);
            close(fd);
            if (i > 0)
                _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
            assert_int_equal(status, 0);
            return;
        }
    }
    if (ask_markers(getpid(), "net", &answer, &detail) != KYMO_E_NOT_FOUND)
        _exit(2);
    _exit(kymo_clock_ns(CLOCK_MONOTONIC) - begun_ns < MOST_S * 1000000000ull ? 0 : 3);
}

/* ---- what is asked for, in sessions ---- */

static const kymo_event_handler no_events;

static struct kymo_host_config config_of(const char *markers)
{
    return (struct kymo_host_config){
        .buffer_bytes = 1u << 20,
        .period_ns = 1000000,
        .depth = 64,
        .signal = SIGURG,
        .engine = KYMO_SESSION_TIMER,
        .clock = KYMO_CLOCK_MONOTONIC,
        .events = &no_events,
        .markers = markers,
    };
}

static void a_session_has_the_list_from_its_beginning(void **state)
{
    kymo_host *host;
    char text[KYMO_CONTROL_BYTES + 1];
    (void)state;
    struct kymo_host_config config = config_of("all:-net");
    assert_int_equal(kymo_host_create(&config, &host, NULL), KYMO_OK);
    const struct kymo_session *s =
        mmap(NULL, kymo_host_bytes(host), PROT_READ, MAP_SHARED, kymo_host_memory(host), 0);
    assert_true((const void *)s != MAP_FAILED);
    uint32_t before = s->control_seq;
    assert_string_equal(s->control, "all:-net");
    assert_int_equal(before % 2, 0);
    /* No process has it yet that could be told. */
    kymo_host_select(host, "net");
    assert_int_equal(kymo_host_selected(host), KYMO_HOST_LATER);
    assert_string_equal(s->control, "net");
    assert_int_equal(s->control_seq % 2, 0);
    assert_int_not_equal(s->control_seq, before);
    memset(text, 'm', sizeof text);
    text[KYMO_CONTROL_BYTES] = '\0';
    kymo_host_select(host, text);
    assert_int_equal(strlen(s->control), KYMO_CONTROL_BYTES - 1);
    munmap((void *)(uintptr_t)s, kymo_host_bytes(host));
    kymo_host_destroy(host);
    config.markers = NULL;
    assert_int_equal(kymo_host_create(&config, &host, NULL), KYMO_OK);
    kymo_host_destroy(host);
}

/* A signal that no process gets, or that was sent and not acted upon, tells none. */
static void who_does_not_say_so_is_not_told(void **state)
{
    kymo_host *host;
    int status;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    for (int i = 0; i < 2; i++) {
        struct kymo_host_config config = config_of("");
        assert_int_equal(kymo_host_create(&config, &host, NULL), KYMO_OK);
        struct kymo_session *s = mmap(NULL, kymo_host_bytes(host), PROT_READ | PROT_WRITE,
                                      MAP_SHARED, kymo_host_memory(host), 0);
        assert_true((void *)s != MAP_FAILED);
        s->attached = 1;
        const struct kymo_attach_hello hello = {.m = {.start = KYMO_ATTACH_LATE}};
        kymo_host_identify(host, i ? getpid() : child, 0, &hello);
        kymo_host_attached(host, 0, 0);
        kymo_host_select(host, "net");
        assert_int_equal(kymo_host_selected(host), KYMO_HOST_LATER);
        s->control_seen = s->control_seq;
        assert_int_equal(kymo_host_selected(host), KYMO_HOST_TOLD);
        /* Whatever the program makes of the number: the next one is another. */
        uint32_t before = s->control_seq;
        s->control_seq = 0;
        kymo_host_select(host, "");
        assert_int_equal(s->control_seq, before + 2);
        assert_int_equal(kymo_host_selected(host), KYMO_HOST_LATER);
        munmap(s, kymo_host_bytes(host));
        kymo_host_destroy(host);
    }
}

static char note_told[256];
static uint32_t notes_told;

static kymo_err on_note(void *context, const kymo_event_note *e)
{
    (void)context;
    notes_told++;
    snprintf(note_told, sizeof note_told, "%s", e->text);
    return KYMO_OK;
}

/* A program that writes over its session is told of a few times, not in each round. */
static void a_signal_that_never_rests_is_told_a_few_times(void **state)
{
    static const kymo_event_handler events = {.note = on_note};
    kymo_host *host;
    (void)state;
    struct kymo_host_config config = config_of("");
    config.events = &events;
    config.tick_threads = &(struct kymo_tick_threads){0};
    assert_int_equal(kymo_host_create(&config, &host, NULL), KYMO_OK);
    struct kymo_session *s = mmap(NULL, kymo_host_bytes(host), PROT_READ | PROT_WRITE, MAP_SHARED,
                                  kymo_host_memory(host), 0);
    assert_true((void *)s != MAP_FAILED);
    notes_told = 0;
    for (int i = 0; i < 100; i++) {
        s->signal_now = i % 2 ? SIGURG : SIGWINCH;
        assert_int_equal(kymo_host_answer(host), KYMO_OK);
    }
    assert_true(notes_told > 0 && notes_told < 10);
    munmap(s, kymo_host_bytes(host));
    kymo_host_destroy(host);
}

/* The name is taken: the recording goes on, and says that it cannot be asked. */
static void a_recording_that_nobody_can_ask_says_so(void **state)
{
    static const kymo_event_handler events = {.note = on_note};
    kymo_tree *tree;
    kymo_error detail;
    struct scene s;
    (void)state;
    set_up(&s);
    struct kymo_host_config config = config_of("");
    config.events = &events;
    assert_int_equal(kymo_tree_create(&config, &tree, &detail), KYMO_OK);
    assert_non_null(strstr(note_told, "kymo control"));
    kymo_tree_destroy(tree);
    tear_down(&s);
}

static uint32_t markers_told;

static kymo_err on_thread(void *context, const kymo_event_thread *e)
{
    (void)context;
    (void)e;
    return KYMO_OK;
}

static kymo_err on_marker(void *context, const kymo_event_marker *e)
{
    (void)context;
    (void)e;
    markers_told++;
    return KYMO_OK;
}

/* A thread that fills its blocks before the next round is due rings, and is read at once. */
static void who_has_filled_blocks_is_read_at_once(void **state)
{
    static const kymo_event_handler events = {.thread = on_thread, .marker = on_marker};
    struct fixture f;
    uint32_t next_thread = 0;
    kymo_host *host;
    (void)state;
    struct kymo_host_config config = config_of("");
    config.events = &events;
    config.next_thread = &next_thread;
    config.tick_threads = &(struct kymo_tick_threads){0};
    assert_int_equal(kymo_host_create(&config, &host, NULL), KYMO_OK);
    assert_int_equal(kymo_session_plan(kymo_host_bytes(host), &f.plan), KYMO_OK);
    f.session = mmap(NULL, f.plan.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     kymo_host_memory(host), 0);
    assert_true((void *)f.session != MAP_FAILED);
    uint32_t site = mark_site(&f, mark_category(&f, "net", 0), 0, "plain", KYMO_SITE_MARKER);
    struct mark_writer w = mark_thread(&f, 0, KYMO_SLOT_MAIN);
    assert_int_equal(mark_try_write(&w, site), 1);
    /* One that has begun, and no more. */
    f.session->wake++;
    assert_true(kymo_host_has_rung(host));
    assert_int_equal(kymo_host_answer(host), KYMO_OK);
    assert_int_equal(markers_told, 0);
    f.session->wake++;
    f.session->filled++;
    assert_int_equal(kymo_host_answer(host), KYMO_OK);
    assert_int_equal(markers_told, 1);
    /* Another ring, at once: it is not forgotten. */
    assert_true(kymo_host_due_ns(host) == UINT64_MAX);
    assert_int_equal(mark_try_write(&w, site), 1);
    f.session->filled++;
    uint64_t due_ns = kymo_host_due_ns(host);
    assert_true(due_ns != UINT64_MAX);
    while (kymo_clock_ns(CLOCK_MONOTONIC) < due_ns) {
    }
    assert_int_equal(kymo_host_answer(host), KYMO_OK);
    assert_int_equal(markers_told, 2);
    assert_true(kymo_host_due_ns(host) == UINT64_MAX);
    fixture_close(&f);
    kymo_host_destroy(host);
}

struct tree_client {
    struct kymo_control_answer answer;
    kymo_err err;
    uint32_t done;
};

static void *ask_tree(void *argument)
{
    struct tree_client *c = argument;
    kymo_error detail;
    c->err = ask_markers(getpid(), "net", &c->answer, &detail);
    kymo_store_release(&c->done, 1u);
    return NULL;
}

static void a_recording_can_be_asked_until_it_ends(void **state)
{
    kymo_tree *tree;
    pthread_t thread;
    struct tree_client c = {.done = 0};
    kymo_error detail;
    (void)state;
    struct kymo_host_config config = config_of("all");
    assert_int_equal(kymo_tree_create(&config, &tree, &detail), KYMO_OK);
    assert_int_equal(pthread_create(&thread, NULL, ask_tree, &c), 0);
    while (!kymo_load_acquire(&c.done))
        assert_int_equal(kymo_tree_wait(tree, kymo_clock_ns(CLOCK_MONOTONIC) + 1000000, NULL),
                         KYMO_OK);
    pthread_join(thread, NULL);
    assert_int_equal(c.err, KYMO_OK);
    assert_int_equal(c.answer.told, 0);
    assert_int_equal(c.answer.later, 0);
    kymo_tree_stop(tree);
    assert_int_equal(ask_markers(getpid(), "net", &c.answer, &detail), KYMO_E_NOT_FOUND);
    kymo_tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_arrives_and_is_answered),
        cmocka_unit_test(a_rate_is_asked_for_and_may_be_refused),
        cmocka_unit_test(a_file_is_an_answer),
        cmocka_unit_test(a_child_finds_the_recorder_above_it),
        cmocka_unit_test(there_may_be_nobody_to_ask),
        cmocka_unit_test(periods_have_limits),
        cmocka_unit_test(what_is_not_supported_is_said),
        cmocka_unit_test(nonsense_is_not_obeyed),
        cmocka_unit_test(the_silent_keep_nobody_out),
        cmocka_unit_test(seconds_are_waited_for),
        cmocka_unit_test(the_answer_comes_when_all_have_done_it),
        cmocka_unit_test(who_has_asked_is_answered),
        cmocka_unit_test(who_cannot_be_let_in_waits_outside),
        cmocka_unit_test(another_user_is_not_served),
        cmocka_unit_test(names_that_others_took_hide_nobody),
        cmocka_unit_test(who_lets_callers_wait_holds_nobody_up),
        cmocka_unit_test(a_session_has_the_list_from_its_beginning),
        cmocka_unit_test(who_does_not_say_so_is_not_told),
        cmocka_unit_test(a_recording_that_nobody_can_ask_says_so),
        cmocka_unit_test(a_signal_that_never_rests_is_told_a_few_times),
        cmocka_unit_test(who_has_filled_blocks_is_read_at_once),
        cmocka_unit_test(a_recording_can_be_asked_until_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
