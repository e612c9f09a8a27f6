/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/python_label.h"

#include <string.h>

#include "buffer/record.h"
#include "kymo/marker_abi.h"

/* It lasts for the moment of the sample: the next one says for itself. */
kymo_err kymo_python_label_tell(const kymo_event_handler *events, void *context, uint32_t thread,
                                uint64_t time_ns, const struct kymo_python_task *task)
{
    char text[KYMO_PYTHON_TASK_MAX + 1];
    kymo_event_label e = {
        .thread = thread,
        .change = KYMO_LABEL_WAS_SET,
        .depth = UINT32_MAX,
        .kind = KYMO_KIND_TEXT,
        .time_ns = time_ns,
        .key = KYMO_PYTHON_TASK_KEY,
        .text = text,
    };
    if (!task || task->bytes == 0 || !events->label)
        return KYMO_OK;
    memcpy(text, task->name, task->bytes);
    text[task->bytes] = '\0';
    KYMO_TRY(events->label(context, &e));
    e.kind = KYMO_KIND_NONE;
    e.text = NULL;
    e.time_ns++;
    return events->label(context, &e);
}
