/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator_name.h - functions that only pass a request for memory on: those of C, C++ and Rust.
 *
 * Layer:    views
 * Flow:     names of functions -> [allocator_name] -> call_tree.c
 * Threads:  any
 * Memory:   none
 * Signals:  not for handlers
 */
#ifndef KYMO_VIEWS_ALLOCATOR_NAME_H
#define KYMO_VIEWS_ALLOCATOR_NAME_H

/* Whether a function of this (demangled) name is one. Reports of memory leave it out, so that its
 * caller stands for what it asked for. */
int kymo_allocator_name(const char *name);

#endif
