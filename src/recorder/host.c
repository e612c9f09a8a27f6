/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - see host.h: creates, drains and ends a session.
 */
#include "recorder/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/log.h"
#include "buffer/refusal.h"
#include "observe/descriptors.h"
#include "recorder/host_state.h"
#include "recorder/shared_memory.h"
#include "recording/recording.h"
#include "sys/clock.h"
#include "sys/pages.h"

#define SCAN_NS 100000000u
#define TELL_NS 1000000000u /* between two checks for lost records */
/* First measurement of resident memory: of the program, after its startup; of other processes,
 * late enough to skip those that end at once. */
#define LEDGER_NS 50000000u
#define LEDGER_YOUNG_NS 200000000u
#define DRAIN_NS 1000000u /* shortest pause between two drains */
#define SCAN_MANY 128u    /* threads; the kernel needs 1 to 2 ms to list a thousand */

/* Announces to the process the row tables that exist by now for its modules. */
static void hand_out_tables(kymo_host *h)
{
    struct kymo_table_area *area = kymo_session_tables(h->session, &h->plan);
    uint64_t fresh = h->out.samples - h->counted_samples;
    h->counted_samples = h->out.samples;
    for (size_t i = 0; i < h->out.wants.len;) {
        struct kymo_row_want *w = &h->out.wants.data[i];
        struct kymo_table_entry e = {w->map_start, w->map_end, 0, 0, 0, w->bias};
        kymo_row_tables_count(h->config.tables, w->file, fresh);
        enum kymo_row_tables_answer answer = kymo_row_tables_find(h->config.tables, w->file, &e);
        if (answer == KYMO_ROW_TABLE_LATER) {
            i++;
            continue;
        }
        if (answer == KYMO_ROW_TABLE_HERE && h->tables_given < KYMO_TABLE_AREA_ENTRIES) {
            e.base += w->bias;
            area->entries[h->tables_given++] = e;
            /* Pairs with the acquire in capture/tables.c: the entry is complete. */
            kymo_store_release(&area->count, h->tables_given);
        }
        *w = h->out.wants.data[--h->out.wants.len];
    }
}

/* Uses the host's own counter: the program may have overwritten the one in the session. */
static void write_control(kymo_host *h, const char *markers)
{
    struct kymo_session *s = h->session;
    size_t len = markers ? strnlen(markers, sizeof s->control - 1) : 0;
    h->control_seq += 2;
    h->control_called = 0;
    kymo_store_relaxed(&s->control_seq, h->control_seq - 1);
    kymo_fence_release();
    if (len)
        memcpy(s->control, markers, len);
    memset(s->control + len, 0, sizeof s->control - len);
    /* Pairs with the acquire in capture/mark_links.c: an even number marks a complete list. */
    kymo_store_release(&s->control_seq, h->control_seq);
}

static void configure(struct kymo_session *s, const struct kymo_host_config *config)
{
    s->clock_kind = config->clock;
    s->engine = config->engine;
    s->period_ns = config->period_ns;
    s->depth = config->depth;
    s->signal = s->signal_now = s->signal_done = (uint32_t)config->signal;
    s->flags = config->flags | (config->signal_fixed ? KYMO_SESSION_SIGNAL_FIXED : 0);
    s->pauses = config->pauses;
    s->alloc_rate = config->alloc_rate;
    s->map_least = config->alloc_rate ? KYMO_HEAP_EVENTS_MAP_LEAST : UINT64_MAX;
    s->network_cookie = config->network_cookie;
    s->network_device = config->network_device;
    s->network_inode = config->network_inode;
    s->heartbeat_limit = KYMO_HOST_SILENCE_NS;
    if (config->clock == KYMO_CLOCK_TSC) {
        /* A rough clock rate is enough for this limit only: 2^31 ticks a second. */
        s->heartbeat_limit = (KYMO_HOST_SILENCE_NS / 1000000000u) << 31;
    }
    if (getrandom(&s->cookie, sizeof s->cookie, GRND_NONBLOCK) != (ssize_t)sizeof s->cookie)
        s->cookie = kymo_clock_ns(CLOCK_REALTIME) ^ (uint64_t)(uintptr_t)s;
}

