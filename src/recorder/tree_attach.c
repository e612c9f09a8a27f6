/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_attach.c - how an image attaches to a recording.
 *
 *   connection -> HELLO -> permitted? room? -> a host, what /proc says of it -> WELCOME -> the
 *   session says that it is attached -> its first round, which arms the main thread
 *
 * The process waits for WELCOME alone. So all that names it is known before: when its session is
 * looked at, in the next round or as it rings the bell, it may have ended, or called exec. A fresh
 * image mostly names itself; if it lives when its session is looked at, /proc is read, too.
 *
 * The recorder never blocks on a connection: one that sends nothing is closed after some time. If
 * the process has an image already, the new one replaces it: the process called exec, or it has the
 * pid of a process whose end was not seen yet.
 *
 * CPU time: the clocks of a process and of its main thread continue through exec. What the main
 * thread had used just before the exec, as the hook noted, belongs to the old image; the time after
 * that, including the loader's work, to the new one. The sum over all images of a process is its
 * clock.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "observe/descriptors.h"
#include "observe/task.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"

#define HELLO_PATIENCE_NS 1000000000ull
#define HELLO_TURNS 8 /* cheaper than to sleep once more */
#define ATTACH_PATIENCE_NS 10000000000ull
#define IMAGES_MAX 8192
#define CALLERS_MAX 64u
#define STRANGER_NS 1000000000ull
#define CALLS_AT_ONCE 256 /* connections refused in one go, before other work has its turn */
#define ANCESTORS_MAX 64
/* reserve for attaching: a connection, a session, an event, and two of the process */
#define DESCRIPTORS_AT_THE_DOOR 5

static uint64_t now(void)
{
    return kymo_clock_ns(CLOCK_MONOTONIC);
}

/* ---- permission and limits ---- */

int kymo_tree_is_descendant(const kymo_tree *t, pid_t pid)
{
    for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++) {
        if (pid == t->program || kymo_tree_find(t, pid))
            return 1;
        pid = kymo_process_parent(pid, NULL);
    }
    return 0;
}

static int may_attach(const kymo_tree *t, const struct kymo_attach_peer *peer)
{
    if (t->stopped || peer->pid <= 0)
        return 0;
    if (peer->pid == t->program)
        return 1;
    return (t->config.flags & KYMO_SESSION_CHILDREN) &&
           (peer->uid == geteuid() || kymo_tree_is_descendant(t, peer->pid));
}

/* Refuses processes of other users that do not descend from the program. Any user can read the
 * socket's name in /proc/net/unix. They are refused before they send anything, so that they
 * cannot occupy the places of others. Processes of our own user could do worse than connect. */
static int is_stranger(kymo_tree *t, const struct kymo_attach_peer *peer)
{
    if (peer->uid == geteuid())
        return 0;
    struct kymo_stranger *known = &t->strangers[(uint32_t)peer->pid % KYMO_STRANGERS];
    uint64_t now_ns = now();
    if (known->pid == peer->pid && now_ns < known->until_ns)
        return 1;
    if (may_attach(t, peer))
        return 0;
    /* Only for a short time: the pid may be reused. */
    *known = (struct kymo_stranger){peer->pid, now_ns + STRANGER_NS};
    return 1;
}

/* ---- attached ---- */

/* When the image began. A started program attaches at its start, apart from its CPU time so far.
 * A forked child attaches when it is first active, maybe long after the fork, and after its own
 * children; but viewers need parents first. */
static uint64_t begin_ns(const struct kymo_tree_image *image)
{
    const kymo_tree *t = image->tree;
    uint64_t used_ns = image->hello_cpu_ns - image->main_before_ns;
    uint64_t now_ns = now();
    uint64_t start_ns = used_ns < now_ns ? now_ns - used_ns : now_ns;
    if (image->start != KYMO_ATTACH_FORK)
        return start_ns;
    uint64_t fork_ns;
    const struct kymo_tree_image *parent =
        kymo_tree_find(t, kymo_process_parent(image->pid, &fork_ns));
    uint64_t least_ns = parent ? parent->facts.start_ns + 1 : t->start_ns;
    if (fork_ns < least_ns)
        fork_ns = least_ns;
    return fork_ns < start_ns ? fork_ns : start_ns;
}

