/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/trace_events.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "buffer/record.h"
#include "kymo/trace_abi.h"

#define BATCH 256u

static_assert((int)KYMO_EVENT_PYTHON == KYMO_TRACE_PYTHON, "as the tracer calls it");
static_assert((int)KYMO_EVENT_PYTHON_NATIVE == KYMO_TRACE_PYTHON_NATIVE, "as the tracer calls it");

kymo_err kymo_trace_events_function(uint32_t process, const struct kymo_drain_function *f,
                                    const kymo_event_handler *events, void *context)
{
    char name[KYMO_FUNCTION_NAME_MAX + 1], file[KYMO_FUNCTION_FILE_MAX + 1];
    memcpy(name, f->name, f->name_len);
    name[f->name_len] = '\0';
    memcpy(file, f->file, f->file_len);
    file[f->file_len] = '\0';
    int is_native = f->language == KYMO_TRACE_PYTHON_NATIVE;
    kymo_event_script e = {process,       KYMO_TRACE_FIRST + f->number,
                           f->first_line, is_native ? KYMO_EVENT_PYTHON_NATIVE : KYMO_EVENT_PYTHON,
                           name,          file};
    return events->script(context, &e);
}

/* Only the function is called otherwise. */
#define SAME(a, b)                                                                             \
    static_assert(offsetof(struct kymo_drain_call, a) == offsetof(kymo_event_call, b) &&       \
                      sizeof((struct kymo_drain_call){0}.a) == sizeof((kymo_event_call){0}.b), \
                  "one layout")
SAME(time_ns, time_ns);
SAME(function, script);
SAME(depth, depth);
SAME(kind, kind);
SAME(missing, missing);
static_assert(sizeof(struct kymo_drain_call) == sizeof(kymo_event_call), "one layout");

kymo_err kymo_trace_events_calls(uint32_t thread, const struct kymo_drain_call *calls,
                                 uint32_t count, const kymo_event_handler *events, void *context)
{
    kymo_event_call batch[BATCH];
    for (uint32_t done = 0; done < count;) {
        uint32_t n = count - done < BATCH ? count - done : BATCH;
        memcpy(batch, calls + done, n * sizeof *batch);
        for (uint32_t i = 0; i < n; i++)
            batch[i].script =
                batch[i].script ? KYMO_TRACE_FIRST + batch[i].script : KYMO_EVENT_NONE;
        kymo_event_calls e = {thread, n, batch};
        KYMO_TRY(events->calls(context, &e));
        done += n;
    }
    return KYMO_OK;
}