void kymo_host_memory_name(const char *tree, char *out, size_t cap)
{
    snprintf(out, cap, "kymo:%s", tree ? tree : "");
}

kymo_err kymo_host_create(const struct kymo_host_config *config, kymo_host **out,
                          kymo_error *detail)
{
    kymo_err err = KYMO_E_NOMEM;
    char name[128];
    kymo_host *h = calloc(1, sizeof *h);
    if (!h)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a session");
    h->config = *config;
    h->signal = config->signal;
    h->out.events = config->events;
    h->out.period_ns = config->period_ns;
    h->out.pauses = config->pauses;
    h->out.startup_thread = KYMO_EVENT_NONE;
    h->out.context = config->events_context;
    h->out.next_thread = config->next_thread;
    h->out.tables = config->tables;
    h->out.unseen = config->unseen;
    h->out.kernel_stacks = config->kernel_stacks;
    h->out.heap.rate = config->alloc_rate;
    h->memory = h->image = h->main_event = -1;
    err = kymo_session_plan(config->buffer_bytes, &h->plan);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "a buffer of %" PRIu64 " bytes: not from 1 MiB to 4 GiB",
                       config->buffer_bytes);
        goto fail;
    }
    h->slots = kymo_pages_take(h->plan.threads, sizeof *h->slots);
    uint64_t bytes = h->plan.total_bytes;
    kymo_host_memory_name(config->tree, name, sizeof name);
    h->memory = kymo_shared_memory_make(name, bytes);
    if (!h->slots || h->memory < 0) {
        const char *advice = errno == EFBIG ? " (raise ulimit -f, the limit on files' size)" : "";
        err = kymo_error_set_errno(detail, "cannot make a session of %" PRIu64 " bytes%s", bytes,
                                   advice);
        goto fail;
    }
    void *map = mmap(NULL, h->plan.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, h->memory, 0);
    if (map == MAP_FAILED) {
        err = kymo_error_set_errno(detail, "cannot map a session");
        goto fail;
    }
    h->session = map;
    /* The recorder's child processes do not need the mapping, and with it would look like
     * children of the program (tree_relatives.c). */
    (void)madvise(map, h->plan.total_bytes, MADV_DONTFORK);
    kymo_session_format(h->session, &h->plan);
    configure(h->session, config);
    write_control(h, config->markers);
    struct kymo_drain_sink sink = kymo_session_events_sink(&h->out);
    err = kymo_drain_create(h->session, &h->plan, &sink, &h->drain);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "no memory to drain a session");
        goto fail;
    }
    if (config->earliest_ns)
        kymo_drain_since(h->drain, config->earliest_ns);
    *out = h;
    return KYMO_OK;

fail:
    kymo_host_destroy(h);
    return err;
}

void kymo_host_destroy(kymo_host *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; h->slots && i < h->slots_seen; i++)
        kymo_host_disarm(h, i);
    kymo_host_drop_event(h);
    kymo_drain_destroy(h->drain);
    kymo_wall_destroy(h->out.wall);
    kymo_telemetry_destroy(h->telemetry);
    kymo_ledger_destroy(h->ledger);
    if (h->session)
        munmap(h->session, h->plan.total_bytes);
    if (h->memory >= 0)
        close(h->memory);
    if (h->image >= 0)
        close(h->image);
    kymo_pages_give(h->slots, h->plan.threads, sizeof *h->slots);
    kymo_session_events_deinit(&h->out);
    kymo_vec_deinit(&h->strangers);
    free(h);
}

int kymo_host_memory(const kymo_host *h)
{
    return h->memory;
}

uint64_t kymo_host_bytes(const kymo_host *h)
{
    return h->plan.total_bytes;
}

