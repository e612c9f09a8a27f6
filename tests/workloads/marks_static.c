/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks_static.c - a statically linked program, in which markers find no library, and do nothing.
 */
#include "marks.h"

KYMO_COUNTER(total, plain, "Total", TOTAL, NULL, BLUE);

int main(void)
{
    KYMO_SCOPE(part, "all");
    KYMO_LABEL_SCOPE("request_id", 7);
    KYMO_MARKER_T(plain, "numbered", numbered, .stream = 0, .number = 0);
    KYMO_MARKER_FMT(hush, "formatted", "%d", 1);
    KYMO_COUNT(total, 1);
    printf("{\"on\":%d,\"selected\":%d}\n", KYMO_IS_ON(plain), kymo_markers_select("all"));
    return 0;
}
