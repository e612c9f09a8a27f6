/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - libkymo.so: what a program that is linked with Kymo brings along.
 *
 * A program's markers and tracers find whatever library is in the process when they are loaded.
 * Under `kymo record` that is libkymo-preload.so, which comes first and records. Some find this
 * library all the same, such as bindings of other languages, which open libkymo.so by its name.
 * This library then hands them over to libkymo-preload.so. Alone it keeps them: they are recorded
 * from kymo_agent_start on.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "capture/mark.h"
#include "capture/trace.h"
#include "kymo/error.h"
#include "kymo/marker_abi.h"
#include "kymo/trace_abi.h"
#include "start/begin.h"

/* Whether this thread looks for the library that comes first. What is found may be this library
 * itself, or another copy of it that asks us. */
static __thread int is_asking __attribute__((tls_model("initial-exec")));

/* The function of the library that comes first; NULL: that is this one. */
static void *find_first(const char *name)
{
    void *found = is_asking ? NULL : dlsym(RTLD_DEFAULT, name);
    if (!found)
        (void)dlerror(); /* so that the program does not find it */
    return found;
}

__attribute__((visibility("default"))) kymo_mark_attach_fn kymo_mark_attach;

int kymo_mark_attach(struct kymo_mark_link *link)
{
    kymo_mark_attach_fn *first;
    *(void **)(void *)&first = find_first(KYMO_MARK_ATTACH);
    if (!first) {
        kymo_has_callers();
        return kymo_mark_links_attach(link);
    }
    is_asking = 1;
    int err = first(link);
    is_asking = 0;
    return err;
}

__attribute__((visibility("default"))) kymo_trace_attach_fn kymo_trace_attach;

const struct kymo_trace_calls *kymo_trace_attach(uint32_t abi)
{
    kymo_trace_attach_fn *first;
    *(void **)(void *)&first = find_first(KYMO_TRACE_ATTACH);
    if (!first) {
        kymo_has_callers();
        return kymo_trace_begin(abi);
    }
    is_asking = 1;
    const struct kymo_trace_calls *calls = first(abi);
    is_asking = 0;
    return calls;
}