void kymo_host_close_memory(kymo_host *h)
{
    if (h->memory >= 0)
        close(h->memory);
    h->memory = -1;
}

void kymo_host_set_late(kymo_host *h)
{
    h->is_late = 1;
}

void kymo_host_set_foreign(kymo_host *h)
{
    h->foreign = 1;
    h->config.engine = KYMO_SESSION_TIMER;
    h->session->engine = KYMO_SESSION_TIMER;
}

/* The file that it has named is the one that it means: it may have another root. */
static int is_as_told(kymo_host *h, const struct kymo_attach_hello *hello)
{
    return hello->m.name_bytes && hello->name.auxv &&
           kymo_task_executable_at(hello->name.text, &h->exe, h->out.executable,
                                   sizeof h->out.executable) &&
           h->exe.device == hello->name.device && h->exe.inode == hello->name.inode;
}

void kymo_host_identify(kymo_host *h, pid_t pid, uint32_t process,
                        const struct kymo_attach_hello *hello)
{
    h->out.session = h->session;
    h->out.process = process;
    kymo_store_relaxed(&h->session->recorded_as, process + 1);
    h->is_filtered = hello->m.filter != 0;
    h->pid = h->out.pid = pid;
    if (is_as_told(h, hello)) {
        h->auxv = hello->name.auxv;
        h->is_as_told = 1;
    } else {
        h->image = kymo_descriptors_keep(
            kymo_task_open_image(pid, hello->m.start != KYMO_ATTACH_EXEC), KYMO_DESCRIPTORS_IMAGES);
        (void)kymo_task_executable(pid, &h->exe, h->out.executable, sizeof h->out.executable);
        h->auxv = h->image < 0 ? kymo_task_auxv_hash(pid) : 0;
    }
    kymo_host_expect_copies(h);
    /* What has no filter is spared the time that this takes, for it may end at once. */
    if (h->is_filtered)
        kymo_host_note_status(h);
}

void kymo_host_identify_again(kymo_host *h)
{
    struct kymo_task_exe exe;
    char path[PATH_MAX];
    if (!h->is_as_told)
        return;
    h->is_as_told = 0;
    /* The vector last: if it is this image's still, so is all that was read before. */
    int image = kymo_task_open_image(h->pid, 0);
    if (!kymo_task_executable(h->pid, &exe, path, sizeof path) ||
        kymo_task_auxv_hash(h->pid) != h->auxv) {
        if (image >= 0)
            close(image);
        return; /* kymo_host_notice_exec will see it */
    }
    h->image = kymo_descriptors_keep(image, KYMO_DESCRIPTORS_IMAGES);
    h->exe = exe;
    memcpy(h->out.executable, path, sizeof path);
    h->auxv = h->image < 0 ? h->auxv : 0;
}

const char *kymo_host_executable(const kymo_host *h)
{
    return h->out.executable;
}

void kymo_host_attached(kymo_host *h, uint64_t main_cpu_before, uint64_t startup_ns)
{
    const pid_t pid = h->pid;
    const uint32_t process = h->out.process;
    h->out.main_cpu_before = main_cpu_before;
    if (h->is_found_late)
        h->out.unsampled_ns += startup_ns;
    else
        h->out.startup_ns = startup_ns;
    memcpy(h->out.main_name, h->session->name, sizeof h->out.main_name - 1);
    /* On failure generated code has no names. */
    if (kymo_jit_code_create(pid, &h->out.jit) != KYMO_OK)
        h->out.jit = NULL;
    /* Thread numbers of another pid namespace mean nothing here. On failure there is no wall
     * time, and the rest works. */
    if (h->config.wall && !h->foreign &&
        kymo_wall_create(h->config.wall, h->session, pid, process, h->out.next_thread, h->out.jit,
                         &h->out.wall) != KYMO_OK)
        h->out.wall = NULL;
    if (h->out.wall && h->config.pauses & 1 &&
        kymo_wall_pause(h->out.wall, kymo_clock_ns(CLOCK_MONOTONIC)) != KYMO_OK)
        kymo_warn("the wall time of a new process is not paused");
    struct kymo_remote_python_sink python = kymo_session_events_python(&h->out);
    if (h->out.wall && kymo_wall_set_python(h->out.wall, &python) != KYMO_OK)
        kymo_warn("no memory for the Python frames of threads that wait");
}

