/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer.h"

#include <dlfcn.h>
#include <string.h>

const struct kymo_trace_calls *tracer_calls;

int tracer_link(void)
{
    kymo_trace_attach_fn *attach;
    void *found = dlsym(RTLD_DEFAULT, KYMO_TRACE_ATTACH);
    (void)dlerror(); /* so that the program does not find it */
    memcpy(&attach, &found, sizeof attach);
    tracer_calls = found ? attach(KYMO_TRACE_ABI) : NULL;
    return tracer_calls && tracer_calls->is_wanted(KYMO_TRACE_PYTHON);
}