static kymo_err tell_foreign(const struct kymo_tree_image *image)
{
    kymo_tree *t = image->tree;
    if (t->foreign_told || t->config.engine == KYMO_SESSION_TIMER)
        return KYMO_OK;
    t->foreign_told = 1;
    kymo_event_note e = {now(), image->process, KYMO_NOTE_WARNING,
                         "processes in a pid namespace of their own are sampled by timers: not "
                         "finer than the kernel tick"};
    return t->config.events->note(t->config.events_context, &e);
}

/* An interpreter whose frames are not known: said once for the recording. */
static kymo_err tell_python(const struct kymo_tree_image *image)
{
    kymo_tree *t = image->tree;
    int is_free_threaded;
    uint32_t minor = kymo_host_unread_python(image->host, &is_free_threaded);
    char text[160];
    if (!minor || t->python_told)
        return KYMO_OK;
    t->python_told = 1;
    snprintf(
        text, sizeof text,
        "Python 3.%u%s: Kymo does not know how this build keeps its frames, so samples show the "
        "interpreter's own functions",
        minor, is_free_threaded ? ", free-threaded" : "");
    kymo_event_note e = {now(), image->process, KYMO_NOTE_WARNING, text};
    return t->config.events->note(t->config.events_context, &e);
}

/* The recording names this image already. */
static int is_first_of_program(const struct kymo_tree_image *image)
{
    return image->pid == image->tree->program && !image->tree->program_came;
}

/* Its number and its facts. */
static kymo_err identify(struct kymo_tree_image *image, const struct kymo_attach_hello *hello)
{
    if (is_first_of_program(image)) {
        image->facts.start_ns = image->tree->start_ns;
        return KYMO_OK;
    }
    image->process = image->tree->next_process++;
    image->facts.start_ns = begin_ns(image);
    /* Behind its path are its arguments. */
    size_t path = hello->m.name_bytes ? strlen(hello->name.text) + 1 : 0;
    return path ? kymo_process_facts_take(&image->facts, hello->name.text + path,
                                          hello->name.text_bytes - path)
                : kymo_process_facts_read(&image->facts);
}

kymo_err kymo_tree_take_in(struct kymo_tree_image *image)
{
    kymo_tree *t = image->tree;
    const struct kymo_host_config *c = &t->config;
    struct pollfd end = {.fd = image->end.fd, .events = POLLIN};
    image->was_brief = end.fd >= 0 && poll(&end, 1, 0) == 1;
    if (!image->was_brief)
        kymo_host_identify_again(image->host);
    if (is_first_of_program(image)) {
        t->program_came = 1;
    } else {
        KYMO_TRY(kymo_process_event_write(c->events, c->events_context, image->process,
                                          &image->facts, kymo_host_executable(image->host)));
    }
    kymo_process_facts_deinit(&image->facts);
    image->is_live = 1;
    t->recorded++;
    if (image->is_foreign)
        KYMO_TRY(tell_foreign(image));
    kymo_host_attached(image->host, image->main_until_ns,
                       image->main_until_ns - image->main_before_ns);
    KYMO_TRY(tell_python(image));
    kymo_host_watch_system(image->host, image->pid == t->program, image->start == KYMO_ATTACH_FORK);
    if (image->was_brief)
        return kymo_tree_image_ended(image);
    KYMO_TRY(kymo_host_first_round(image->host));
    return end.fd >= 0 ? kymo_poller_add(t->poller, &image->end) : KYMO_OK;
}

