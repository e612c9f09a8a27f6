/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/past_intervals.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void drop_oldest(struct kymo_past_intervals *past)
{
    close(past->list.data[0].recording.fd);
    past->bytes -= past->list.data[0].recording.bytes;
    past->list.len--;
    memmove(past->list.data, past->list.data + 1, past->list.len * sizeof *past->list.data);
}

void kymo_past_intervals_forget(struct kymo_past_intervals *past, uint64_t since_ns)
{
    while (past->list.len > 0 && past->list.data[0].end_ns <= since_ns)
        drop_oldest(past);
    if (past->list.len == 0 && since_ns == UINT64_MAX)
        kymo_vec_deinit(&past->list);
}

void kymo_past_intervals_keep(struct kymo_past_intervals *past, int fd, uint64_t bytes,
                              uint64_t end_ns, uint64_t since_ns)
{
    struct kymo_past_interval interval = {.recording = {-1, bytes}, .end_ns = end_ns};
    kymo_past_intervals_forget(past, since_ns);
    if (end_ns <= since_ns)
        return;
    while (past->list.len > 0 &&
           (past->list.len >= KYMO_PAST_INTERVALS || past->bytes + bytes > KYMO_PAST_BYTES)) {
        past->gone_ns = past->list.data[0].end_ns;
        drop_oldest(past);
    }
    if (bytes <= KYMO_PAST_BYTES)
        interval.recording.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (interval.recording.fd < 0 || kymo_vec_push(&past->list, interval) != KYMO_OK) {
        if (interval.recording.fd >= 0)
            close(interval.recording.fd);
        past->gone_ns = end_ns;
        return;
    }
    past->bytes += bytes;
}

int kymo_past_intervals_has(const struct kymo_past_intervals *past, uint64_t since_ns)
{
    return past->gone_ns <= since_ns;
}
