/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - the constructor of libkymo-preload.so and libkymo-preload-alloc.so: from LD_PRELOAD
 * to the first sample.
 *
 *   clean the environment -> attach -> map our own memory -> walker, handler, main thread -> GO
 *
 * The environment is cleaned first, in place: a child that the program starts later is to run as
 * if we were not there. Whatever fails, the program runs on without us. The program that was
 * launched hears of it in one line on standard error; what it starts hears nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "buffer/attach.h"
#include "capture/alloc.h"
#include "capture/connect.h"
#include "capture/family.h"
#include "capture/fork_child.h"
#include "capture/hooks.h"
#include "capture/mark.h"
#include "capture/process.h"
#include "capture/signal_move.h"
#include "capture/state.h"
#include "capture/thread.h"
#include "capture/trace.h"
#include "sys/own_maps.h"

extern char **environ;

/* Either may be what was preloaded: the child of a program that another recorder records has both.
 */
static const char *const libraries[] = {"libkymo-preload.so", "libkymo-preload-alloc.so"};
#define PRELOAD "LD_PRELOAD="
/* A recorder that does not answer must not hold the program up for ever. */
#define PATIENCE_SECONDS 10
#define PAGE_BYTES 4096u
#define ARGUMENTS_MAX (8u << 20)    /* more than the kernel takes, and what is below them */
#define MAIN_STACK_MAX (1ull << 30) /* a stack of unlimited size is looked at that far down */

/* Takes variable out of the environment: later entries move down, no memory is taken. Returns its
 * text, NULL if there is none: to be wiped once no array has it, since /proc/PID/environ shows the
 * memory that the kernel has put it into. */
static char *drop_variable(char **env, const char *name)
{
    size_t len = strlen(name);
    char *text = NULL;
    char **to = env;
    for (char **from = env; *from; from++) {
        if (strncmp(*from, name, len) != 0 || (*from)[len] != '=')
            *to++ = *from;
        else
            text = *from;
    }
    *to = NULL;
    return text;
}

static void wipe(char *text)
{
    if (text)
        memset(text, 0, strlen(text));
}

static int is_ours(const char *path, size_t len)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        size_t ours = strlen(libraries[i]);
        if (len >= ours && memcmp(path + len - ours, libraries[i], ours) == 0)
            return 1;
    }
    return 0;
}

/* The LD_PRELOAD whose first entry is our library; NULL if there is none. *len is that entry's. */
static char **find_preload(char **env, size_t *len)
{
    for (; *env; env++) {
        if (strncmp(*env, PRELOAD, sizeof PRELOAD - 1) != 0)
            continue;
        const char *value = *env + sizeof PRELOAD - 1;
        *len = strcspn(value, ": ");
        if (is_ours(value, *len))
            return env;
    }
    return NULL;
}

/* Takes our library out of LD_PRELOAD, and leaves the program's own entries. Returns the text if
 * none are left, as drop_variable does. */
static char *clean_preload(char **env)
{
    size_t len;
    char **entry = find_preload(env, &len);
    if (!entry)
        return NULL;
    char *text = *entry;
    char *value = *entry + sizeof PRELOAD - 1;
    if (value[len] != '\0') {
        size_t rest = strlen(value + len + 1);
        memmove(value, value + len + 1, rest);
        memset(value + rest, 0, len + 1);
        return NULL;
    }
    for (; *entry; entry++)
        entry[0] = entry[1];
    return text;
}

static void complain(const char *why)
{
    static const char head[] = "kymo: this process is not recorded: ";
    char line[256];
    size_t n = sizeof head - 1;
    memcpy(line, head, n);
    size_t len = strlen(why);
    if (len > sizeof line - n - 1)
        len = sizeof line - n - 1;
    memcpy(line + n, why, len);
    n += len;
    line[n++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, n);
    (void)ignored;
}

/* Where the mapping that holds an address ends; 0: there is no /proc. */
static uint64_t mapping_end(uint64_t address)
{
    struct kymo_own_maps maps;
    uint64_t lo, hi, end = 0;
    if (!kymo_own_maps_open(&maps))
        return 0;
    while (!end && kymo_own_maps_next(&maps, &lo, &hi))
        if (lo <= address && address < hi)
            end = hi;
    kymo_own_maps_close(&maps);
    return end;
}

/* The bounds of the main thread's stack, down to where it may grow. The kernel puts the program's
 * path at its upper end (AT_EXECFN), so it ends with that text's page. Reading /proc/self/maps
 * instead takes 50 us, a tenth of what a process that ends at once may cost. */
