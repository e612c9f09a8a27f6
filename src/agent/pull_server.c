/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pull_server.c - the HTTP server of an agent, in a process of its own.
 *
 *   request -> who asks, and for what (pull_request.h) -> a text (pull_text.h)
 *                                                      -> a file, from the recorder (control.h)
 *
 * libmicrohttpd has a thread for each connection, at most CONNECTIONS_MAX of them. So a handler may
 * wait for the recorder. One file is made at a time: others are refused at once. While it waits, a
 * handler looks whether its client is still there, and if not, it hangs up on the recorder, which
 * then forgets the request. A client that sends or takes nothing for IDLE_SECONDS is cut off.
 */
#include "agent/pull.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/pull_request.h"
#include "agent/pull_text.h"
#include "base/atomic.h"
#include "control/control.h"
#include "sys/clock.h"

#define CONNECTIONS_MAX 24u
#define CONNECTION_BYTES 16384u /* for the headers of a request */
#define STACK_BYTES (512u << 10)
#define IDLE_SECONDS 15u
#define LOOK_MS 20
#define TEXT_TYPE "text/plain; charset=utf-8"

struct server {
    const struct kymo_pull_work *work;
    uint32_t active; /* requests */
    uint64_t busy_until_ns;
};

/* ---- the library, which no other part of Kymo needs ---- */

#define LIBRARY "libmicrohttpd.so.12"
#define FUNCTIONS(X)               \
    X(start_daemon)                \
    X(create_response_from_buffer) \
    X(create_response_from_fd)     \
    X(add_response_header)         \
    X(queue_response)              \
    X(destroy_response)            \
    X(lookup_connection_value)     \
    X(get_connection_info)         \
    X(set_connection_option)

static struct {
#define X(name) __typeof__(&MHD_##name) name;
    FUNCTIONS(X)
#undef X
} mhd;

static int load_function(void *library, const char *name, void *place)
{
    void *function = dlsym(library, name);
    memcpy(place, &function, sizeof function);
    return function != NULL;
}

static int load_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int is_loaded = library != NULL;
#define X(name) is_loaded = is_loaded && load_function(library, "MHD_" #name, &mhd.name);
    FUNCTIONS(X)
#undef X
    return is_loaded;
}

/* In a process of its own: the agent is to be small, and the library brings ten others. */
kymo_err kymo_pull_check(kymo_error *detail)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(!load_library());
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? KYMO_OK
                       : kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                                        "--listen needs " LIBRARY ", which cannot be loaded");
}

/* ---- answers ---- */

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    (void)!mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    enum MHD_Result result = mhd.queue_response(connection, status, response);
    mhd.destroy_response(response);
    return result;
}

static struct MHD_Response *text_response(const char *type, const char *text, size_t len)
{
    struct MHD_Response *response =
        mhd.create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response)
        (void)!mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return response;
}

/* As Go's serveError: pprof knows by the header that the text is for people. header may be NULL. */
static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *header,
                           const char *value, const char *text)
{
    kymo_str line = {0};
    kymo_str_printf(&line, "%s\n", text);
    struct MHD_Response *response = text_response(TEXT_TYPE, kymo_str_cstr(&line), line.len);
    kymo_str_deinit(&line);
    if (response) {
        (void)!mhd.add_response_header(response, "X-Go-Pprof", "1");
        if (header)
            (void)!mhd.add_response_header(response, header, value);
    }
    return send_response(connection, status, response);
}

static enum MHD_Result send_text(struct MHD_Connection *connection, const char *type,
                                 kymo_str *text)
{
    struct MHD_Response *response =
        text->failed ? NULL : text_response(type, kymo_str_cstr(text), text->len);
    kymo_str_deinit(text);
    return send_response(connection, MHD_HTTP_OK, response);
}

static enum MHD_Result send_file(struct MHD_Connection *connection,
                                 const struct kymo_pull_path *path, int file)
{
    char disposition[64];
    struct stat st;
    struct MHD_Response *response =
        fstat(file, &st) == 0 ? mhd.create_response_from_fd((size_t)st.st_size, file) : NULL;
    if (!response) {
        close(file);
        return MHD_NO;
    }
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", path->filename);
    (void)!mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                   "application/octet-stream");
    (void)!mhd.add_response_header(response, "Content-Disposition", disposition);
    return send_response(connection, MHD_HTTP_OK, response);
}

/* ---- files ---- */

static int client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Whether the answer has come; 0: the client has gone. */
static int wait_for_answer(int recorder, int client)
{
    struct pollfd fds[] = {{.fd = recorder, .events = POLLIN}, {.fd = client, .events = POLLRDHUP}};
    for (;;) {
        int n = poll(fds, 2, -1);
        if (n < 0 && errno != EINTR)
            return 1;
        if (n > 0 && fds[0].revents)
            return 1;
        if (n > 0 && fds[1].revents)
            return 0;
    }
}

