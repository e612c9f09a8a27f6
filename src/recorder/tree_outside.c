/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_outside.c - processes that are recorded although our library is not in them: static
 * programs, those of Go, those with a sanitizer or another C library, behind a filter, or in a
 * container of their own.
 *
 * A process with our library says what it starts without it (buffer/refusal.h): in which process,
 * or in a child of which. That is awaited until it is found. What is itself recorded from outside
 * has not our library in its environment, so all its children are, whatever they run: the kernel
 * tells of each (observe/perf_tasks.h), and each tenth of a second /proc does.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "observe/children.h"
#include "observe/task.h"
#include "recorder/tree_state.h"
#include "sys/clock.h"

#define AWAIT_NS 1000000000ull
#define AWAITED_MAX 64u
#define STARTED_MAX 4096u
#define LOOK_NS 100000000ull /* between two looks at all of /proc that matters */
/* A child that is to call exec does it within this time, in which it is looked at so often. */
#define EXEC_NS 20000000ull
#define LOOK_AGAIN_NS 1000000ull
/* More than an exec takes: what a process has used before it was found is not its start. */
#define START_NS 2000000u
#define TICK_NS 10000000u /* the kernel rounds the start of a process down to that */

static void look_at(kymo_tree *t, uint64_t then_ns)
{
    t->look_ns = then_ns < t->look_ns ? then_ns : t->look_ns;
}

/* ---- one process ---- */

/* Whether it may be read, and the kernel samples it for us. */
static int may_watch(const kymo_tree *t, pid_t pid)
{
    uint64_t program = 0;
    uint64_t loader = 0;
    kymo_task_entries(pid, &program, &loader);
    return program && t->config.period_ns &&
           kymo_perf_may_copy(pid, t->config.access == KYMO_PERF_KERNEL);
}

/* Whether an image that was found before is what the process runs. */
static int is_watched(const kymo_tree *t, pid_t pid)
{
    const struct kymo_tree_image *image = kymo_tree_find(t, pid);
    return image && (image->is_ending || !kymo_host_replaced_by(image->host)[0]);
}

static int runs_the_same(pid_t a, pid_t b)
{
    char path[PATH_MAX];
    struct kymo_task_exe x, y;
    return kymo_task_executable(a, &x, path, sizeof path) &&
           kymo_task_executable(b, &y, path, sizeof path) && x.device == y.device &&
           x.inode == y.inode;
}

/* What it has used until now is none of the recording's business. */
static int ran_before(const kymo_tree *t, pid_t pid)
{
    uint64_t since_ns;
    (void)kymo_process_parent(pid, &since_ns);
    return !kymo_tree_find(t, pid) && since_ns + TICK_NS < t->start_ns;
}

static kymo_err add_started(kymo_tree *t, pid_t parent, pid_t child)
{
    const struct kymo_tree_started new = {parent, child, kymo_clock_ns(CLOCK_MONOTONIC)};
    t->look_ns = 0;
    for (size_t i = 0; i < t->started.len; i++)
        if (t->started.data[i].child == child)
            return KYMO_OK;
    if (t->started.len == STARTED_MAX) {
        t->next_all_ns = 0;
        return KYMO_OK;
    }
    return kymo_vec_push(&t->started, new);
}

static kymo_err add_children(kymo_tree *t, pid_t parent)
{
    kymo_pids pids = {0};
    kymo_err err =
        t->config.flags & KYMO_SESSION_CHILDREN ? kymo_children_add(parent, &pids) : KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < pids.len; i++)
        if (pids.data[i] != getpid() && !is_watched(t, pids.data[i]))
            err = add_started(t, parent, pids.data[i]);
    kymo_vec_deinit(&pids);
    return err;
}