static struct kymo_stack_bounds main_stack(void)
{
    struct rlimit limit;
    uint64_t here = (uint64_t)(uintptr_t)&limit;
    uint64_t size = 8u << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0)
        size = limit.rlim_cur < MAIN_STACK_MAX ? limit.rlim_cur : MAIN_STACK_MAX;
    const char *path = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    uint64_t last = path ? (uint64_t)(uintptr_t)path + strlen(path) : 0;
    uint64_t end = (last | (PAGE_BYTES - 1)) + 1;
    /* Another kernel, or what runs programs of other machines, may lay it out differently. */
    if (last < here || last - here > ARGUMENTS_MAX)
        end = mapping_end(here);
    if (!end)
        return (struct kymo_stack_bounds){0, 0};
    /* A limit that was lowered before the exec may be less than the arguments take. */
    uint64_t top = end - here < size ? end : here;
    return (struct kymo_stack_bounds){top > size ? top - size : 0, end};
}

static const char *begin_recording(const char *name)
{
    const char *why;
    struct kymo_attachment a = {.socket = -1};
    struct kymo_attach_call call = {name, KYMO_ATTACH_EXEC, (int32_t)getppid(), PATIENCE_SECONDS};
    if (!kymo_reals_init() || !kymo_seccomp_hooks_init() || !kymo_hooks_init() || !kymo_fork_init())
        return "a function of libc that Kymo needs was not found";
    if (kymo_attach(&call, &a, &why) != KYMO_OK)
        return why;
    struct kymo_capture_process *p = kymo_process_map(&a);
    if (!p) {
        kymo_attach_undo(&a);
        return "no address space for Kymo's own tables";
    }
    kymo_process_take(p, &a);
    kymo_fork_remember(p);
    if (!kymo_signal_start(p)) {
        p->session = NULL;
        kymo_attach_undo(&a);
        return "the handler could not be installed";
    }
    /* Pairs with the acquire in kymo_capturing: everything above is in place. */
    kymo_store_release(&kymo_process_state, p);
    struct kymo_capture_thread *t = kymo_thread_claim(p);
    if (t) {
        kymo_hooks_watch_exit(t);
        kymo_thread_begin(p, t, main_stack(), KYMO_SLOT_MAIN);
    }
    kymo_mark_links_start();
    kymo_family_join(a.session);
    kymo_store_release(&a.session->attached, 1u);
    kymo_attach_finish(a.socket, PATIENCE_SECONDS);
    /* The recorder may have changed the list meanwhile, when it could not signal us yet. */
    kymo_mark_links_look();
    return NULL;
}

KYMO_HOOK kymo_mark_attach_fn kymo_mark_attach;

/* Found by whatever in this process has markers, also before our own constructor ran. */
int kymo_mark_attach(struct kymo_mark_link *link)
{
    return kymo_mark_links_attach(link);
}

KYMO_HOOK kymo_trace_attach_fn kymo_trace_attach;

/* Found by tracers in this process. */
const struct kymo_trace_calls *kymo_trace_attach(uint32_t abi)
{
    return kymo_trace_begin(abi);
}

/* Takes from the environment what is ours, and begins. NULL: this process is recorded. *complains:
 * the user hears why not. */
static const char *begin_from(char **env, int *complains)
{
    char name[KYMO_ATTACH_NAME_MAX + 1] = "";
    char *value = getenv(KYMO_ATTACH_ENV);
    *complains = 0;
    if (!value)
        return "no recorder is named";
    size_t len = strcspn(value, ",");
    int is_child = strcmp(value + len, KYMO_ATTACH_CHILD) == 0;
    int fits = len > 0 && len < sizeof name && (is_child || value[len] == '\0');
    if (fits)
        memcpy(name, value, len);
    size_t library_len;
    char **preload = find_preload(env, &library_len);
    if (fits && preload)
        kymo_family_init(name, *preload + sizeof PRELOAD - 1, library_len);
    /* A constructor that ran before this one may have called setenv: then there are two arrays,
     * mostly of the same texts. */
    char *attach[] = {drop_variable(env, KYMO_ATTACH_ENV), NULL};
    char *ours[] = {clean_preload(env), NULL};
    if (environ != env) {
        attach[1] = drop_variable(environ, KYMO_ATTACH_ENV);
        ours[1] = clean_preload(environ);
    }
    wipe(ours[0]);
    wipe(ours[1]);
    const char *why = fits ? begin_recording(name) : "the name of the recorder's socket is broken";
    /* By it the recorder knows us until we have a session (recorder/tree_relatives.c). */
    wipe(attach[0]);
    wipe(attach[1]);
    *complains = !is_child;
    return why;
}

__attribute__((constructor)) static void on_load(int argc, char **argv, char **env)
{
    (void)argc;
    (void)argv;
    int saved = errno;
    int complains;
    const char *why = begin_from(env, &complains);
    if (why && kymo_alloc_calls)
        kymo_alloc_calls->never_starts();
    else if (kymo_alloc_calls)
        kymo_alloc_calls->loaded(kymo_process_state);
    if (why && complains)
        complain(why);
    errno = saved;
}