static enum MHD_Result say_failed(struct MHD_Connection *connection, kymo_err err,
                                  const kymo_error *detail)
{
    switch (err) {
    case KYMO_E_UNSUPPORTED:
        return say(connection, MHD_HTTP_NOT_FOUND, NULL, NULL, detail->message);
    case KYMO_E_FULL:
    case KYMO_E_NOT_FOUND:
    case KYMO_E_PERMISSION:
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1", detail->message);
    default:
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, NULL, detail->message);
    }
}

/* While we wait, the connection's time does not run; from its end on it begins anew. */
static void stop_clock(struct MHD_Connection *connection, int stops)
{
    (void)!mhd.set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
                                     stops ? 0u : IDLE_SECONDS);
}

static enum MHD_Result make_file(const struct server *server, struct MHD_Connection *connection,
                                 const struct kymo_pull_path *path, uint64_t duration_ns)
{
    struct kymo_control_request request = {.pid = server->work->recorder};
    struct kymo_control_answer answer;
    kymo_error detail = {0};
    int file = -1;
    request.what = path->kind == KYMO_PULL_HEAP ? KYMO_CONTROL_HEAP : KYMO_CONTROL_PROFILE;
    request.duration_ns = path->kind == KYMO_PULL_HEAP ? 0 : duration_ns;
    request.show = path->show;
    strcpy(request.format, path->format);
    int recorder = kymo_control_begin(request.pid, &request, &detail);
    if (recorder < 0)
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, NULL, "the program has ended");
    stop_clock(connection, 1);
    int has_come = wait_for_answer(recorder, client_of(connection));
    stop_clock(connection, 0);
    if (!has_come) {
        close(recorder);
        return MHD_NO;
    }
    kymo_err err = kymo_control_end(recorder, &request, &answer, &file, &detail);
    return err == KYMO_OK ? send_file(connection, path, file)
                          : say_failed(connection, err, &detail);
}

static enum MHD_Result say_busy(const struct server *server, struct MHD_Connection *connection,
                                const struct kymo_pull_path *path)
{
    const uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    const uint64_t until_ns = kymo_load_relaxed(&server->busy_until_ns);
    char seconds[24];
    if (path->kind == KYMO_PULL_PROFILE && path->show == KYMO_CONTROL_SHOW_CPU)
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, NULL, NULL,
                   "Could not enable CPU profiling: cpu profiling already in use");
    snprintf(seconds, sizeof seconds, "%" PRIu64,
             until_ns > now_ns ? (until_ns - now_ns) / 1000000000 + 1 : 1);
    return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", seconds,
               "another profile is being made: ask again");
}

static enum MHD_Result answer_file(struct server *server, struct MHD_Connection *connection,
                                   const struct kymo_pull_path *path)
{
    const char *seconds = mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "seconds");
    uint64_t duration_ns = 0;
    if (path->kind == KYMO_PULL_HEAP && seconds)
        return say(connection, MHD_HTTP_BAD_REQUEST, NULL, NULL,
                   "\"seconds\" parameter is not supported for this profile type");
    if (kymo_pull_parse_seconds(seconds, &duration_ns) != KYMO_OK)
        return say(connection, MHD_HTTP_BAD_REQUEST, NULL, NULL,
                   "seconds= takes a number of seconds, up to 3600");
    if (kymo_exchange_acq_rel(&server->work->page->is_busy, 1u))
        return say_busy(server, connection, path);
    kymo_store_relaxed(&server->busy_until_ns,
                       kymo_clock_ns(CLOCK_MONOTONIC) +
                           (path->kind == KYMO_PULL_HEAP ? 0 : duration_ns));
    enum MHD_Result result = make_file(server, connection, path, duration_ns);
    kymo_store_release(&server->work->page->is_busy, 0u); /* pairs with the exchange */
    return result;
}

/* The same as `kymo control status`: the recorder writes it. */
static enum MHD_Result answer_status(const struct server *server, struct MHD_Connection *connection)
{
    const struct kymo_control_request request = {.what = KYMO_CONTROL_STATUS,
                                                 .pid = server->work->recorder};
    struct kymo_control_answer answer;
    kymo_error detail = {0};
    char block[4096];
    kymo_str text = {0};
    int file = -1;
    kymo_err err = kymo_control_ask(request.pid, &request, &answer, &file, &detail);
    if (err == KYMO_E_NOT_FOUND)
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "Retry-After", "1",
                   "the recorder has not begun, or has ended");
    if (err != KYMO_OK)
        return say_failed(connection, err, &detail);
    for (ssize_t n; (n = read(file, block, sizeof block)) > 0;)
        kymo_str_append(&text, block, (size_t)n);
    close(file);
    return send_text(connection, "application/json", &text);
}

