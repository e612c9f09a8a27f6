/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_code.c - copies code objects into the code area, when a stack first holds them.
 */
#include "base/atomic.h"
#include "buffer/code_area.h"
#include "buffer/code_copy.h"
#include "capture/python_stack.h"

uint32_t kymo_python_code(struct kymo_capture_process *p, struct kymo_python_pages *pages,
                          uint64_t code, int *is_hidden)
{
    struct kymo_code_identity identity;
    uint32_t number;
    *is_hidden = 0;
    if (!kymo_code_identify(p->python, pages, code, &identity)) {
        kymo_count_loss(p, KYMO_LOSS_PYTHON);
        return 0;
    }
    *is_hidden = kymo_code_is_hidden(&identity);
    number = kymo_code_find(p->session, &p->plan, &identity);
    if (kymo_likely(number) || *is_hidden)
        return number;
    const struct kymo_code_room room = kymo_code_room(p->python, pages, &identity);
    struct kymo_code_record *record =
        kymo_code_claim(p->session, &p->plan, room.name + room.file + room.lines, &number);
    if (record) {
        kymo_code_fill(p->python, pages, &identity, &room, record);
        const char *name = (const char *)(record + 1);
        kymo_python_task_learn(p->python, code, name, record->name_len, name + record->name_len,
                               record->file_len);
        number = kymo_code_publish(p->session, &p->plan, number);
    }
    if (!record || !number) {
        kymo_count_loss(p, KYMO_LOSS_CODE_FULL);
        return 0;
    }
    return number;
}
