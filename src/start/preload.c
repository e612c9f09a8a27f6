/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c - the constructor of libkymo-preload.so and libkymo-preload-alloc.so: from LD_PRELOAD
 * to the first sample.
 *
 *   clean the environment -> attach -> map our own memory -> walker, handler, main thread ->
 * attached
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
#include "start/begin.h"
#include "start/image_name.h"
#include "start/spawn.h"
#include "sys/raw.h"

extern char **environ;

/* Either may be what was preloaded: the child of a program that another recorder records has both.
 */
static const char *const libraries[] = {"libkymo-preload.so", "libkymo-preload-alloc.so"};
#define PRELOAD "LD_PRELOAD"
/* A recorder that does not answer must not hold the program up for ever. */
#define PATIENCE_SECONDS 10

/* Whether the entry of an environment is of this variable. Spelled out, as what follows: each page
 * of libc that a process's start calls into is a page fault more. */
static int is_of(const char *entry, const char *name)
{
    while (*name && *entry == *name) {
        entry++;
        name++;
    }
    return !*name && *entry == '=';
}

/* The variable's value; NULL: there is none. */
static char *find_variable(char **env, const char *name)
{
    for (; env && *env; env++)
        if (is_of(*env, name))
            return *env + strlen(name) + 1;
    return NULL;
}

/* How long the text is up to one of two characters, or its end. */
static size_t length_to(const char *text, char one, char other)
{
    size_t n = 0;
    while (text[n] && text[n] != one && text[n] != other)
        n++;
    return n;
}

/* Takes variable out of the environment: later entries move down, no memory is taken. Returns its
 * text, NULL if there is none: to be wiped once no array has it, since /proc/PID/environ shows the
 * memory that the kernel has put it into. */
static char *drop_variable(char **env, const char *name)
{
    char *text = NULL;
    char **to = env;
    for (char **from = env; *from; from++) {
        if (!is_of(*from, name))
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
        if (!is_of(*env, PRELOAD))
            continue;
        const char *value = *env + sizeof PRELOAD;
        *len = length_to(value, ':', ' ');
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
    char *value = *entry + sizeof PRELOAD;
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

/* KYMO_OPTIONS=agent,...: this process starts its recorder. NULL: name is its socket. */
static const char *start_agent(char **env, char name[KYMO_ATTACH_NAME_MAX + 1])
{
    static kymo_error detail; /* its message is printed */
    char kymo[PATH_MAX];
    int link;
    if (kymo_spawn_find((void *)(uintptr_t)start_agent, kymo) != KYMO_OK)
        return "the program kymo is not beside the library";
    if (kymo_spawn_agent(kymo, NULL, env, -1, &link, &detail) != KYMO_OK)
        return detail.message;
    kymo_err err = kymo_spawn_await(link, name, &detail);
    /* It records this process to its end, and needs to be told nothing. */
    close(link);
    return err == KYMO_OK ? NULL : detail.message;
}

static int wants_agent(void)
{
    const char *options = find_variable(environ, "KYMO_OPTIONS");
    return options && strncmp(options, "agent", 5) == 0 && (options[5] == ',' || !options[5]);
}

static const char *begin_by_agent(char **env, int *complains)
{
    char name[KYMO_ATTACH_NAME_MAX + 1];
    size_t library_len;
    char **preload = find_preload(env, &library_len);
    *complains = 1;
    const char *why = start_agent(env, name);
    if (why)
        return why;
    if (preload)
        kymo_family_init(name, *preload + sizeof PRELOAD, library_len);
    char *ours[] = {clean_preload(env), environ != env ? clean_preload(environ) : NULL};
    wipe(ours[0]);
    wipe(ours[1]);
    const struct kymo_attach_call call = {name, KYMO_ATTACH_EXEC, (int32_t)kymo_raw_getppid(),
                                          PATIENCE_SECONDS, NULL};
    return kymo_begin(&call);
}

/* Takes from the environment what is ours, and begins. NULL: this process is recorded. *complains:
 * the user hears why not. */
static const char *begin_from(char **argv, char **env, int *complains)
{
    char name[KYMO_ATTACH_NAME_MAX + 1] = "";
    char *value = find_variable(environ, KYMO_ATTACH_ENV);
    *complains = 0;
    if (!value)
        return wants_agent() ? begin_by_agent(env, complains) : "no recorder is named";
    size_t len = length_to(value, ',', ',');
    int is_child = strcmp(value + len, KYMO_ATTACH_CHILD) == 0;
    int fits = len > 0 && len < sizeof name && (is_child || value[len] == '\0');
    if (fits)
        memcpy(name, value, len);
    struct kymo_attach_hello hello;
    int is_named = kymo_image_name(argv, env, &hello.name);
    size_t library_len;
    char **preload = find_preload(env, &library_len);
    if (fits && preload)
        kymo_family_init(name, *preload + sizeof PRELOAD, library_len);
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
    const struct kymo_attach_call call = {name, KYMO_ATTACH_EXEC, (int32_t)kymo_raw_getppid(),
                                          PATIENCE_SECONDS, is_named ? &hello : NULL};
    const char *why = fits ? kymo_begin(&call) : "the name of the recorder's socket is broken";
    /* By it the recorder knows us until we have a session (recorder/tree_relatives.c). */
    wipe(attach[0]);
    wipe(attach[1]);
    *complains = !is_child;
    return why;
}

__attribute__((constructor)) static void on_load(int argc, char **argv, char **env)
{
    (void)argc;
    int saved = errno;
    int complains;
    const char *why = begin_from(argv, env, &complains);
    if (why && kymo_alloc_calls)
        kymo_alloc_calls->never_starts();
    else if (kymo_alloc_calls)
        kymo_alloc_calls->loaded(kymo_process_state);
    if (why && complains)
        complain(why);
    errno = saved;
}
