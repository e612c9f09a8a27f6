/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/joined.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/reporter_callback.h"
#include "base/str.h"
#include "buffer/agent_link.h"
#include "sys/clock.h"
#include "sys/write_all.h"

static void say(const struct kymo_joined *j, enum kymo_agent_link_what what, kymo_err error,
                const char *text)
{
    struct kymo_agent_link_message m = {
        .magic = KYMO_AGENT_LINK_MAGIC, .what = what, .error = error, .number = (uint64_t)getpid()};
    struct kymo_reporting_counts s = {.intervals = 0};
    if (j->agent)
        kymo_reporting_count(j->agent, &s);
    m.counts = (struct kymo_agent_link_counts){
        .intervals = s.intervals,
        .empty = s.empty,
        .broken = s.broken,
        .lost_records = s.lost_records,
        .delivered = s.delivered,
        .failures = s.failures,
        .dropped = s.dropped,
        .last_delivery_ns = s.last_delivery_ns,
        .agent_cpu_ns = kymo_clock_ns(CLOCK_PROCESS_CPUTIME_ID),
    };
    snprintf(m.text, sizeof m.text, "%s", text ? text : s.reason.message);
    (void)!send(j->link, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- for kymo_launch ---- */

static kymo_err opened(void *context, const char *socket, kymo_error *detail)
{
    (void)detail;
    say(context, KYMO_AGENT_LINK_OPENED, KYMO_OK, socket);
    return KYMO_OK;
}

struct heard {
    struct kymo_agent_link_message message;
    char settings[KYMO_AGENT_LINK_SETTINGS_MAX + 1];
};

static int hear(const struct kymo_joined *j, struct heard *h)
{
    ssize_t n = recv(j->link, h, sizeof *h - 1, MSG_DONTWAIT);
    if (n < (ssize_t)sizeof h->message || h->message.magic != KYMO_AGENT_LINK_MAGIC)
        return 0;
    ((char *)h)[n] = '\0';
    return 1;
}

static int shall_stop(void *context, kymo_launch_change *change, void *change_context)
{
    struct kymo_joined *j = context;
    struct heard h;
    while (!j->is_stopped && hear(j, &h)) {
        kymo_error why = {.code = KYMO_OK};
        if (h.message.what == KYMO_AGENT_LINK_FLUSH)
            kymo_reporting_flush_now(j->agent);
        else if (h.message.what == KYMO_AGENT_LINK_STATUS)
            say(j, KYMO_AGENT_LINK_STATUS, KYMO_OK, NULL);
        else if (h.message.what == KYMO_AGENT_LINK_CHANGE)
            say(j, KYMO_AGENT_LINK_CHANGED,
                kymo_reporting_set(j->agent, h.settings, change, change_context, &why),
                why.message);
        j->is_stopped = h.message.what == KYMO_AGENT_LINK_STOP;
        j->deadline_ns = h.message.number;
    }
    return j->is_stopped;
}

/* ---- the program ---- */

static void read_command(struct kymo_joined *j)
{
    char path[64];
    size_t words = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)j->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, j->text, sizeof j->text - 1) : 0;
    if (fd >= 0)
        close(fd);
    j->text[n > 0 ? n : 0] = '\0';
    for (char *at = j->text; at < j->text + n && words + 1 < sizeof j->argv / sizeof *j->argv;
         at += strlen(at) + 1)
        j->argv[words++] = at;
    if (words == 0)
        j->argv[words++] = j->text;
    j->argv[words] = NULL;
}

/* All but the link, and what reports go by, if they do. */
static void close_others(int link, int reports)
{
    const int low = reports < 0 || link < reports ? link : reports;
    const int high = link > reports ? link : reports;
    if (low > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, (unsigned)low - 1, 0);
    if (high > low + 1)
        (void)close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    (void)close_range((unsigned)high + 1, ~0u, 0);
}

kymo_err kymo_joined_open(struct kymo_joined *j, const char *fd, int has_reports,
                          kymo_error *detail)
{
    uint64_t number;
    struct ucred program = {0};
    socklen_t size = sizeof program;
    if (kymo_parse_u64(fd, strlen(fd), &number) != KYMO_OK || number <= STDERR_FILENO ||
        number > 1024 || getsockopt((int)number, SOL_SOCKET, SO_PEERCRED, &program, &size) != 0 ||
        program.pid <= 0)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "--join is for kymo_agent_start, which gives it a socket");
    j->link = (int)number;
    (void)fcntl(j->link, F_SETFD, FD_CLOEXEC);
    if (has_reports)
        (void)fcntl(KYMO_AGENT_REPORT_FD, F_SETFD, FD_CLOEXEC);
    close_others(j->link, has_reports ? KYMO_AGENT_REPORT_FD : -1);
    j->pid = program.pid;
    read_command(j);
    j->for_launch = (struct kymo_launch_join){j->pid, opened, shall_stop, j};
    return KYMO_OK;
}

void kymo_joined_end(struct kymo_joined *j, const kymo_error *detail)
{
    say(j, KYMO_AGENT_LINK_ENDED, detail->code, detail->code != KYMO_OK ? detail->message : NULL);
    close(j->link);
}
