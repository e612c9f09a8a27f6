/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer.h"

#include <dlfcn.h>
#include <string.h>

const struct kymo_trace_calls *tracer_calls;

static struct kymo_trace_place nowhere;
_Thread_local struct kymo_trace_place *tracer_place = &nowhere;

int tracer_link(void)
{
    kymo_trace_attach_fn *attach;
    void *found = dlsym(RTLD_DEFAULT, KYMO_TRACE_ATTACH);
    (void)dlerror(); /* so that the program does not find it */
    memcpy(&attach, &found, sizeof attach);
    const struct kymo_trace_calls *calls = found ? attach(KYMO_TRACE_ABI) : NULL;
    /* The library has one such table. Another interpreter may be using it now. */
    if (calls)
        tracer_calls = calls;
    return calls && calls->is_wanted(KYMO_TRACE_PYTHON);
}
