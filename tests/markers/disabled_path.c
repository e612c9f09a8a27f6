/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disabled_path.c - functions that are one marker each: check_header reads what they were compiled
 * to, and follows the way that is taken while markers are off.
 */
#include "kymo/marker.h"

KYMO_CATEGORY(net, "Network", BLUE);
KYMO_COUNTER(sent, net, "Sent", TOTAL, "bytes", BLUE);
#define REQUEST(F) F(u16, status, NULL, INTEGER, 0) F(str, url, NULL, URL, 0)
KYMO_TYPE(request, "Request", REQUEST, KYMO_ALL_LABELS(request, "", url));

int argument(int value);
const char *text(void);

#define ONE(name, ...)     \
    void one_##name(void); \
    void one_##name(void)  \
    {                      \
        __VA_ARGS__;       \
    }

ONE(marker, KYMO_MARKER(net, "marker"))
ONE(options, KYMO_MARKER_OPT(net, "options", KYMO_OPTIONS(.owner = (uint64_t)argument(1))))
ONE(text, KYMO_MARKER_TEXT(net, "text", text()))
ONE(typed, KYMO_MARKER_T(net, "typed", request, .status = (uint16_t)argument(2), .url = text()))
ONE(format, KYMO_MARKER_FMT(net, "format", "%d %s", argument(3), text()))
ONE(interval_end, KYMO_INTERVAL_END(net, "end", (uint64_t)argument(4)))
ONE(count, KYMO_COUNT(sent, argument(5)))
ONE(label, KYMO_LABEL_SET("key", argument(6)))

/* The end of the block asks nothing, but a register at most. */
void work(void);
#define BLOCK(name, ...)      \
    void one_##name(void);    \
    void one_##name(void)     \
    {                         \
        __VA_ARGS__;          \
        work();               \
        __asm__ volatile(""); \
    }

BLOCK(scope, KYMO_SCOPE(net, "scope"))
BLOCK(text_scope,
      KYMO_SCOPE_TEXT_OPT(net, "text", KYMO_OPTIONS(.owner = (uint64_t)argument(7)), text()))
BLOCK(label_scope, KYMO_LABEL_SCOPE("key", argument(8)))