uint32_t kymo_host_unread_python(const kymo_host *h, int *is_free_threaded)
{
    *is_free_threaded = h->session->python_free_threaded != 0;
    return h->session->python_read ? 0 : h->session->python;
}

uint32_t kymo_host_tracer(const kymo_host *h)
{
    return kymo_load_relaxed(&h->session->tracer);
}

int kymo_host_is_attached(const kymo_host *h)
{
    return kymo_load_acquire(&h->session->attached) != 0;
}

static void end_capture(kymo_host *h)
{
    h->is_stopped = 1;
    kymo_store_release(&h->session->stopped, 1u);
    uint32_t quiet = kymo_load_relaxed(&h->session->quiet);
    while (!kymo_cas_relaxed(&h->session->quiet, &quiet, quiet | KYMO_QUIET_STOPPED)) {
    }
    for (uint32_t i = 0; i < h->slots_seen; i++)
        kymo_host_disarm(h, i);
    kymo_host_drop_event(h);
}

void kymo_host_stop(kymo_host *h)
{
    if (!h->replaced)
        kymo_ledger_look(h->ledger, kymo_clock_ns(CLOCK_MONOTONIC));
    end_capture(h);
    /* Without this signal the process might never notice the end, and would go on writing
     * markers. */
    if (!h->replaced && h->pid && kymo_host_is_attached(h))
        (void)kymo_host_call_process(h);
}

/* Drains the session: its records become events. */
static kymo_err drain(kymo_host *h, uint64_t now_ns)
{
    h->drained_ns = now_ns;
    /* The last drain may have stopped in the middle of these threads. */
    if (!kymo_drain_is_behind(h->drain)) {
        h->filled = kymo_load_relaxed(&h->session->filled);
        h->lap_ns = now_ns;
    }
    KYMO_TRY(kymo_drain_round(h->drain));
    if (h->out.copies)
        KYMO_TRY(kymo_host_read_copies(h));
    if (!kymo_drain_is_behind(h->drain))
        h->read_ns = h->lap_ns;
    KYMO_TRY(kymo_session_events_flush(&h->out));
    if (kymo_drain_is_behind(h->drain))
        return KYMO_OK;
    /* What depends on other threads waits until all threads were read. */
    if (h->config.writer)
        KYMO_TRY(kymo_recording_settle(h->config.writer, h->out.process, h->lap_ns));
    return kymo_mark_events_round(&h->out, h->drain, h->lap_ns);
}

/* Writes changed figures regularly, so that losses are in the file even if the recorder is
 * killed. */
static kymo_err tell_heap(kymo_host *h)
{
    h->out.heap.own_bytes = kymo_ledger_own_bytes(h->ledger);
    return kymo_heap_events_tell(&h->out, h->drain, h->session);
}

static kymo_err tell_losses(kymo_host *h)
{
    uint64_t lost[KYMO_LOSS_KINDS];
    static const char *const names[KYMO_LOSS_KINDS] = {
#define X(name, text) text,
        KYMO_LOSS_LIST(X)
#undef X
    };
    kymo_drain_losses(h->drain, lost);
    lost[KYMO_LOSS_MARK_STACK] += h->out.marks.stackless;
    lost[KYMO_LOSS_SAMPLE_LATE] += kymo_stack_copies_lost(h->out.copies);
    for (uint32_t i = 0; i < KYMO_LOSS_KINDS; i++) {
        kymo_event_loss e = {h->out.process, i, lost[i], names[i]};
        if (lost[i] != h->told_lost[i])
            KYMO_TRY(h->config.events->loss(h->config.events_context, &e));
        h->told_lost[i] = lost[i];
    }
    return KYMO_OK;
}

