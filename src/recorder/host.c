/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - see host.h: a session's life, from its making over its rounds to its end.
 */
#include "recorder/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "recorder/host_state.h"
#include "sys/clock.h"

#define SCAN_NS 100000000u
/* Row tables are made once a process has shown that it is sampled a lot: a table costs up to a
 * quarter of a second of the recorder's time, and saves a microsecond or two a sample. */
#define TABLE_SAMPLES 5000u
#define TABLE_AREA_BYTES (32ull << 20)

/* Hands the modules over to the builder, once that is worth it. */
static void build_rows(kymo_host *h)
{
    if (h->out.samples < TABLE_SAMPLES || h->out.jobs.len == 0)
        return;
    if (!h->rows && kymo_row_builder_create(h->table_area, TABLE_AREA_BYTES, &h->rows) != KYMO_OK)
        return;
    for (size_t i = 0; i < h->out.jobs.len; i++)
        kymo_row_builder_add(h->rows, &h->out.jobs.data[i]);
    h->out.jobs.len = 0;
}

static int make_memory(uint64_t size)
{
    int fd = memfd_create("kymo", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    /* The program cannot shrink it under us. */
    if (ftruncate(fd, (off_t)size) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

static void configure(struct kymo_session *s, const struct kymo_host_config *config)
{
    s->clock_kind = config->clock;
    s->engine = config->engine;
    s->period_ns = config->period_ns;
    s->depth = config->depth;
    s->signal = (uint32_t)config->signal;
    s->heartbeat_limit = KYMO_HOST_SILENCE_NS;
    if (config->clock == KYMO_CLOCK_TSC) {
        /* Only for this limit a rough ratio is enough: 2^31 ticks a second. */
        s->heartbeat_limit = (KYMO_HOST_SILENCE_NS / 1000000000u) << 31;
    }
    if (getrandom(&s->cookie, sizeof s->cookie, GRND_NONBLOCK) != (ssize_t)sizeof s->cookie)
        s->cookie = kymo_clock_ns(CLOCK_REALTIME) ^ (uint64_t)(uintptr_t)s;
}

kymo_err kymo_host_create(const struct kymo_host_config *config, uint32_t process, kymo_host **out,
                          kymo_error *detail)
{
    kymo_err err = KYMO_E_NOMEM;
    kymo_host *h = calloc(1, sizeof *h);
    if (!h)
        return kymo_error_set(detail, KYMO_E_NOMEM, 0, "no memory for a session");
    h->config = *config;
    h->out.events = config->events;
    h->out.context = config->events_context;
    h->out.process = process;
    h->memory = -1;
    err = kymo_session_plan(config->buffer_bytes, &h->plan);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "a buffer of %" PRIu64 " bytes: not from 1 MiB to 4 GiB",
                       config->buffer_bytes);
        goto fail;
    }
    h->slots = calloc(h->plan.threads, sizeof *h->slots);
    uint64_t bytes = h->plan.total_bytes + TABLE_AREA_BYTES;
    h->memory = make_memory(bytes);
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
    map = mmap(NULL, TABLE_AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, h->memory,
               (off_t)h->plan.total_bytes);
    h->table_area = map == MAP_FAILED ? NULL : map;
    kymo_session_format(h->session, &h->plan);
    configure(h->session, config);
    h->out.keep_modules = h->table_area != NULL;
    struct kymo_drain_sink sink = kymo_session_events_sink(&h->out);
    err = kymo_drain_create(h->session, &h->plan, &sink, &h->drain);
    if (err != KYMO_OK) {
        kymo_error_set(detail, err, 0, "no memory to drain a session");
        goto fail;
    }
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
    for (uint32_t i = 0; h->slots && i < h->plan.threads; i++)
        if (h->slots[i].open && h->slots[i].fd >= 0)
            close(h->slots[i].fd);
    kymo_row_builder_destroy(h->rows);
    kymo_drain_destroy(h->drain);
    if (h->table_area)
        munmap(h->table_area, TABLE_AREA_BYTES);
    if (h->session)
        munmap(h->session, h->plan.total_bytes);
    if (h->memory >= 0)
        close(h->memory);
    free(h->slots);
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

uint64_t kymo_host_table_bytes(const kymo_host *h)
{
    return h->table_area ? TABLE_AREA_BYTES : 0;
}

void kymo_host_attached(kymo_host *h, pid_t pid)
{
    h->pid = h->out.pid = pid;
    (void)kymo_task_executable(pid, &h->exe, NULL, 0);
}

int kymo_host_is_attached(const kymo_host *h)
{
    return kymo_load_acquire(&h->session->attached) != 0;
}

void kymo_host_stop(kymo_host *h)
{
    kymo_store_release(&h->session->stopped, 1u);
    for (uint32_t i = 0; i < h->plan.threads; i++) {
        if (h->slots[i].open && h->slots[i].fd >= 0) {
            close(h->slots[i].fd);
            h->slots[i].fd = -1;
        }
    }
}

kymo_err kymo_host_round(kymo_host *h)
{
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    if (!h->replaced)
        KYMO_TRY(kymo_host_arm_threads(h, now_ns));
    if (h->revive)
        kymo_host_revive_timers(h);
    h->revive = h->last_round_ns && now_ns - h->last_round_ns > KYMO_HOST_SILENCE_NS / 4;
    h->last_round_ns = now_ns;
    KYMO_TRY(kymo_drain_round(h->drain));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    build_rows(h);
    /* Each time: what the process uses between an exec and its end, unnoticed, would be given to
     * the last stack of the image before. */
    KYMO_TRY(kymo_host_notice_exec(h, now_ns));
    if (now_ns >= h->next_scan_ns) {
        h->next_scan_ns = now_ns + SCAN_NS;
        if (!h->replaced)
            KYMO_TRY(kymo_host_scan_tasks(h, now_ns));
    }
    return KYMO_OK;
}

void kymo_host_wait(kymo_host *h, uint64_t timeout_ns)
{
    struct timespec t = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    uint32_t seen = kymo_load_acquire(&h->session->wake);
    if (seen != h->woken)
        h->woken = seen;
    else
        (void)syscall(SYS_futex, &h->session->wake, FUTEX_WAIT, seen, &t, NULL, 0);
}

kymo_err kymo_host_finish(kymo_host *h, uint64_t end_ns, uint64_t main_cpu_ns)
{
    h->out.main_cpu_ns = main_cpu_ns;
    kymo_host_stop(h);
    KYMO_TRY(kymo_drain_finish(h->drain, end_ns));
    KYMO_TRY(kymo_session_events_flush(&h->out));
    const kymo_event_handler *events = h->config.events;
    uint64_t lost[KYMO_LOSS_KINDS];
    static const char *const names[KYMO_LOSS_KINDS] = {
#define X(name, text) text,
        KYMO_LOSS_LIST(X)
#undef X
    };
    kymo_drain_losses(h->drain, lost);
    for (uint32_t i = 0; i < KYMO_LOSS_KINDS; i++) {
        kymo_event_loss e = {h->out.process, i, lost[i], names[i]};
        if (lost[i])
            KYMO_TRY(events->loss(h->config.events_context, &e));
    }
    kymo_event_quality q = {
        .process = h->out.process,
        .samples = h->out.taken,
        .cpu_unsampled_ns = h->out.unsampled_ns,
        .handler_ns = h->out.handler_ns,
    };
    return events->quality(h->config.events_context, &q);
}
