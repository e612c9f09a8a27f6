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

/* Bytes of its line table. */
static uint32_t lines_of(const struct kymo_code_record *record)
{
    return record->lines_len != KYMO_CODE_NO_LINES ? record->lines_len : 0;
}

struct kymo_drain_code kymo_drain_code_of(uint32_t number, const struct kymo_code_record *record,
                                          const char *bytes)
{
    const char *file = bytes + record->name_len;
    const char *lines = file + record->file_len;
    return (struct kymo_drain_code){
        .number = number,
        .minor = record->minor,
        .first_line = (uint32_t)record->identity.first_line,
        .name = bytes,
        .name_len = record->name_len,
        .file = file,
        .file_len = record->file_len,
        .lines = record->lines_len != KYMO_CODE_NO_LINES ? (const uint8_t *)lines : NULL,
        .lines_len = lines_of(record),
    };
}

static kymo_err learn(kymo_drain *d, uint32_t at)
{
    const char *from = (const char *)d->session + d->plan.codes_at + (uint64_t)at * 8;
    struct kymo_code_record head;
    char bytes[KYMO_CODE_BYTES_MAX];
    memcpy(&head, from, sizeof head);
    uint32_t lines_len = lines_of(&head);
    size_t len = (size_t)head.name_len + head.file_len + lines_len;
    if (head.name_len > KYMO_CODE_NAME_MAX || head.file_len > KYMO_CODE_FILE_MAX ||
        lines_len > KYMO_CODE_LINES_MAX || head.words < HEAD_WORDS ||
        head.words > d->plan.code_words - at || len > (head.words - HEAD_WORDS) * 8 ||
        head.words > d->plan.code_words - d->code_words) {
        d->noticed[KYMO_LOSS_CORRUPT]++;
        return KYMO_OK;
    }
    d->code_words += head.words;
    memcpy(bytes, from + sizeof head, len);
    const struct kymo_drain_code code = kymo_drain_code_of(d->next_code++, &head, bytes);
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
