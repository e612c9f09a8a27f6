/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/perf_tasks.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "observe/descriptors.h"
#include "observe/perf_event.h"

int kymo_perf_tasks_open(struct kymo_perf_tasks *t, pid_t tid)
{
    *t = (struct kymo_perf_tasks){
        .fd = kymo_descriptors_keep(kymo_perf_open_tasks(tid), KYMO_DESCRIPTORS_EVENTS)};
    if (t->fd >= 0 &&
        kymo_perf_ring_open(&t->ring, t->fd, (size_t)sysconf(_SC_PAGESIZE)) != KYMO_OK)
        kymo_perf_tasks_close(t);
    return t->fd >= 0;
}

static kymo_err on_record(void *context, const struct kymo_perf_record *record)
{
    struct kymo_perf_tasks_told *told = context;
    uint32_t ids[2]; /* the new process, and the one that it is of */
    told->execs |= record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC;
    told->code |= record->type == PERF_RECORD_MMAP;
    told->is_cut |= record->type == PERF_RECORD_LOST;
    if (record->type != PERF_RECORD_FORK || record->len < sizeof ids)
        return KYMO_OK;
    memcpy(ids, record->bytes, sizeof ids);
    if (ids[0] == ids[1])
        told->threads = 1;
    else if (told->processes < KYMO_PERF_TASKS_TOLD)
        told->process[told->processes++] = (pid_t)ids[0];
    else
        told->is_cut = 1;
    return KYMO_OK;
}

struct kymo_perf_tasks_told kymo_perf_tasks_read(struct kymo_perf_tasks *t)
{
    unsigned char scratch[256];
    struct kymo_perf_tasks_told told = {0};
    const struct kymo_perf_ring_reader reader = {on_record, &told, scratch, sizeof scratch};
    struct pollfd end = {.fd = t->fd};
    (void)!kymo_perf_ring_read(&t->ring, &reader); /* on_record has no errors */
    told.has_ended = poll(&end, 1, 0) == 1 && end.revents & POLLHUP;
    return told;
}

void kymo_perf_tasks_close(struct kymo_perf_tasks *t)
{
    kymo_perf_ring_close(&t->ring);
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}