/* *process: its number in the recording; KYMO_EVENT_NONE: it is not recorded. */
static kymo_err watch(kymo_tree *t, pid_t pid, uint32_t *process)
{
    struct kymo_tree_image *image;
    *process = KYMO_EVENT_NONE;
    if (!may_watch(t, pid))
        return KYMO_OK;
    struct kymo_attach_hello said = {
        .m = {.pid = pid, .tid = pid, .parent_pid = kymo_process_parent(pid, NULL)}};
    int is_forked =
        pid != t->program && !kymo_tree_find(t, pid) && runs_the_same(pid, said.m.parent_pid);
    said.m.start = ran_before(t, pid) ? KYMO_ATTACH_LATE
                   : is_forked        ? KYMO_ATTACH_FORK
                                      : KYMO_ATTACH_EXEC;
    (void)kymo_task_cpu_ns(pid, pid, &said.m.cpu_ns);
    KYMO_TRY(kymo_tree_begin_image(t, pid, &said, &image));
    if (!image)
        return KYMO_OK;
    kymo_host_set_outside(image->host, image->main_until_ns - image->main_before_ns > START_NS);
    kymo_host_close_memory(image->host);
    *process = image->process;
    if (t->next_all_ns == UINT64_MAX)
        t->next_all_ns = kymo_clock_ns(CLOCK_MONOTONIC) + LOOK_NS;
    KYMO_TRY(kymo_tree_take_in(image));
    return add_children(t, pid);
}

kymo_err kymo_tree_watch_outside(kymo_tree *t, const char *why, kymo_error *detail)
{
    char text[320];
    uint32_t process;
    struct kymo_task_status status;
    KYMO_TRY(watch(t, t->program, &process));
    if (process == KYMO_EVENT_NONE &&
        (!kymo_task_read_status(t->program, t->program, &status) || status.is_dead))
        return kymo_error_set(detail, KYMO_E_NOT_FOUND, 0,
                              "the program had ended before it could be sampled");
    if (process == KYMO_EVENT_NONE) /* it calls exec at this very moment */
        return add_started(t, t->program, t->program);
    snprintf(text, sizeof text,
             "the program is sampled from outside, since %s: it has no wall time, allocations or "
             "markers",
             why);
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), process,
                         t->refusals.wants_more ? KYMO_NOTE_WARNING : KYMO_NOTE_INFO, text};
    return t->config.events->note(t->config.events_context, &e);
}

/* ---- what was awaited ---- */

/* Others gain privileges, are of another machine, or will not start. */
static int may_be_watched(uint32_t reason)
{
    return reason != KYMO_REFUSAL_MACHINE && reason != KYMO_REFUSAL_PRIVILEGES &&
           reason != KYMO_REFUSAL_SCRIPTS;
}

static void forget_oldest(kymo_tree *t)
{
    t->awaited.len--;
    memmove(t->awaited.data, t->awaited.data + 1, t->awaited.len * sizeof *t->awaited.data);
}

kymo_err kymo_tree_await(kymo_tree *t, const struct kymo_tree_image *writer,
                         const struct kymo_refusal *refusal)
{
    const struct kymo_tree_awaited a = {.refusal = *refusal,
                                        .writer = writer->process,
                                        .writer_pid = writer->pid,
                                        .is_foreign = writer->is_foreign,
                                        .since_ns = kymo_clock_ns(CLOCK_MONOTONIC)};
    if (!t->config.copies || !(t->config.flags & KYMO_SESSION_CHILDREN) ||
        !may_be_watched(refusal->reason))
        return kymo_refusals_add(&t->refusals, writer->process, refusal, 0);
    t->look_ns = 0;
    if (t->awaited.len == AWAITED_MAX) {
        const struct kymo_tree_awaited *oldest = t->awaited.data;
        KYMO_TRY(kymo_refusals_add(&t->refusals, oldest->writer, &oldest->refusal, 0));
        forget_oldest(t);
    }
    return kymo_vec_push(&t->awaited, a);
}