/* The launched program reports this itself. */
static kymo_err tell_no_room(kymo_tree *t, pid_t pid)
{
    char exe[PATH_MAX] = "";
    struct kymo_task_exe unused;
    struct kymo_refusal refusal = {.pid = pid, .reason = KYMO_REFUSAL_LIMITS};
    if (pid == t->program || !kymo_task_executable(pid, &unused, exe, sizeof exe))
        return KYMO_OK;
    size_t len = strlen(exe);
    size_t most = sizeof refusal.path - 1;
    snprintf(refusal.path, sizeof refusal.path, "%s", exe + (len > most ? len - most : 0));
    return kymo_refusals_add(&t->refusals, KYMO_EVENT_NONE, &refusal, 0);
}

static int is_closed(int connection)
{
    char byte;
    ssize_t n = recv(connection, &byte, sizeof byte, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* May free the image. */
static kymo_err look_at_new(struct kymo_tree_image *image)
{
    kymo_tree *t = image->tree;
    if (image->connection < 0)
        return KYMO_OK;
    if (!kymo_host_is_attached(image->host)) {
        /* The process attaches before it closes the connection. */
        if (!is_closed(image->connection))
            return KYMO_OK;
        if (!kymo_host_is_attached(image->host)) {
            /* If it lives on, it could not use the session. */
            kymo_err err = tell_no_room(t, image->pid);
            kymo_tree_drop_image(t, image);
            return err;
        }
    }
    close(image->connection);
    image->connection = -1;
    return kymo_tree_take_in(image);
}

/* The new image of the lowest number from this one on; NULL: there is none. */
static struct kymo_tree_image *next_new(const kymo_tree *t, uint32_t number)
{
    struct kymo_tree_image *first = NULL;
    for (size_t i = 0; i < t->images.len; i++) {
        struct kymo_tree_image *image = t->images.data[i];
        if (image->connection >= 0 && image->process >= number &&
            (!first || image->process < first->process))
            first = image;
    }
    return first;
}

kymo_err kymo_tree_look_at_new(kymo_tree *t)
{
    struct kymo_tree_image *image;
    /* By their numbers: a process comes before those that it has forked. */
    for (uint32_t next = 0; (image = next_new(t, next)) != NULL;) {
        next = image->process + 1;
        KYMO_TRY(look_at_new(image));
    }
    return KYMO_OK;
}

/* ---- HELLO, WELCOME ---- */

/* A session needs at least 4 MiB of address space. If that is much of the process's limit, the
 * program would lack it for its memory and stacks. */
static int has_address_space(pid_t pid)
{
    enum { LEAST = 32 << 20 };
    struct rlimit limit;
    return prlimit(pid, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur >= LEAST;
}

/* A process with limited address space gives at most a sixty-fourth of it to its session; the
 * rest of what the session needs, per thread, is about four times as much. */
static uint64_t buffer_for(const kymo_tree *t, pid_t pid)
{
    enum { SHARE = 64, LEAST = 1 << 20 };
    struct rlimit limit;
    uint64_t bytes = t->config.buffer_bytes;
    if (prlimit(pid, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur / SHARE >= bytes)
        return bytes;
    return limit.rlim_cur / SHARE > LEAST ? limit.rlim_cur / SHARE : LEAST;
}

static struct kymo_tree_image *make_image(kymo_tree *t, pid_t pid,
                                          const struct kymo_attach_message *hello)
{
    struct kymo_tree_image *image = calloc(1, sizeof *image);
    kymo_error why = {0};
    if (!image)
        return NULL;
    *image = (struct kymo_tree_image){
        .connection = -1,
        .end = {.fd = -1, .ready = kymo_tree_image_ended, .context = image},
        .tree = t,
        .pid = pid,
        .start = hello->start,
        .deadline_ns = now() + ATTACH_PATIENCE_NS,
        .facts = {.pid = pid, .parent = hello->parent_pid},
        .hello_cpu_ns = hello->cpu_ns,
    };
    struct kymo_host_config config = t->config;
    config.buffer_bytes = buffer_for(t, pid);
    if (config.buffer_bytes == t->config.buffer_bytes) {
        image->host = t->first;
        t->first = NULL;
    }
    if (kymo_vec_reserve(&t->images, 1) != KYMO_OK ||
        (!image->host && kymo_host_create(&config, &image->host, &why) != KYMO_OK)) {
        kymo_debug("process %d: %s", (int)pid, why.message);
        kymo_host_destroy(image->host);
        free(image);
        return NULL;
    }
    /* The process waits for our answer, so this pid is still its own. We are the parent of the
     * program and learn of its end; processes without a pidfd are checked each round (tree.c). */
    if (pid != t->program || t->watches_program)
        image->end.fd =
            kymo_descriptors_keep((int)syscall(SYS_pidfd_open, pid, 0), KYMO_DESCRIPTORS_IMAGES);
    if (hello->start == KYMO_ATTACH_LATE)
        kymo_host_set_late(image->host);
    /* In another pid namespace its thread numbers are not valid here. */
    if (hello->pid != pid) {
        kymo_host_set_foreign(image->host);
        image->is_foreign = 1;
        image->facts.parent = 0;
    }
    t->images.data[t->images.len++] = image;
    return image;
}

/* Ends the process's current image; the clocks continue in the new one. */
static kymo_err follow(kymo_tree *t, pid_t pid, const struct kymo_attach_message *hello,
                       uint64_t *main_ns, uint64_t *process_ns)
{
    struct kymo_tree_image *before = kymo_tree_find(t, pid);
    *main_ns = *process_ns = 0;
    if (before) {
        KYMO_TRY(look_at_new(before));
        before = kymo_tree_find(t, pid);
    }
    if (!before)
        return KYMO_OK;
    if (before->is_ending)
        return kymo_tree_end_image(t, before, &before->ending, 0);
    if (!before->is_live) {
        kymo_tree_drop_image(t, before);
        return KYMO_OK;
    }
    struct kymo_tree_ending ending = {.end_ns = now(), .wait_status = -1};
    if (hello->start != KYMO_ATTACH_EXEC)
        return kymo_tree_end_image(t, before, &ending, 0);
    char exe[PATH_MAX] = "";
    struct kymo_task_exe unused;
    (void)kymo_task_executable(pid, &unused, exe, sizeof exe);
    const char *between = kymo_host_replaced_by(before->host);
    /* CPU time of an unrecorded program between the two belongs to neither image. */
    int is_followed = between[0] == '\0' || strcmp(between, exe) == 0;
    struct kymo_exec_clocks clocks = {hello->cpu_ns, hello->cpu_ns};
    if (is_followed)
        clocks = kymo_host_exec_clocks(before->host, hello->cpu_ns);
    ending.main_cpu_ns = clocks.old_ns;
    *main_ns = clocks.new_ns;
    uint64_t ended_ns = t->cpu_ns;
    uint64_t before_ns = before->cpu_before_ns;
    KYMO_TRY(kymo_tree_end_image(t, before, &ending, is_followed));
    *process_ns = before_ns + (t->cpu_ns - ended_ns);
    return KYMO_OK;
}

static kymo_err refuse(int connection, kymo_err why)
{
    static const int none[KYMO_ATTACH_DESCRIPTORS] = {-1, -1, -1, -1};
    struct kymo_attach_message answer = {.error = why};
    (void)kymo_attach_welcome(connection, &answer, none);
    close(connection);
    return KYMO_OK;
}

kymo_err kymo_tree_begin_image(kymo_tree *t, pid_t pid, const struct kymo_attach_hello *said,
                               struct kymo_tree_image **out)
{
    const struct kymo_attach_message *hello = &said->m;
    uint64_t main_ns;
    uint64_t process_ns;
    *out = NULL;
    KYMO_TRY(follow(t, pid, hello, &main_ns, &process_ns));
    struct kymo_tree_image *image = t->images.len < IMAGES_MAX ? make_image(t, pid, hello) : NULL;
    if (!image) {
        t->turned_away++;
        return KYMO_OK;
    }
    image->main_before_ns = main_ns < hello->cpu_ns ? main_ns : hello->cpu_ns;
    image->cpu_before_ns = process_ns;
    if (hello->start == KYMO_ATTACH_LATE) {
        image->main_before_ns = hello->cpu_ns;
        (void)kymo_task_process_clock(pid, &image->cpu_before_ns);
    }
    /* A forked child has run the code of its parent until now: its first sample has that time. */
    image->main_until_ns =
        hello->start == KYMO_ATTACH_EXEC && t->config.period_ns && !(t->config.pauses & 1)
            ? hello->cpu_ns
            : image->main_before_ns;
    if (identify(image, said) != KYMO_OK) {
        kymo_tree_drop_image(t, image);
        t->turned_away++;
        return KYMO_OK;
    }
    kymo_host_identify(image->host, pid, image->process, said);
    *out = image;
    return KYMO_OK;
}

/* Takes over the connection. */
static kymo_err greet(kymo_tree *t, int connection, const struct kymo_attach_peer *peer,
                      const struct kymo_attach_hello *said)
{
    const struct kymo_attach_message *hello = &said->m;
    struct kymo_tree_image *image;
    if (hello->layout != KYMO_SESSION_LAYOUT)
        return refuse(connection, KYMO_E_VERSION);
    if (!may_attach(t, peer))
        return refuse(connection, KYMO_E_PERMISSION);
    kymo_tree_forget_relatives(t, peer->pid);
    if (!has_address_space(peer->pid)) {
        KYMO_TRY(follow(t, peer->pid, hello, &(uint64_t){0}, &(uint64_t){0}));
        KYMO_TRY(refuse(connection, KYMO_E_NOMEM));
        return tell_no_room(t, peer->pid);
    }
    KYMO_TRY(kymo_tree_begin_image(t, peer->pid, said, &image));
    if (!image)
        return refuse(connection, KYMO_E_NOMEM);
    image->connection = connection;
    /* A filter might kill for the call that starts it. */
    int event = hello->tid == peer->pid && hello->start != KYMO_ATTACH_LATE && hello->filter == 0
                    ? kymo_host_open_event(image->host)
                    : -1;
    struct kymo_attach_message answer = {
        .error = KYMO_OK,
        .cpu_ns = image->main_until_ns,
        .size_bytes = kymo_host_bytes(image->host),
        .event = event,
    };
    /* Row tables need a mapping of 64 MiB; without them stacks are the same, but slower. */
    int has_tables = t->config.tables && kymo_host_bytes(image->host) >= t->config.buffer_bytes;
    answer.table_bytes = has_tables ? kymo_row_tables_bytes(t->config.tables) : 0;
    const int descriptors[KYMO_ATTACH_DESCRIPTORS] = {
        [KYMO_ATTACH_SESSION] = kymo_host_memory(image->host),
        [KYMO_ATTACH_BELL] = kymo_bell_memory(t->bell),
        [KYMO_ATTACH_TABLES] = has_tables ? kymo_row_tables_memory(t->config.tables) : -1,
        [KYMO_ATTACH_EVENT] = event,
    };
    int sent = kymo_attach_welcome(connection, &answer, descriptors);
    kymo_host_close_memory(image->host);
    if (!sent)
        kymo_tree_drop_image(t, image);
    return KYMO_OK;
}

void kymo_tree_drop_caller(kymo_tree *t, struct kymo_tree_caller *caller)
{
    for (size_t i = 0; i < t->callers.len; i++)
        if (t->callers.data[i] == caller)
            t->callers.data[i] = t->callers.data[--t->callers.len];
    if (caller->source.fd >= 0) {
        kymo_poller_remove(t->poller, &caller->source);
        close(caller->source.fd);
    }
    free(caller);
}

static kymo_err on_hello(void *context)
{
    struct kymo_tree_caller *caller = context;
    kymo_tree *t = caller->tree;
    struct kymo_attach_hello m;
    int connection = caller->source.fd;
    int heard = kymo_attach_hear(connection, &m);
    if (heard == 0)
        return KYMO_OK;
    struct kymo_attach_peer peer = caller->peer;
    if (heard > 0) {
        kymo_poller_remove(t->poller, &caller->source);
        caller->source.fd = -1;
    }
    kymo_tree_drop_caller(t, caller);
    return heard > 0 ? greet(t, connection, &peer, &m) : KYMO_OK;
}

static void let_wait(kymo_tree *t, int connection, const struct kymo_attach_peer *peer)
{
    struct kymo_tree_caller *caller = calloc(1, sizeof *caller);
    if (!caller || kymo_vec_reserve(&t->callers, 1) != KYMO_OK) {
        free(caller);
        close(connection);
        return;
    }
    *caller = (struct kymo_tree_caller){
        .source = {.fd = connection, .ready = on_hello, .context = caller},
        .tree = t,
        .peer = *peer,
        .deadline_ns = now() + HELLO_PATIENCE_NS,
    };
    t->callers.data[t->callers.len++] = caller;
    if (kymo_poller_add(t->poller, &caller->source) != KYMO_OK)
        kymo_tree_drop_caller(t, caller);
}

/* Accepts the next connection that is permitted; -1: none. Does not accept if there are no
 * descriptors for a session. */
static int accept_known(kymo_tree *t, struct kymo_attach_peer *peer)
{
    if (kymo_descriptors_run_short(t->poller, DESCRIPTORS_AT_THE_DOOR)) {
        errno = EMFILE;
        return -1;
    }
    for (int i = 0; i < CALLS_AT_ONCE; i++) {
        int connection = kymo_attach_server_accept(&t->server, peer);
        if (connection < 0 || !is_stranger(t, peer))
            return connection;
        close(connection);
    }
    errno = EAGAIN;
    return -1;
}

kymo_err kymo_tree_open_door(void *tree)
{
    kymo_tree *t = tree;
    struct kymo_attach_peer peer;
    struct kymo_attach_hello m;
    int connection = accept_known(t, &peer);
    if (connection < 0 && (errno == EMFILE || errno == ENFILE)) {
        /* Those that have ended give theirs back. */
        KYMO_TRY(kymo_tree_look_at_new(t));
        connection = accept_known(t, &peer);
    }
    if (connection < 0 && (errno == EMFILE || errno == ENFILE)) {
        /* waiting connections would wake the recorder again and again */
        kymo_poller_remove(t->poller, &t->door);
        t->door_is_shut = 1;
    }
    if (connection < 0)
        return KYMO_OK;
    /* The library sends HELLO immediately: it is here already, or its thread is about to. */
    int heard = kymo_attach_hear(connection, &m);
    for (int i = 0; heard == 0 && i < HELLO_TURNS; i++) {
        (void)sched_yield();
        heard = kymo_attach_hear(connection, &m);
    }
    if (heard > 0)
        return greet(t, connection, &peer, &m);
    if (heard == 0 && t->callers.len < CALLERS_MAX)
        let_wait(t, connection, &peer);
    else
        close(connection);
    return KYMO_OK;
}

kymo_err kymo_tree_drop_late(kymo_tree *t, uint64_t now_ns)
{
    if (t->door_is_shut && !t->stopped && kymo_poller_add(t->poller, &t->door) == KYMO_OK)
        t->door_is_shut = 0;
    for (size_t i = t->callers.len; i-- > 0;)
        if (now_ns >= t->callers.data[i]->deadline_ns)
            kymo_tree_drop_caller(t, t->callers.data[i]);
    for (size_t i = t->images.len; i-- > 0;) {
        struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live && !image->is_ending && now_ns >= image->deadline_ns)
            kymo_tree_drop_image(t, image);
    }
    return KYMO_OK;
}
