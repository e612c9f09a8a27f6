/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pull_request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "options/options.h"

const struct kymo_pull_path kymo_pull_paths[] = {
    {"/debug/pprof/profile", KYMO_PULL_PROFILE, KYMO_CONTROL_SHOW_CPU, ".pb.gz", "profile",
     "CPU time of the next seconds (?seconds=30)"},
    {"/debug/pprof/wall", KYMO_PULL_PROFILE, KYMO_CONTROL_SHOW_WALL, ".pb.gz", "wall",
     "elapsed time of the next seconds, with --wall"},
    {"/debug/pprof/heap", KYMO_PULL_HEAP, KYMO_CONTROL_SHOW_ALL, ".pb.gz", "heap",
     "live heap, with --alloc"},
    {"/debug/pprof/allocs", KYMO_PULL_PROFILE, KYMO_CONTROL_SHOW_ALLOC, ".pb.gz", "allocs",
     "allocations of the next seconds, with --alloc"},
    {"/debug/pprof/cmdline", KYMO_PULL_CMDLINE, KYMO_CONTROL_SHOW_ALL, NULL, NULL,
     "the program's command line"},
    {"/debug/kymo/jfr", KYMO_PULL_PROFILE, KYMO_CONTROL_SHOW_ALL, ".jfr", "profile.jfr",
     "all of the next seconds, for readers of JFR"},
    {"/debug/kymo/firefox", KYMO_PULL_PROFILE, KYMO_CONTROL_SHOW_ALL, ".json.gz", "profile.json.gz",
     "all of the next seconds, for profiler.firefox.com"},
    {"/debug/kymo/status", KYMO_PULL_STATUS, KYMO_CONTROL_SHOW_ALL, NULL, NULL,
     "the agent's state as JSON"},
    {"/metrics", KYMO_PULL_METRICS, KYMO_CONTROL_SHOW_ALL, NULL, NULL,
     "figures of program and agent, for Prometheus"},
    {"/debug/pprof/", KYMO_PULL_INDEX, KYMO_CONTROL_SHOW_ALL, NULL, NULL, "this list"},
    {NULL, KYMO_PULL_UNKNOWN, KYMO_CONTROL_SHOW_ALL, NULL, NULL, NULL},
};

const struct kymo_pull_path *kymo_pull_find(const char *path)
{
    const struct kymo_pull_path *row = kymo_pull_paths;
    while (row->path && strcmp(row->path, path) != 0)
        row++;
    return row;
}

kymo_err kymo_pull_parse_seconds(const char *text, uint64_t *duration_ns)
{
    char with_unit[32];
    uint64_t ns = 0;
    if (text && text[0]) {
        int len = snprintf(with_unit, sizeof with_unit, "%ss", text);
        if (len < 0 || (size_t)len >= sizeof with_unit ||
            text[strspn(text, "0123456789.")] != '\0' ||
            kymo_parse_time(with_unit, (size_t)len, &ns) != KYMO_OK ||
            ns > KYMO_CONTROL_DURATION_MAX_NS)
            return KYMO_E_INVALID;
    }
    *duration_ns = ns ? ns : KYMO_PULL_SECONDS * 1000000000ull;
    return KYMO_OK;
}

int kymo_pull_host_is_local(const char *host)
{
    char name[64];
    struct in6_addr address;
    if (!host || !host[0])
        return 1;
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    const char *begin = host + (host[0] == '[');
    size_t len = end ? (size_t)(end - begin) : strlen(begin);
    if (len >= sizeof name)
        return 0;
    memcpy(name, begin, len);
    name[len] = '\0';
    return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, &address) == 1 ||
           (host[0] == '[' && inet_pton(AF_INET6, name, &address) == 1);
}

/* ---- tokens ---- */

kymo_err kymo_pull_read_token(const char *path, char out[KYMO_PULL_TOKEN_MAX], kymo_error *detail)
{
    char text[KYMO_PULL_TOKEN_MAX + 2];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return kymo_error_set_errno(detail, "listen-token=%s", path);
    ssize_t len;
    do
        len = read(fd, text, sizeof text - 1);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        (void)kymo_error_set_errno(detail, "listen-token=%s", path);
    close(fd);
    if (len < 0)
        return KYMO_E_IO;
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    int is_plain = len >= (ssize_t)KYMO_PULL_TOKEN_LEAST && len < (ssize_t)KYMO_PULL_TOKEN_MAX;
    for (ssize_t i = 0; i < len; i++)
        is_plain = is_plain && text[i] > ' ' && text[i] < 0x7f;
    if (!is_plain)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "listen-token=%s: the file has one line of %u to %u printable "
                              "characters without blanks",
                              path, KYMO_PULL_TOKEN_LEAST, KYMO_PULL_TOKEN_MAX - 1);
    memcpy(out, text, (size_t)len);
    out[len] = '\0';
    return KYMO_OK;
}

int kymo_pull_may(const char *authorization, const char *token)
{
    static const char scheme[] = "Bearer ";
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return 0;
    const char *given = authorization + sizeof scheme - 1;
    const size_t given_len = strlen(given);
    const size_t len = strlen(token);
    volatile unsigned char differs = given_len != len;
    for (size_t i = 0; i < given_len; i++)
        differs = (unsigned char)(differs | ((unsigned char)given[i] ^
                                             (unsigned char)token[i < len ? i : len]));
    return !differs;
}