/* Whether this process runs what the refusal names. */
static int is_named(const struct kymo_refusal *refusal, pid_t pid)
{
    struct kymo_task_exe exe;
    struct stat st;
    char path[PATH_MAX];
    if (!kymo_task_executable(pid, &exe, path, sizeof path))
        return 0;
    if (stat(refusal->path, &st) == 0 && st.st_dev == exe.device && st.st_ino == exe.inode)
        return 1;
    const char *slash = strrchr(refusal->path, '/');
    const char *theirs = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : refusal->path, theirs ? theirs + 1 : path) == 0;
}

/* A process that has not called exec says so of itself. */
static int is_of_itself(const struct kymo_refusal *refusal)
{
    return refusal->reason == KYMO_REFUSAL_FILTER || refusal->reason == KYMO_REFUSAL_RECORDER;
}

/* Any process may be named by the number of another namespace. */
static int is_found(const kymo_tree *t, const struct kymo_tree_awaited *a, pid_t pid)
{
    return !is_watched(t, pid) && kymo_tree_is_descendant(t, pid) &&
           (is_named(&a->refusal, pid) ||
            (pid == a->refusal.pid && !a->is_foreign && is_of_itself(&a->refusal)));
}

static kymo_err look_for(kymo_tree *t, const struct kymo_tree_awaited *a, uint32_t *process)
{
    const pid_t pid = a->is_foreign ? a->writer_pid : (pid_t)a->refusal.pid;
    kymo_pids pids = {0};
    kymo_err err = kymo_vec_push(&pids, pid);
    if (err == KYMO_OK)
        err = kymo_children_add(pid, &pids);
    for (size_t i = 0; err == KYMO_OK && *process == KYMO_EVENT_NONE && i < pids.len; i++)
        if (is_found(t, a, pids.data[i]))
            err = watch(t, pids.data[i], process);
    kymo_vec_deinit(&pids);
    return err;
}

/* Returns whether that is done with: found, or not to be found. */
static kymo_err look_at_awaited(kymo_tree *t, const struct kymo_tree_awaited *a, uint64_t now_ns,
                                int *is_done)
{
    uint32_t process = KYMO_EVENT_NONE;
    KYMO_TRY(look_for(t, a, &process));
    const int is_sampled = process != KYMO_EVENT_NONE;
    *is_done = is_sampled || now_ns >= a->since_ns + AWAIT_NS ||
               (!a->is_foreign && kymo_tree_is_gone((pid_t)a->refusal.pid));
    if (!*is_done)
        return KYMO_OK;
    return kymo_refusals_add(&t->refusals, is_sampled ? process : a->writer, &a->refusal,
                             is_sampled);
}

static kymo_err look_for_awaited(kymo_tree *t, uint64_t now_ns)
{
    size_t kept = 0;
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < t->awaited.len; i++) {
        const struct kymo_tree_awaited a = t->awaited.data[i];
        int is_done = 0;
        if (err == KYMO_OK)
            err = look_at_awaited(t, &a, now_ns, &is_done);
        if (is_done)
            continue;
        t->awaited.data[kept++] = a;
        look_at(t, now_ns + (now_ns < a.since_ns + EXEC_NS ? LOOK_AGAIN_NS : LOOK_NS));
    }
    t->awaited.len = kept;
    return err;
}

kymo_err kymo_tree_end_awaiting(kymo_tree *t)
{
    char text[160];
    for (size_t i = 0; i < t->awaited.len; i++)
        KYMO_TRY(kymo_refusals_add(&t->refusals, t->awaited.data[i].writer,
                                   &t->awaited.data[i].refusal, 0));
    t->awaited.len = 0;
    if (t->unwatched == 0)
        return KYMO_OK;
    snprintf(text, sizeof text,
             "%" PRIu64 " process%s of programs that are sampled from outside ended before "
             "anything of %s was",
             t->unwatched, t->unwatched == 1 ? "" : "es", t->unwatched == 1 ? "it" : "them");
    kymo_event_note e = {kymo_clock_ns(CLOCK_MONOTONIC), KYMO_EVENT_NONE, KYMO_NOTE_WARNING, text};
    return t->config.events->note(t->config.events_context, &e);
}