kymo_err kymo_host_round(kymo_host *h)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (h->is_outside) {
        KYMO_TRY(kymo_host_look_for_threads(h, now_ns));
        kymo_host_share_rings(h, now_ns);
    }
    if (!h->replaced)
        KYMO_TRY(kymo_host_arm_threads(h, now_ns));
    kymo_host_note_cpu(h);
    if (h->revive && !h->foreign) {
        kymo_host_revive_timers(h);
        /* Its markers were off as well. Only a signal reaches a thread that sleeps. */
        if (kymo_host_is_attached(h))
            (void)kymo_host_call_process(h);
    }
    h->revive = h->last_round_ns && now_ns - h->last_round_ns > KYMO_HOST_SILENCE_NS / 4;
    h->last_round_ns = now_ns;
    /* A session that is behind is drained in separate turns. */
    if (kymo_drain_is_behind(h->drain))
        kymo_drain_beat(h->drain);
    else
        KYMO_TRY(drain(h, now_ns));
    hand_out_tables(h);
    /* In each round: CPU time used after an exec that was not noticed would be added to the last
     * stack of the image before. */
    int scans = now_ns >= h->next_scan_ns;
    kymo_host_notice_exec(h, !scans);
    if (scans) {
        h->next_scan_ns = now_ns + SCAN_NS * (1 + h->listed / SCAN_MANY);
        if (now_ns - h->told_lost_ns >= TELL_NS) {
            h->told_lost_ns = now_ns;
            KYMO_TRY(tell_losses(h));
            KYMO_TRY(kymo_mark_events_tell_sites(&h->out, h->drain));
            KYMO_TRY(tell_heap(h));
        }
        kymo_jit_code_look(h->out.jit, now_ns);
        if (!h->replaced && !h->foreign && !h->is_outside)
            KYMO_TRY(kymo_host_scan_tasks(h, now_ns));
    }
    return KYMO_OK;
}

kymo_err kymo_host_tick(kymo_host *h, uint64_t now_ns)
{
    return h->out.wall && !h->replaced ? kymo_wall_tick(h->out.wall, now_ns) : KYMO_OK;
}

void kymo_host_watch_system(kymo_host *h, int is_program, int is_forked)
{
    const struct kymo_telemetry_config config = {
        .events = h->config.events,
        .context = h->config.events_context,
        .period_ns = h->config.counters_period_ns,
        .root = "",
    };
    /* Without memory for it the rest works. */
    if (config.period_ns &&
        kymo_telemetry_create(&config, h->pid, h->out.process, is_program,
                              kymo_clock_ns(CLOCK_MONOTONIC), &h->telemetry) != KYMO_OK)
        h->telemetry = NULL;
    const struct kymo_ledger_config ledger = {
        .events = h->config.events,
        .context = h->config.events_context,
        .session = h->session,
        .plan = &h->plan,
        .drain = h->drain,
        .root = "",
        .image = h->image,
        .has_past = is_forked,
    };
    uint64_t first_ns = kymo_clock_ns(CLOCK_MONOTONIC) + (is_program ? LEDGER_NS : LEDGER_YOUNG_NS);
    if (h->config.alloc_rate &&
        kymo_ledger_create(&ledger, h->pid, h->out.process, first_ns, &h->ledger) != KYMO_OK)
        h->ledger = NULL;
}

void kymo_host_set_counters_period(kymo_host *h, uint64_t period_ns)
{
    h->config.counters_period_ns = period_ns;
    kymo_telemetry_set_period(h->telemetry, period_ns);
}

static int asks_allocator(const kymo_host *h)
{
    return h->out.heap.rate != 0 && h->config.counters_period_ns != 0;
}

static struct kymo_allocator_events_look allocator_look(const kymo_host *h)
{
    return (struct kymo_allocator_events_look){
        .events = h->config.events,
        .context = h->config.events_context,
        .process = h->out.process,
        .session = h->session,
        .drain = h->drain,
    };
}

