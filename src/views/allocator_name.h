/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_name.h - recognizes functions that only forward an allocation request: of C, C++, Rust.
 *
 * Layer:    views
 * Flow:     names of functions -> [allocator_name] -> call_tree.c
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_ALLOCATOR_NAME_H
#define KYMO_VIEWS_ALLOCATOR_NAME_H

/* Whether a function of this (demangled) name is one. Reports of memory omit it, so the
 * allocation counts for its caller. */
int kymo_allocator_name(const char *name);

#endif
