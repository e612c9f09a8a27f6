/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_copy.c - reads a code object: what tells it from others, its name, file and line table.
 *
 * Everything is read by checked loads: a code object that another thread is freeing gives a record
 * without a name, or none. The handler reads its own process, the recorder one from outside.
 */
#include "buffer/code_copy.h"

#include <string.h>

/* PyASCIIObject and PyBytesObject. */
#define TEXT_LENGTH_AT 16u
#define TEXT_STATE_AT 32u
#define TEXT_IS_COMPACT 0x20u
#define TEXT_IS_ASCII 0x40u
#define BYTES_AT 32u
#define TEXT_LENGTH_MAX (1u << 20)

struct copier {
    const struct kymo_python *python;
    struct kymo_python_pages *pages;
};

static uint32_t put_utf8(uint32_t c, char *to)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    to[0] = (char)(first[more] | c >> 6 * more);
    for (uint32_t i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

/* Characters of 1, 2 or 4 bytes, from the one at `skip` on; as many as fit. */
static uint32_t copy_wide(const struct copier *c, uint64_t from, uint64_t kind, uint64_t skip,
                          uint64_t length, char *to, uint32_t room)
{
    uint32_t used = 0;
    for (uint64_t i = skip; i < length && used + 4 <= room; i++) {
        uint32_t character = 0;
        if (!kymo_python_copy(c->pages, from + i * kind, &character, kind) || character > 0x10ffff)
            break;
        if (character >= 0xd800 && character < 0xe000) /* a byte of a path that is not UTF-8 */
            character = 0xfffd;
        used += put_utf8(character, to + used);
    }
    return used;
}

/* A str. Of a long one the begin, or with keeps_end the end. Returns its bytes; 0: not read. */
static uint32_t copy_text(const struct copier *c, uint64_t object, char *to, uint32_t room,
                          int keeps_end)
{
    uint64_t length, state;
    if (!kymo_python_load(c->pages, object + TEXT_LENGTH_AT, &length) ||
        !kymo_python_load(c->pages, object + TEXT_STATE_AT, &state) || !(state & TEXT_IS_COMPACT) ||
        length > TEXT_LENGTH_MAX)
        return 0;
    uint64_t from = object + c->python->offsets.text;
    if (state & TEXT_IS_ASCII) {
        uint64_t skip = keeps_end && length > room ? length - room : 0;
        uint32_t bytes = (uint32_t)(length - skip < room ? length - skip : room);
        return kymo_python_copy(c->pages, from + skip, to, bytes) ? bytes : 0;
    }
    /* Two more members lie in front of them, and a third one up to 3.11. */
    from += c->python->minor < 12 ? 24 : 16;
    uint64_t kind = state >> 2 & 7;
    uint64_t most = room / 4; /* a character has up to 4 bytes */
    uint64_t skip = keeps_end && length > most ? length - most : 0;
    if (kind != 1 && kind != 2 && kind != 4)
        return 0;
    return copy_wide(c, from, kind, skip, length, to, room);
}

uint32_t kymo_code_text(const struct kymo_python *python, struct kymo_python_pages *pages,
                        uint64_t object, char *to, uint32_t room)
{
    const struct copier c = {python, pages};
    return copy_text(&c, object, to, room, 0);
}

void kymo_code_fill(const struct kymo_python *python, struct kymo_python_pages *pages,
                    const struct kymo_code_identity *identity, const struct kymo_code_room *room,
                    struct kymo_code_record *record)
{
    const struct copier c = {python, pages};
    char *to = (char *)(record + 1);
    record->identity = *identity;
    record->minor = (uint16_t)python->minor;
    record->name_len = (uint16_t)copy_text(&c, identity->name, to, room->name, 0);
    to += record->name_len;
    record->file_len = (uint16_t)copy_text(&c, identity->file, to, room->file, 1);
    to += record->file_len;
    record->lines_len = KYMO_CODE_NO_LINES;
    if (room->has_lines && kymo_python_copy(pages, identity->lines + BYTES_AT, to, room->lines))
        record->lines_len = (uint16_t)room->lines;
}

/* How much room the texts need at most, which are read again when they are copied. */
static uint32_t room_for(const struct copier *c, uint64_t object, uint32_t most)
{
    uint64_t length = 0;
    uint64_t state = 0;
    if (!kymo_python_load(c->pages, object + TEXT_LENGTH_AT, &length) ||
        !kymo_python_load(c->pages, object + TEXT_STATE_AT, &state))
        return 0;
    uint64_t bytes = state & TEXT_IS_ASCII ? length : length * 4;
    return bytes < most ? (uint32_t)bytes : most;
}

struct kymo_code_room kymo_code_room(const struct kymo_python *python,
                                     struct kymo_python_pages *pages,
                                     const struct kymo_code_identity *identity)
{
    const struct copier c = {python, pages};
    uint64_t lines = 0;
    int has_lines = kymo_python_load(pages, identity->lines + TEXT_LENGTH_AT, &lines) &&
                    lines <= KYMO_CODE_LINES_MAX;
    return (struct kymo_code_room){room_for(&c, identity->name, KYMO_CODE_NAME_MAX),
                                   room_for(&c, identity->file, KYMO_CODE_FILE_MAX),
                                   has_lines ? (uint32_t)lines : 0, has_lines};
}