/* ---- requests ---- */

static enum MHD_Result answer(struct server *server, struct MHD_Connection *connection,
                              const char *url)
{
    const struct kymo_pull_path *path = kymo_pull_find(url);
    struct kymo_pull_figures figures;
    kymo_str text = {0};
    kymo_pull_page_read(server->work->page, &figures);
    switch (path->kind) {
    case KYMO_PULL_HEAP:
    case KYMO_PULL_PROFILE:
        return answer_file(server, connection, path);
    case KYMO_PULL_STATUS:
        return answer_status(server, connection);
    case KYMO_PULL_METRICS:
        kymo_pull_write_metrics(&text, server->work, &figures);
        return send_text(connection, "text/plain; version=0.0.4; charset=utf-8", &text);
    case KYMO_PULL_INDEX:
        kymo_pull_write_index(&text, server->work);
        return send_text(connection, TEXT_TYPE, &text);
    case KYMO_PULL_CMDLINE:
        kymo_pull_write_cmdline(&text, server->work, &figures);
        return send_text(connection, TEXT_TYPE, &text);
    case KYMO_PULL_UNKNOWN:
        break;
    }
    return say(connection, MHD_HTTP_NOT_FOUND, NULL, NULL,
               "Unknown profile: /debug/pprof/ has a list");
}

static enum MHD_Result check(const struct server *server, struct MHD_Connection *connection,
                             const char *method, int *is_refused)
{
    const struct kymo_agent_settings *settings = server->work->settings;
    const char *authorization =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *host =
        mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    *is_refused = 1;
    if (settings->token[0] && !kymo_pull_may(authorization, settings->token))
        return say(connection, MHD_HTTP_UNAUTHORIZED, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer",
                   "this needs the token of --listen-token");
    /* Without a token, a web page must not reach us by a name that its owner points here. */
    if (!settings->token[0] && settings->listen.address.ss_family != AF_UNIX &&
        !kymo_pull_host_is_local(host))
        return say(connection, MHD_HTTP_FORBIDDEN, NULL, NULL,
                   "ask by an address or localhost, or set --listen-token");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, MHD_HTTP_HEADER_ALLOW, "GET",
                   "GET is all that is served");
    *is_refused = 0;
    return MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **state)
{
    struct server *server = context;
    int is_refused;
    (void)version;
    (void)upload;
    if (!*state) {
        *state = server;
        (void)kymo_add_acq_rel(&server->active, 1u);
        /* An answer to the headers alone ends the connection, so nothing that is sent is read. */
        enum MHD_Result result = check(server, connection, method, &is_refused);
        return is_refused ? result : MHD_YES;
    }
    if (*upload_bytes)
        return MHD_NO;
    return answer(server, connection, url);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct server *server = context;
    (void)connection;
    (void)why;
    if (*state)
        (void)kymo_add_acq_rel(&server->active, ~0u);
    *state = NULL;
}

/* ---- the process ---- */

static void pause_ms(unsigned ms)
{
    const struct timespec time = {0, (long)ms * 1000000};
    (void)nanosleep(&time, NULL);
}

/* One that is killed with the agent, and is not killed by a client that goes. */
static int begin_process(const struct kymo_pull_work *work)
{
    signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, "kymo-http");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == work->recorder;
}

kymo_err kymo_pull_serve(void *context, struct kymo_worker_result *result)
{
    const struct kymo_pull_work *work = context;
    struct server server = {.work = work};
    if (!begin_process(work))
        return KYMO_E_CLOSED;
    /* Of one that was ended while it made a profile. */
    kymo_store_relaxed(&work->page->is_busy, 0u);
    if (!load_library())
        return kymo_error_set(&result->error, KYMO_E_UNSUPPORTED, 0, LIBRARY " cannot be loaded");
    struct MHD_Daemon *daemon = mhd.start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL |
            MHD_USE_ITC,
        0, NULL, NULL, on_request, &server, MHD_OPTION_LISTEN_SOCKET, work->listener,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, &server, MHD_OPTION_CONNECTION_LIMIT,
        CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)STACK_BYTES, MHD_OPTION_END);
    if (!daemon)
        return kymo_error_set(&result->error, KYMO_E_IO, 0, "the HTTP server does not start");
    while (!kymo_load_relaxed(&work->page->is_ending) || kymo_load_acquire(&server.active))
        pause_ms(LOOK_MS);
    /* Threads of clients that stall are not waited for: the process ends. */
    return KYMO_OK;
}
