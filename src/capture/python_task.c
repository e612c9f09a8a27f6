/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_task.c - labels a record with the asyncio task that its stack is in.
 *
 * A label of a record lasts one moment, for what the thread does until the next one is not known.
 * It lies around its record, in one piece: so there never is one without its end.
 */
#include <string.h>

#include "capture/python_stack.h"
#include "kymo/marker_abi.h"

/* The clock's units: more than a nanosecond, and less than it takes to write a record. */
#define MOMENT 64u

enum { KEY_BYTES = sizeof KYMO_PYTHON_TASK_KEY - 1 };

static uint32_t label_bytes(uint32_t text_bytes)
{
    return ((uint32_t)sizeof(struct kymo_record_label) + KEY_BYTES + text_bytes + 7) & ~7u;
}

uint32_t kymo_python_task_lead(const struct kymo_python_task *task)
{
    return label_bytes(task->bytes);
}

uint32_t kymo_python_task_room(const struct kymo_python_task *task)
{
    return task->bytes ? label_bytes(task->bytes) + label_bytes(0) : 0;
}

/* Sets the label, or with a text of no bytes clears it. */
static void put_label(char *at, uint64_t clock, const char *text, uint32_t text_bytes)
{
    struct kymo_record_label *r = (void *)at;
    uint32_t size = label_bytes(text_bytes);
    struct kymo_text_slot slot = {(uint32_t)sizeof *r + KEY_BYTES, (uint16_t)text_bytes,
                                  KYMO_TEXT_IS_THERE};
    memset(at + size - sizeof(uint64_t), 0, sizeof(uint64_t));
    r->head = (struct kymo_record){clock, KYMO_RECORD_LABEL, (uint16_t)size, KYMO_LABEL_WAS_SET};
    r->depth = UINT32_MAX; /* what is pushed stays */
    r->key_bytes = KEY_BYTES;
    r->value = (struct kymo_record_cell){.kind = text_bytes ? KYMO_KIND_TEXT : KYMO_KIND_NONE};
    if (text_bytes)
        memcpy(&r->value.value, &slot, sizeof slot);
    at += sizeof *r;
    memcpy(at, KYMO_PYTHON_TASK_KEY, KEY_BYTES);
    memcpy(at + KEY_BYTES, text, text_bytes);
}

void *kymo_python_task_put(const struct kymo_python_task *task, void *at, uint32_t size_bytes,
                           uint64_t clock)
{
    char *record = (char *)at + kymo_python_task_lead(task);
    put_label(at, clock, task->name, task->bytes);
    put_label(record + size_bytes, clock + MOMENT, "", 0);
    return record;
}