kymo_err kymo_host_look_at_system(kymo_host *h, uint64_t now_ns)
{
    if (h->replaced)
        return KYMO_OK;
    if (asks_allocator(h)) {
        struct kymo_allocator_events_look look = allocator_look(h);
        KYMO_TRY(kymo_allocator_events_round(&h->allocator, &look, now_ns));
    }
    kymo_ledger_round(h->ledger, now_ns);
    return kymo_telemetry_round(h->telemetry, now_ns);
}

void kymo_host_beat(kymo_host *h)
{
    h->last_round_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    kymo_drain_beat(h->drain);
}

kymo_err kymo_host_first_round(kymo_host *h)
{
    kymo_host_notice_exec(h, 1);
    /* A thread's number may be another's by now. */
    if (kymo_task_image_lives(h->image)) {
        kymo_host_note_status(h);
        if (h->is_outside)
            KYMO_TRY(kymo_host_look_for_threads(h, kymo_clock_ns(CLOCK_MONOTONIC)));
        KYMO_TRY(kymo_host_hear(h));
    }
    h->last_round_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    /* Threads that run already are sampled once they have been found. */
    h->next_scan_ns = h->is_late ? 0 : h->last_round_ns + SCAN_NS;
    return drain(h, h->last_round_ns);
}

int kymo_host_has_rung(const kymo_host *h)
{
    return kymo_load_acquire(&h->session->wake) != h->woken;
}

uint64_t kymo_host_due_ns(const kymo_host *h)
{
    int is_filled = kymo_load_relaxed(&h->session->filled) != h->filled;
    if (kymo_drain_is_behind(h->drain))
        return 0;
    return is_filled ? h->drained_ns + DRAIN_NS : UINT64_MAX;
}

int kymo_host_is_behind(const kymo_host *h)
{
    return kymo_drain_is_behind(h->drain);
}

kymo_err kymo_host_hear(kymo_host *h)
{
    h->woken = kymo_load_acquire(&h->session->wake);
    return h->replaced ? KYMO_OK : kymo_host_arm_threads(h, kymo_clock_ns(CLOCK_MONOTONIC));
}

kymo_err kymo_host_read(kymo_host *h)
{
    return drain(h, kymo_clock_ns(CLOCK_MONOTONIC));
}

kymo_err kymo_host_answer(kymo_host *h)
{
    KYMO_TRY(kymo_host_hear(h));
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    /* Some threads fill their buffers before the next round. */
    return now_ns >= kymo_host_due_ns(h) ? drain(h, now_ns) : KYMO_OK;
}

const char *kymo_host_replaced_by(const kymo_host *h)
{
    return h->replaced ? h->replaced_by : "";
}

static uint64_t main_copied(const kymo_host *h)
{
    for (uint32_t i = 0; i < h->out.tids.len; i++)
        if (h->out.tids.data[i] == h->pid)
            return h->out.copied.data[i].cpu_ns;
    return 0;
}

struct kymo_exec_clocks kymo_host_exec_clocks(const kymo_host *h, uint64_t cpu_ns)
{
    const uint64_t caller_ns = kymo_load_acquire(&h->session->replaced_cpu_ns);
    const uint64_t main_ns = kymo_load_relaxed(&h->session->replaced_main_ns);
    uint64_t least_ns = h->out.main_cpu_before + kymo_drain_main_weight(h->drain);
    /* Another thread called exec, whose clock says nothing of the main one's. */
    if (caller_ns > 0 && main_ns != caller_ns && caller_ns <= cpu_ns)
        return (struct kymo_exec_clocks){main_ns > least_ns ? main_ns : least_ns, caller_ns};
    if (main_ns >= least_ns && main_ns <= cpu_ns)
        return (struct kymo_exec_clocks){main_ns, main_ns};
    /* Copies count by another clock. */
    least_ns += main_copied(h);
    if (least_ns > cpu_ns)
        least_ns = cpu_ns;
    return (struct kymo_exec_clocks){least_ns, least_ns};
}

