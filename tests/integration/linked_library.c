/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linked_library.c - libkymo.so hands over to libkymo-preload.so, and without it takes what has
 * markers itself; nothing is on before an agent is started.
 *
 * Usage: linked_library LIBRARY alone|preloaded (how: see tests/hot.cmake)
 *
 * A binding of another language opens the library by its name, and asks that one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kymo/error.h"
#include "kymo/marker_abi.h"

int main(int argc, char **argv)
{
    struct kymo_mark_category category = {.size = sizeof category, .name = "net"};
    struct kymo_mark_category *const categories[] = {&category};
    struct kymo_mark_link link = {.size = sizeof link,
                                  .abi = KYMO_MARK_ABI,
                                  .categories = categories,
                                  .categories_end = categories + 1};
    kymo_mark_attach_fn *attach;
    if (argc != 3)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, KYMO_MARK_ATTACH) : NULL;
    if (!found) {
        fprintf(stderr, "no library: %s\n", dlerror());
        return 1;
    }
    memcpy(&attach, &found, sizeof attach);
    for (int turn = 0; turn < 2; turn++) {
        int err = attach(&link);
        if (err != KYMO_OK || !link.calls || category.on) {
            fprintf(stderr, "attach: %d, calls %p, on %u\n", err, (const void *)link.calls,
                    category.on);
            return 1;
        }
    }
    link.calls->detach(&link);
    return 0;
}
