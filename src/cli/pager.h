/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager.h - shows long output on a terminal page by page.
 *
 * Layer:    cli
 * Flow:     a command's output -> [pager] -> terminal
 * Threads:  the only one
 * Memory:   none
 * Signals:  not for handlers; SIGPIPE ends us quietly when the pager was left early
 */
#ifndef KYMO_CLI_PAGER_H
#define KYMO_CLI_PAGER_H

/* If standard output is a terminal, it goes through KYMO_PAGER, else PAGER, else less from here on,
 * and kymo_terminal_of knows the terminal's width and colours all the same. An empty one, or cat,
 * stands for none, and so does one that is not installed. Does nothing where no pager can be
 * started. */
void kymo_pager_start(void);
/* Closes standard output, and waits until the pager has been left. Does nothing without one.
 * Returns an exit status: that of a pager that could not be run is a failure. */
int kymo_pager_end(void);

#endif