int kymo_host_refusal(kymo_host *h, struct kymo_refusal *out, uint64_t *missed)
{
    return kymo_refusal_read(h->session, &h->refusals_seen, out, missed);
}

void kymo_host_select(kymo_host *h, const char *markers)
{
    write_control(h, markers);
}

enum kymo_host_selected kymo_host_selected(kymo_host *h)
{
    if (h->replaced || h->is_outside)
        return KYMO_HOST_NEVER;
    if (kymo_load_acquire(&h->session->control_seen) == h->control_seq)
        return KYMO_HOST_TOLD;
    /* Sends it again if that failed (RLIMIT_SIGPENDING). A process that attaches looks by
     * itself. */
    if (!h->control_called && h->pid && kymo_host_is_attached(h))
        h->control_called = kymo_host_call_process(h);
    return KYMO_HOST_LATER;
}

void kymo_host_set_alloc_rate(kymo_host *h, uint64_t rate)
{
    struct kymo_heap_events *heap = &h->out.heap;
    if (h->is_outside)
        return;
    h->config.alloc_rate = rate;
    kymo_store_relaxed(&h->session->alloc_rate, rate);
    if (rate)
        kymo_store_relaxed(&h->session->map_least, (uint64_t)KYMO_HEAP_EVENTS_MAP_LEAST);
    heap->was_off |= rate == 0 || heap->rate == 0;
    /* Records the largest rate: it determines what may have been missed. */
    if (rate > heap->rate) {
        heap->rate = rate;
        heap->is_told = 0;
    }
}

kymo_err kymo_host_set_pauses(kymo_host *h, uint32_t pauses, uint64_t now_ns)
{
    const int begins = (int)(pauses & 1);
    if (h->out.wall && !kymo_drain_is_behind(h->drain))
        KYMO_TRY(drain(h, now_ns));
    h->config.pauses = h->out.pauses = pauses;
    /* Pairs with the acquire in capture/on_signal.c: before any event may raise a signal. */
    kymo_store_release(&h->session->pauses, pauses);
    h->out.heap.was_off |= begins;
    if (begins)
        kymo_host_rest(h);
    else
        kymo_host_go_on(h);
    if (!h->out.wall || h->replaced)
        return KYMO_OK;
    return begins ? kymo_wall_pause(h->out.wall, now_ns) : kymo_wall_resume(h->out.wall, now_ns);
}

void kymo_host_set_period(kymo_host *h, uint64_t period_ns)
{
    const uint64_t before_ns = h->config.period_ns;
    h->config.period_ns = h->out.period_ns = period_ns;
    kymo_store_relaxed(&h->session->period_ns, period_ns);
    kymo_host_follow_period(h, before_ns);
}

int kymo_host_has_read(const kymo_host *h, uint64_t since_ns)
{
    return h->read_ns >= since_ns;
}

int kymo_host_has_relatives(const kymo_host *h)
{
    return kymo_load_relaxed(&h->session->relatives) != 0;
}

size_t kymo_host_thread_count(const kymo_host *h)
{
    return h->out.threads.len;
}

uint64_t kymo_host_cpu_ns(const kymo_host *h)
{
    return h->out.cpu_ns;
}

/* CPU time in pauses of the threads that live. */
static void note_paused(kymo_host *h)
{
    for (uint32_t i = 0; i < h->slots_seen; i++) {
        const struct kymo_thread_slot *slot = kymo_session_slot(h->session, &h->plan, i);
        if (h->slots[i].open && kymo_load_relaxed(&slot->generation) == h->slots[i].generation)
            kymo_session_events_paused(&h->out, kymo_drain_slot_thread(h->drain, i),
                                       kymo_load_relaxed(&slot->paused_cpu_ns));
    }
}

