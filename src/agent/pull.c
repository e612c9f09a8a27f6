/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pull.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/log.h"

static void start(struct kymo_pull *p, uint64_t now_ns)
{
    p->work.recorder = getpid();
    kymo_err err = p->workers->start(&p->worker, kymo_pull_serve, &p->work, &p->work.listener, 1);
    p->is_running = err == KYMO_OK;
    p->starts += err == KYMO_OK;
    p->started_ns = now_ns;
    p->next_ns = now_ns + p->pause_ns;
    p->pause_ns =
        p->pause_ns * 2 < KYMO_PULL_LONGEST_PAUSE_NS ? p->pause_ns * 2 : KYMO_PULL_LONGEST_PAUSE_NS;
    if (err != KYMO_OK)
        kymo_warn("no process for the server at %s: %s", p->name, kymo_err_text(err));
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

kymo_err kymo_pull_open(struct kymo_pull *p, const struct kymo_agent_settings *settings,
                        char *const *argv, const struct kymo_deliver_workers *workers,
                        uint64_t now_ns, kymo_error *detail)
{
    memset(p, 0, sizeof *p);
    if (settings->listen.address.ss_family == AF_UNSPEC)
        return KYMO_OK;
    p->listen = settings->listen;
    p->workers = workers;
    p->pause_ns = KYMO_PULL_FIRST_PAUSE_NS;
    void *page =
        mmap(NULL, sizeof *p->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return kymo_error_set_errno(detail, "no memory for the server");
    kymo_err err = kymo_listen_open(&p->listen, &p->work.listener, detail);
    if (err != KYMO_OK) {
        munmap(page, sizeof *p->page);
        return err;
    }
    p->page = page;
    (void)kymo_listen_name(&p->listen, p->name);
    p->work.settings = settings;
    p->work.page = p->page;
    p->work.name = p->name;
    p->work.argv = argv;
    p->work.executable = last_part(argv[0]);
    start(p, now_ns);
    return KYMO_OK;
}

/* A server that ran for a while is started again at once. */
static void look(struct kymo_pull *p, uint64_t now_ns)
{
    struct kymo_worker_result result = {.error = {.code = KYMO_OK}};
    if (!p->is_running || !p->workers->has_ended(&p->worker, &result))
        return;
    p->is_running = 0;
    if (kymo_load_relaxed(&p->page->is_ending))
        return;
    kymo_warn("the server at %s ended, and is started again: %s", p->name,
              result.error.code != KYMO_OK ? result.error.message : "it should not have");
    if (now_ns - p->started_ns >= KYMO_PULL_LONGEST_PAUSE_NS) {
        p->pause_ns = KYMO_PULL_FIRST_PAUSE_NS;
        p->next_ns = now_ns;
    }
}

void kymo_pull_round(struct kymo_pull *p, const struct kymo_pull_figures *figures, uint64_t now_ns)
{
    if (!p->page)
        return;
    struct kymo_pull_figures with_starts = *figures;
    with_starts.server_starts = p->starts;
    kymo_pull_page_write(p->page, &with_starts);
    look(p, now_ns);
    if (!p->is_running && now_ns >= p->next_ns && !kymo_load_relaxed(&p->page->is_ending))
        start(p, now_ns);
}

int kymo_pull_end(struct kymo_pull *p)
{
    if (!p->page)
        return 1;
    kymo_store_relaxed(&p->page->is_ending, 1u);
    look(p, 0);
    return !p->is_running;
}

void kymo_pull_close(struct kymo_pull *p)
{
    if (!p->page)
        return;
    if (p->is_running)
        p->workers->stop(&p->worker);
    close(p->work.listener);
    kymo_listen_remove(&p->listen);
    munmap(p->page, sizeof *p->page);
    p->page = NULL;
}
