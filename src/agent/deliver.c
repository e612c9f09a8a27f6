/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/deliver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_status.h"
#include "agent/settings.h"
#include "base/log.h"
#include "base/str.h"

const struct kymo_deliver_workers kymo_deliver_processes = {
    kymo_worker_start, kymo_worker_has_ended, kymo_worker_stop};

struct kymo_shared_file *kymo_shared_file_create(int fd)
{
    struct stat st;
    struct kymo_shared_file *file = malloc(sizeof *file);
    if (!file || fstat(fd, &st) != 0) {
        free(file);
        return NULL;
    }
    *file = (struct kymo_shared_file){.fd = fd, .users = 1, .bytes = (uint64_t)st.st_size};
    return file;
}

void kymo_shared_file_release(struct kymo_shared_file *file)
{
    if (!file || --file->users > 0)
        return;
    close(file->fd);
    free(file);
}

void kymo_deliver_init(struct kymo_deliver *d, const struct kymo_reporter *reporter,
                       const struct kymo_deliver_workers *workers, uint64_t most_bytes)
{
    *d = (struct kymo_deliver){.reporter = reporter, .workers = workers, .most_bytes = most_bytes};
}

static void remove_at(struct kymo_deliver *d, size_t at)
{
    d->bytes -= d->waiting.data[at].file->bytes;
    kymo_shared_file_release(d->waiting.data[at].file);
    d->waiting.len--;
    memmove(d->waiting.data + at, d->waiting.data + at + 1,
            (d->waiting.len - at) * sizeof *d->waiting.data);
}

void kymo_deliver_deinit(struct kymo_deliver *d)
{
    if (d->is_working)
        d->workers->stop(&d->worker);
    d->is_working = 0;
    while (d->waiting.len > 0) {
        d->counts.dropped++;
        remove_at(d, 0);
    }
    kymo_vec_deinit(&d->waiting);
}

/* Each that waits has a descriptor, of which the recording needs most: without one it could not
 * even begin another interval. With as many reporters as there may be, they have half of them. */
static size_t most_waiting(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return (size_t)files.rlim_cur / (2 * KYMO_AGENT_REPORTERS);
}

/* The one that is under way is not dropped, nor is the newest. */
static void make_room(struct kymo_deliver *d)
{
    const size_t oldest = d->is_working ? 1 : 0;
    const size_t most = most_waiting();
    while ((d->bytes > d->most_bytes || d->waiting.len > most) && d->waiting.len > oldest + 1) {
        d->counts.dropped++;
        remove_at(d, oldest);
    }
}

kymo_err kymo_deliver_put(struct kymo_deliver *d, struct kymo_shared_file *file,
                          const struct kymo_interval_profile *profile)
{
    struct kymo_delivery delivery = {file, *profile};
    delivery.profile.fd = file->fd;
    delivery.profile.bytes = file->bytes;
    KYMO_TRY(kymo_vec_push(&d->waiting, delivery));
    file->users++;
    d->bytes += file->bytes;
    make_room(d);
    return KYMO_OK;
}

/* ---- a try, in a worker ---- */

static kymo_err try_one(void *context, struct kymo_worker_result *result)
{
    const struct kymo_deliver *d = context;
    return d->reporter->kind->report(d->reporter, &d->waiting.data[0].profile, &result->error);
}

static uint64_t jitter(uint64_t pause_ns)
{
    uint64_t chance = 0;
    if (getrandom(&chance, sizeof chance, GRND_NONBLOCK) != (ssize_t)sizeof chance)
        return pause_ns;
    return pause_ns - chance % (pause_ns / 2);
}

static int is_for_good(kymo_err err)
{
    return err == KYMO_E_INVALID || err == KYMO_E_UNSUPPORTED;
}

static void say_failed(const struct kymo_deliver *d, int is_dropped)
{
    char pause[32];
    kymo_str what = {0};
    kymo_reporter_put_public(&what, d->reporter);
    kymo_str_puts(&what, ": ");
    kymo_text_put_public(&what, d->counts.reason.message);
    kymo_format_duration(pause, d->pause_ns);
    kymo_warn("%s; %s%s", kymo_str_cstr(&what),
              is_dropped ? "this profile is dropped" : "the next try is within ",
              is_dropped ? "" : pause);
    kymo_str_deinit(&what);
}

static void took_result(struct kymo_deliver *d, const struct kymo_worker_result *result,
                        uint64_t now_ns, uint64_t realtime_ns)
{
    const kymo_err err = result->error.code;
    d->is_working = 0;
    if (err == KYMO_OK) {
        d->counts.delivered++;
        d->counts.last_ns = realtime_ns;
        d->pause_ns = 0;
        d->next_ns = 0;
        remove_at(d, 0);
        return;
    }
    d->counts.failures++;
    d->counts.reason = result->error;
    d->pause_ns = d->pause_ns == 0 ? KYMO_DELIVER_FIRST_PAUSE_NS : d->pause_ns * 2;
    if (d->pause_ns > KYMO_DELIVER_LONGEST_PAUSE_NS)
        d->pause_ns = KYMO_DELIVER_LONGEST_PAUSE_NS;
    d->next_ns = now_ns + jitter(d->pause_ns);
    say_failed(d, is_for_good(err));
    if (is_for_good(err)) {
        d->counts.dropped++;
        remove_at(d, 0);
    }
}

static void start(struct kymo_deliver *d, uint64_t now_ns)
{
    const struct kymo_delivery *first = &d->waiting.data[0];
    struct kymo_worker_result result = {{.code = KYMO_OK}, {0}};
    const struct kymo_reporter_kind *kind = d->reporter->kind;
    const int fds[] = {first->file->fd, kind->descriptor ? kind->descriptor(d->reporter) : -1};
    kymo_err err = d->workers->start(&d->worker, try_one, d, fds, kind->descriptor ? 2 : 1);
    d->is_working = 1;
    d->started_ns = now_ns;
    if (err != KYMO_OK) {
        kymo_error_set(&result.error, err, 0, "no process for it: %s", kymo_err_text(err));
        took_result(d, &result, now_ns, 0);
    }
}

void kymo_deliver_round(struct kymo_deliver *d, uint64_t now_ns, uint64_t realtime_ns)
{
    struct kymo_worker_result result;
    if (d->is_working && d->workers->has_ended(&d->worker, &result)) {
        took_result(d, &result, now_ns, realtime_ns);
    } else if (d->is_working && !d->reporter->kind->is_patient &&
               now_ns - d->started_ns > KYMO_DELIVER_PATIENCE_NS) {
        d->workers->stop(&d->worker);
        memset(&result, 0, sizeof result);
        kymo_error_set(&result.error, KYMO_E_TIMEOUT, 0, "no answer in a minute");
        took_result(d, &result, now_ns, realtime_ns);
    }
    if (!d->is_working && d->waiting.len > 0 && now_ns >= d->next_ns)
        start(d, now_ns);
}

int kymo_deliver_is_done(const struct kymo_deliver *d)
{
    return d->waiting.len == 0;
}

void kymo_deliver_hurry(struct kymo_deliver *d)
{
    d->next_ns = 0;
}
