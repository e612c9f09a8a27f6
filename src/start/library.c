/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - libkymo.so: what a program that is linked with Kymo brings along.
 *
 * A program's markers find whatever library is in the process when they are loaded. Under `kymo
 * record` that is libkymo-preload.so, which comes first and records. Some markers find this library
 * all the same, such as bindings of other languages, which open libkymo.so by its name. This
 * library then hands them over to libkymo-preload.so. Alone it records nothing, and the markers
 * stay off.
 */
#include <dlfcn.h>
#include <stddef.h>

#include "kymo/error.h"
#include "kymo/marker_abi.h"

__attribute__((visibility("default"))) kymo_mark_attach_fn kymo_mark_attach;

/* Ours, whatever library the name of the exported one is bound to. */
static int attach(struct kymo_mark_link *link);

int kymo_mark_attach(struct kymo_mark_link *link)
{
    return attach(link);
}

static int attach(struct kymo_mark_link *link)
{
    static __thread int is_asking __attribute__((tls_model("initial-exec")));
    kymo_mark_attach_fn *first;
    *(void **)(void *)&first = dlsym(RTLD_DEFAULT, KYMO_MARK_ATTACH);
    /* What is found may be this library itself, or another copy of it that asks us. */
    if (!first)
        (void)dlerror(); /* so that the program does not find it */
    if (!first || is_asking)
        return KYMO_E_CLOSED;
    is_asking = 1;
    int err = first(link);
    is_asking = 0;
    return err;
}