static kymo_err tell_quality(kymo_host *h)
{
    struct kymo_drain_counts live;
    uint64_t copied = 0;
    kymo_drain_live_counts(h->drain, &live);
    for (size_t i = 0; i < h->out.copied.len; i++)
        copied += h->out.copied.data[i].samples;
    h->quality = (kymo_event_quality){
        .process = h->out.process,
        .samples = h->out.taken + live.samples + copied,
        .copied = copied,
        .cpu_unsampled_ns = h->out.unsampled_ns,
        .handler_ns = h->out.handler_ns + live.handler_ns,
        .disturbed = h->out.disturbed + live.disturbed +
                     (h->out.wall ? kymo_wall_disturbed(h->out.wall) : 0),
    };
    return h->config.events->quality(h->config.events_context, &h->quality);
}

/* They are read up to where they were when the lap before began: two laps read all there are. */
kymo_err kymo_host_read_calls(kymo_host *h)
{
    if (!(h->session->flags & KYMO_SESSION_TRACE_PYTHON))
        return KYMO_OK;
    for (int lap = 0; lap < 2 && !kymo_drain_is_behind(h->drain); lap++)
        KYMO_TRY(drain(h, kymo_clock_ns(CLOCK_MONOTONIC)));
    return KYMO_OK;
}

static kymo_err hit(void *context, uint64_t address)
{
    return kymo_jit_code_hit(context, address);
}

/* In a recording of one file, of all code that was sampled. An interval's file needs what its own
 * stacks have: over months that is other code again and again. */
static kymo_err write_code(kymo_host *h)
{
    const kymo_recording_writer *w = h->config.writer;
    if (w && kymo_recording_kept_stacks(w, h->out.process) > 0) {
        kymo_jit_code_forget_hits(h->out.jit);
        KYMO_TRY(kymo_recording_segment_code(w, h->out.process, hit, h->out.jit));
    }
    return kymo_jit_code_write(h->out.jit, h->out.process, h->config.events,
                               h->config.events_context);
}

kymo_err kymo_host_end_interval(kymo_host *h)
{
    /* What is left for the next interval would lie before its begin. */
    KYMO_TRY(kymo_host_read_calls(h));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    if (h->out.wall)
        KYMO_TRY(kymo_wall_flush(h->out.wall));
    KYMO_TRY(write_code(h));
    KYMO_TRY(tell_losses(h));
    KYMO_TRY(kymo_mark_events_tell_sites(&h->out, h->drain));
    KYMO_TRY(tell_heap(h));
    note_paused(h);
    KYMO_TRY(tell_quality(h));
    return kymo_host_sweep_stacks(h);
}

kymo_err kymo_host_finish(kymo_host *h, uint64_t end_ns, uint64_t main_cpu_ns, int is_followed)
{
    h->out.replaced = h->replaced && !is_followed;
    h->out.main_cpu_ns = main_cpu_ns;
    end_capture(h);
    KYMO_TRY(kymo_drain_finish(h->drain, end_ns));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    KYMO_TRY(kymo_mark_events_finish(&h->out, h->drain, end_ns));
    if (h->out.wall)
        KYMO_TRY(kymo_wall_finish(h->out.wall, end_ns));
    KYMO_TRY(kymo_host_forget_kernel_stacks(h));
    KYMO_TRY(write_code(h));
    KYMO_TRY(tell_losses(h));
    KYMO_TRY(tell_heap(h));
    if (asks_allocator(h)) {
        struct kymo_allocator_events_look look = allocator_look(h);
        KYMO_TRY(kymo_allocator_events_finish(&h->allocator, &look));
    }
    KYMO_TRY(kymo_telemetry_finish(h->telemetry));
    KYMO_TRY(kymo_ledger_finish(h->ledger));
    return tell_quality(h);
}

uint64_t kymo_host_last_end_ns(const kymo_host *h)
{
    return h->out.last_end_ns;
}

kymo_event_quality kymo_host_quality(const kymo_host *h)
{
    return h->quality;
}
