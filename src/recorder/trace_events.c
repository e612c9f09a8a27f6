/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/trace_events.h"

#include <assert.h>
#include <string.h>

#include "buffer/record.h"
#include "kymo/trace_abi.h"

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

kymo_err kymo_trace_events_calls(uint32_t thread, const struct kymo_call_bytes *calls,
                                 const kymo_event_handler *events, void *context)
{
    const kymo_event_raw_calls e = {thread, KYMO_TRACE_FIRST, *calls};
    return events->raw_calls(context, &e);
}
