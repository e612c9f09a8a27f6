/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/steps.h"

#include <string.h>
#include <time.h>

#include "base/str.h"

enum { BAR = 24 };
/* Shorter work needs no bar; a faster one only flickers. */
static const uint64_t patience_ns = 1000000000;
static const uint64_t redraw_ns = 100000000;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void kymo_progress_init(kymo_progress *p, int quiet)
{
    memset(p, 0, sizeof *p);
    p->terminal = kymo_terminal_of(stderr);
    p->silent = quiet || p->terminal.width == 0;
}

void kymo_progress_start(kymo_progress *p, const char *what)
{
    kymo_progress_end(p);
    p->what = what;
    p->start_ns = now_ns();
}

void kymo_progress_update(kymo_progress *p, double fraction, uint64_t bytes)
{
    if (p->silent)
        return;
    uint64_t now = now_ns();
    if (now - p->start_ns < patience_ns || now - p->drawn_ns < redraw_ns)
        return;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(fraction * BAR) ? '#' : '.';
    bar[BAR] = '\0';
    char size[32];
    fprintf(stderr, "\r\033[K%.24s [%s] %3.0f %%%s%s", p->what, bar, fraction * 100,
            bytes ? "  " : "", bytes ? kymo_format_bytes(size, bytes) : "");
    fflush(stderr);
    p->drawn_ns = now;
}

void kymo_progress_end(kymo_progress *p)
{
    if (p->drawn_ns != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->drawn_ns = 0;
}
