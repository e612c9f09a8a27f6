/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_patch.h - lets the calls of functions that nobody else may export come to us.
 *
 * Layer:    capture; in libkymo-preload-alloc.so alone
 * Flow:     start, and the program's dlsym -> [alloc_patch] -> alloc_extended.c
 * Threads:  any; one looks, the others go on
 * Memory:   the tables of addresses of the program's modules
 * Signals:  not for handlers
 *
 * A module that calls mallocx has a slot with its address, which the loader fills. Ours is put
 * there where the slot holds, or will be given, what the allocator defines; a weak name that nobody
 * defines stays 0, and a program that asks for one by dlsym has the allocator's own.
 */
#ifndef KYMO_CAPTURE_ALLOC_PATCH_H
#define KYMO_CAPTURE_ALLOC_PATCH_H

/* Looks at what was loaded since the last time; again does no harm, and little work. handle: what
 * dlsym is asked for, of which all is to be known. */
void kymo_alloc_patch(void *handle);

#endif
