/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/python_events.h"

#include <stdlib.h>
#include <string.h>

#include "buffer/code_area.h"

kymo_err kymo_python_events_code(struct kymo_python_events *python, uint32_t process,
                                 const struct kymo_drain_code *code,
                                 const kymo_event_handler *events, void *context)
{
    char name[KYMO_CODE_NAME_MAX + 1];
    char file[KYMO_CODE_FILE_MAX + 1];
    struct kymo_python_code kept = {code->minor, code->first_line, 0, NULL};
    memcpy(name, code->name, code->name_len);
    name[code->name_len] = '\0';
    memcpy(file, code->file, code->file_len);
    file[code->file_len] = '\0';
    if (code->lines) {
        kept.lines = malloc(code->lines_len + 1); /* an empty table is one, too */
        if (!kept.lines)
            return KYMO_E_NOMEM;
        memcpy(kept.lines, code->lines, code->lines_len);
        kept.lines_len = code->lines_len;
    }
    kymo_err err = kymo_vec_push(&python->codes, kept);
    if (err != KYMO_OK) {
        free(kept.lines);
        return err;
    }
    kymo_event_script e = {
        process, python->first + code->number, code->first_line, KYMO_EVENT_PYTHON, name, file};
    return events->script(context, &e);
}

kymo_event_frame kymo_python_events_frame(const struct kymo_python_events *python,
                                          const struct kymo_drain_frame *frame)
{
    kymo_event_frame out = {.module = KYMO_EVENT_NONE, .flags = KYMO_EVENT_FRAME_SCRIPT};
    if (frame->code >= python->codes.len)
        return out;
    const struct kymo_python_code *code = &python->codes.data[frame->code];
    out.module = python->first + frame->code;
    out.address = kymo_python_line(code->minor, code->lines, code->lines_len, code->first_line,
                                   (uint32_t)frame->address);
    return out;
}

void kymo_python_events_deinit(struct kymo_python_events *python)
{
    for (size_t i = 0; i < python->codes.len; i++)
        free(python->codes.data[i].lines);
    kymo_vec_deinit(&python->codes);
}
