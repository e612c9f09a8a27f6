/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define BACKLOG 16

/* ---- syntax ---- */

static kymo_err refuse(const char *text, kymo_error *detail)
{
    return kymo_error_set(detail, KYMO_E_INVALID, 0,
                          "listen=%.60s: it takes PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH",
                          text);
}

static int parse_port(const char *text, uint16_t *port)
{
    uint64_t number;
    if (kymo_parse_u64(text, strlen(text), &number) != KYMO_OK || number > UINT16_MAX)
        return 0;
    *port = (uint16_t)number;
    return 1;
}

static int set_v4(struct kymo_listen *l, const char *address, uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (strcmp(address, "localhost") == 0)
        address = "127.0.0.1";
    if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
        return 0;
    memcpy(&l->address, &in, sizeof in);
    l->size = sizeof in;
    return 1;
}

static int set_v6(struct kymo_listen *l, const char *address, uint16_t port)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET6, address, &in.sin6_addr) != 1)
        return 0;
    memcpy(&l->address, &in, sizeof in);
    l->size = sizeof in;
    return 1;
}

static kymo_err set_unix(struct kymo_listen *l, const char *path, kymo_error *detail)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    if (path[0] == '\0' || strlen(path) >= sizeof un.sun_path)
        return kymo_error_set(detail, KYMO_E_INVALID, 0,
                              "listen=unix:%.60s: the path has 1 to %zu bytes", path,
                              sizeof un.sun_path - 1);
    strcpy(un.sun_path, path);
    memcpy(&l->address, &un, sizeof un);
    l->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
    return KYMO_OK;
}

kymo_err kymo_listen_parse(struct kymo_listen *out, const char *text, kymo_error *detail)
{
    struct kymo_listen l = {.size = 0};
    char address[64];
    uint16_t port;
    if (kymo_str_starts(text, "unix:")) {
        KYMO_TRY(set_unix(&l, text + 5, detail));
        *out = l;
        return KYMO_OK;
    }
    const char *colon = strrchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (!parse_port(colon ? colon + 1 : text, &port) || len >= sizeof address)
        return refuse(text, detail);
    memcpy(address, text, len);
    address[len] = '\0';
    int is_set;
    if (len > 2 && address[0] == '[' && address[len - 1] == ']') {
        address[len - 1] = '\0';
        is_set = set_v6(&l, address + 1, port);
    } else {
        is_set = set_v4(&l, colon ? address : "127.0.0.1", port);
    }
    if (!is_set)
        return refuse(text, detail);
    *out = l;
    return KYMO_OK;
}

/* ---- what it is ---- */

static void get_v4(const struct kymo_listen *l, struct sockaddr_in *in)
{
    memcpy(in, &l->address, sizeof *in);
}

static void get_v6(const struct kymo_listen *l, struct sockaddr_in6 *in)
{
    memcpy(in, &l->address, sizeof *in);
}

static const char *path_of(const struct kymo_listen *l)
{
    return (const char *)&l->address + offsetof(struct sockaddr_un, sun_path);
}

int kymo_listen_is_local(const struct kymo_listen *l)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    switch (l->address.ss_family) {
    case AF_INET:
        get_v4(l, &v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    case AF_INET6:
        get_v6(l, &v6);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    default:
        return l->address.ss_family == AF_UNIX;
    }
}

const char *kymo_listen_name(const struct kymo_listen *l, char out[KYMO_LISTEN_NAME_MAX])
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    char address[INET6_ADDRSTRLEN] = "";
    switch (l->address.ss_family) {
    case AF_INET:
        get_v4(l, &v4);
        (void)inet_ntop(AF_INET, &v4.sin_addr, address, sizeof address);
        snprintf(out, KYMO_LISTEN_NAME_MAX, "http://%s:%u", address, ntohs(v4.sin_port));
        break;
    case AF_INET6:
        get_v6(l, &v6);
        (void)inet_ntop(AF_INET6, &v6.sin6_addr, address, sizeof address);
        snprintf(out, KYMO_LISTEN_NAME_MAX, "http://[%s]:%u", address, ntohs(v6.sin6_port));
        break;
    default:
        snprintf(out, KYMO_LISTEN_NAME_MAX, "unix:%s", path_of(l));
    }
    return out;
}

/* ---- the socket ---- */

/* A socket of ours that is left of a process which was killed is removed. */
static kymo_err remove_stale(const struct kymo_listen *l, kymo_error *detail)
{
    struct stat st;
    const char *path = path_of(l);
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? KYMO_OK : kymo_error_set_errno(detail, "%s", path);
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return kymo_error_set(detail, KYMO_E_EXISTS, 0,
                              "%s: it exists, and is not a socket of this user", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return kymo_error_set_errno(detail, "%s", path);
    int is_stale =
        connect(fd, (const struct sockaddr *)&l->address, l->size) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!is_stale)
        return kymo_error_set(detail, KYMO_E_EXISTS, 0, "%s: another process listens there", path);
    return unlink(path) == 0 ? KYMO_OK : kymo_error_set_errno(detail, "%s", path);
}

/* bind does not follow a symbolic link, and makes the file with the mask's mode. */
static int bind_unix(struct kymo_listen *l, int fd)
{
    const mode_t before = umask(0177);
    int is_bound = bind(fd, (const struct sockaddr *)&l->address, l->size) == 0;
    int saved = errno;
    (void)umask(before);
    l->has_file |= is_bound;
    errno = saved;
    return is_bound;
}

static int bind_port(struct kymo_listen *l, int fd)
{
    const int on = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, (const struct sockaddr *)&l->address, l->size) == 0 &&
           getsockname(fd, (struct sockaddr *)&l->address, &l->size) == 0;
}

kymo_err kymo_listen_open(struct kymo_listen *l, int *out, kymo_error *detail)
{
    char name[KYMO_LISTEN_NAME_MAX];
    const int family = l->address.ss_family;
    if (family == AF_UNIX)
        KYMO_TRY(remove_stale(l, detail));
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (family == AF_UNIX ? bind_unix(l, fd) : bind_port(l, fd)) &&
        listen(fd, BACKLOG) == 0) {
        *out = fd;
        return KYMO_OK;
    }
    kymo_err err = kymo_error_set_errno(detail, "cannot listen at %s", kymo_listen_name(l, name));
    if (fd >= 0)
        close(fd);
    kymo_listen_remove(l);
    return err;
}

void kymo_listen_remove(struct kymo_listen *l)
{
    if (l->has_file)
        (void)!remove_stale(l, NULL);
    l->has_file = 0;
}
