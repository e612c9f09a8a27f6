/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain_codes.c - code objects of an interpreter, when a stack first names them.
 *
 * A record is copied once, and checked in the copy. Honest ones lie beside each other, so that
 * together they are not more than the area; that bounds the work that a program can make of
 * overlapping ones.
 */
#include <string.h>

#include "base/atomic.h"
#include "buffer/code_area.h"
#include "buffer/drain_state.h"

#define HEAD_WORDS ((uint32_t)(sizeof(struct kymo_code_record) / 8))

static kymo_err learn(kymo_drain *d, uint32_t at)
{
    const char *from = (const char *)d->session + d->plan.codes_at + (uint64_t)at * 8;
    struct kymo_code_record head;
    struct kymo_drain_code code = {.number = KYMO_NO_CODE};
    char bytes[KYMO_CODE_NAME_MAX + KYMO_CODE_FILE_MAX + KYMO_CODE_LINES_MAX];
    memcpy(&head, from, sizeof head);
    int has_lines = head.lines_len != KYMO_CODE_NO_LINES;
    if (!has_lines)
        head.lines_len = 0;
    size_t len = (size_t)head.name_len + head.file_len + head.lines_len;
    if (head.name_len > KYMO_CODE_NAME_MAX || head.file_len > KYMO_CODE_FILE_MAX ||
        head.lines_len > KYMO_CODE_LINES_MAX || head.words < HEAD_WORDS ||
        head.words > d->plan.code_words - at || len > (head.words - HEAD_WORDS) * 8 ||
        head.words > d->plan.code_words - d->code_words) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    d->code_words += head.words;
    memcpy(bytes, from + sizeof head, len);
    code.number = d->next_code++;
    code.minor = head.minor;
    code.first_line = (uint32_t)head.identity.first_line;
    code.name = bytes;
    code.name_len = head.name_len;
    code.file = bytes + head.name_len;
    code.file_len = head.file_len;
    code.lines = has_lines ? (const uint8_t *)bytes + head.name_len + head.file_len : NULL;
    code.lines_len = head.lines_len;
    d->codes[at] = code.number + 1;
    return d->sink.code ? d->sink.code(d->sink.context, &code) : KYMO_OK;
}

kymo_err kymo_drain_find_code(kymo_drain *d, uint64_t word, struct kymo_drain_frame *frame)
{
    uint32_t at = (uint32_t)(word >> KYMO_PC_PYTHON_CODE_SHIFT) & KYMO_PC_PYTHON_CODE_MAX;
    *frame = (struct kymo_drain_frame){
        .address = (uint32_t)word, .module = KYMO_NO_MODULE, .code = KYMO_NO_CODE, .is_code = 1};
    if (at == 0 || d->plan.code_words < HEAD_WORDS || at > d->plan.code_words - HEAD_WORDS)
        return KYMO_OK;
    if (!d->codes[at])
        KYMO_TRY(learn(d, at));
    if (d->codes[at])
        frame->code = d->codes[at] - 1;
    return KYMO_OK;
}