/* ---- children, and what follows an exec ---- */

kymo_err kymo_tree_on_relative(void *tree, pid_t parent, pid_t child)
{
    kymo_tree *t = tree;
    if (child != parent && !(t->config.flags & KYMO_SESSION_CHILDREN))
        return KYMO_OK;
    if (child)
        return add_started(t, parent, child);
    t->look_ns = t->next_all_ns = 0;
    return KYMO_OK;
}

/* Most children call exec at once, and are only then what they are; in the middle of that they can
 * be neither read nor sampled. Returns whether that is done with. */
static kymo_err look_at_started(kymo_tree *t, const struct kymo_tree_started *s, uint64_t now_ns,
                                int *is_done)
{
    uint32_t process = KYMO_EVENT_NONE;
    const int is_young = now_ns < s->since_ns + EXEC_NS;
    *is_done = is_watched(t, s->child);
    if (*is_done)
        return KYMO_OK;
    if (!is_young || s->child == s->parent || !runs_the_same(s->child, s->parent))
        KYMO_TRY(watch(t, s->child, &process));
    *is_done = process != KYMO_EVENT_NONE || !is_young || kymo_tree_is_gone(s->child);
    if (!*is_done)
        look_at(t, now_ns + LOOK_AGAIN_NS);
    t->unwatched += *is_done && process == KYMO_EVENT_NONE && s->child != s->parent;
    return KYMO_OK;
}

/* What is started meanwhile comes behind. */
static kymo_err look_at_all_started(kymo_tree *t, uint64_t now_ns)
{
    size_t kept = 0;
    kymo_err err = KYMO_OK;
    for (size_t i = 0; i < t->started.len; i++) {
        const struct kymo_tree_started s = t->started.data[i];
        int is_done = 0;
        if (err == KYMO_OK)
            err = look_at_started(t, &s, now_ns, &is_done);
        t->started.data[i].child = 0; /* so that it may come again */
        if (!is_done)
            t->started.data[kept++] = s;
    }
    t->started.len = kept;
    return err;
}

/* In case that something was not told. What stands still has started nothing. */
static kymo_err look_at_all(kymo_tree *t, uint64_t now_ns)
{
    kymo_pids pids = {0};
    kymo_err err = KYMO_OK;
    int has_outside = 0;
    /* Images come and go meanwhile. */
    for (size_t i = 0; err == KYMO_OK && i < t->images.len; i++) {
        const struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live || !kymo_host_is_outside(image->host))
            continue;
        has_outside = 1;
        if (image->still_rounds == 0)
            err = kymo_vec_push(&pids, image->pid);
    }
    for (size_t i = 0; err == KYMO_OK && i < pids.len; i++) {
        if (!is_watched(t, pids.data[i]))
            err = add_started(t, pids.data[i], pids.data[i]);
        if (err == KYMO_OK)
            err = add_children(t, pids.data[i]);
    }
    kymo_vec_deinit(&pids);
    t->next_all_ns = has_outside ? now_ns + LOOK_NS : UINT64_MAX;
    return err;
}

kymo_err kymo_tree_look_outside(kymo_tree *t, uint64_t now_ns)
{
    if (now_ns < t->look_ns || t->stopped)
        return KYMO_OK;
    t->look_ns = UINT64_MAX;
    kymo_err err = look_for_awaited(t, now_ns);
    if (err == KYMO_OK && now_ns >= t->next_all_ns)
        err = look_at_all(t, now_ns);
    if (err == KYMO_OK)
        err = look_at_all_started(t, now_ns);
    look_at(t, t->next_all_ns);
    return err;
}
