/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - opens the folder that a file of ours is to be made in.
 *
 * Layer:    base
 * Threads:  any
 * Memory:   some 9 KiB of stack
 * Signals:  not for handlers
 *
 * Root may name a folder that lies in another user's, who can put a link to anywhere in its place:
 * so root follows a link on the way only where it is root's own, and in a folder where nobody else
 * could have put or moved one. Any other user follows what the kernel follows.
 */
#ifndef KYMO_BASE_FOLDER_H
#define KYMO_BASE_FOLDER_H

/* A descriptor of the folder, by O_PATH; -1 with errno. ELOOP: too many links, or one of another
 * user's, which root does not follow. */
int kymo_folder_open(const char *path);

#endif
