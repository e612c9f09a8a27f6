/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_name.h - what names a fresh image of a process, as the process itself knows it.
 *
 * Layer:    start
 * Flow:     what the kernel put on the stack -> [image_name] -> preload.c -> HELLO
 * (buffer/attach.h) Threads:  the one that runs constructors Memory:   none Signals:  not for
 * handlers
 */
#ifndef KYMO_START_IMAGE_NAME_H
#define KYMO_START_IMAGE_NAME_H

#include "capture/connect.h"

/* argv, env: as constructors get them, before anything is taken out of env. Returns 0 where the
 * recorder has to ask the kernel: then *name has no meaning. */
int kymo_image_name(char **argv, char **env, struct kymo_attach_name *name);

#endif
