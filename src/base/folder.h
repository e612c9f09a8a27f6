/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - opens the folder that a file of ours is to be made in.
 *
 * Layer:    base
 * Threads:  any
 * Memory:   some 9 KiB of stack
 * Signals:  not for handlers
 *
 * Root may name a folder that lies in another user's folder. That user can put a link to anywhere
 * in its place. So root follows a link on the way only if root owns it, and if it lies in a folder
 * where no other user could have put or moved one. Any other user follows what the kernel follows.
 */
#ifndef KYMO_BASE_FOLDER_H
#define KYMO_BASE_FOLDER_H

/* A descriptor of the folder, by O_PATH; -1 with errno. ELOOP: too many links, or one of another
 * user's, which root does not follow. */
int kymo_folder_open(const char *path);

#endif
