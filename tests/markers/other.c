/* SPDX-License-Identifier: Apache-2.0 */
#include "kymo/marker.h"
#include "kymo/profile.h" /* a program may use both */

KYMO_CATEGORY(work, "Work", GREEN);

int other_file(void);
int other_file(void)
{
    int evaluated = 0;
    KYMO_MARKER_FMT(work, "other", "%d", ++evaluated);
    return evaluated;
}
