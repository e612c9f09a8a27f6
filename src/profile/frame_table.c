/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"
#include "profile/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a frame without an address, what it is interned by: all its lines. */
static uint64_t hash_of_lines(const kymo_line *lines, uint32_t count)
{
    return kymo_hash_bytes(lines, count * sizeof *lines, kymo_hash_secret());
}

static uint64_t frame_hash(const kymo_frame *row, uint64_t of_lines)
{
    uint64_t words[4] = {row->address, row->module, row->category, of_lines};
    return kymo_hash_words(words, 4, kymo_hash_secret());
}

/* The frame of this row, or KYMO_NONE. lines: those of a frame without an address, else NULL. */
static uint32_t find_frame(const kymo_profile *p, const kymo_frame *row, const kymo_line *lines,
                           uint64_t hash)
{
    uint32_t found;
    for (size_t probe = 0; kymo_index_find(&p->frame_index, hash, &probe, &found);) {
        const kymo_frame *f = &p->frames.data[found];
        if (f->address != row->address || f->module != row->module || f->category != row->category)
            continue;
        if (!lines ||
            (f->line_count == row->line_count &&
             memcmp(&p->lines.data[f->first_line], lines, f->line_count * sizeof *lines) == 0))
            return found;
    }
    return KYMO_NONE;
}

/* Interns by (module, address, category) and, for a frame that has no address, its lines. */
static kymo_err intern_frame(kymo_profile *p, const kymo_frame *row, const kymo_line *lines,
                             uint32_t *id)
{
    uint32_t count = lines ? row->line_count : 0;
    uint64_t hash = frame_hash(row, lines ? hash_of_lines(lines, count) : 0);
    uint32_t found = find_frame(p, row, lines, hash);
    if (found != KYMO_NONE) {
        *id = found;
        return KYMO_OK;
    }
    if (p->frames.len >= KYMO_FRAMES_MAX || p->lines.len + count > KYMO_LINES_MAX)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&p->frames, 1));
    KYMO_TRY(kymo_vec_reserve(&p->lines, count));
    found = (uint32_t)p->frames.len;
    KYMO_TRY(kymo_index_put(&p->frame_index, hash, found));
    p->frames.data[p->frames.len] = *row;
    if (lines) {
        p->frames.data[p->frames.len].first_line = (uint32_t)p->lines.len;
        memcpy(p->lines.data + p->lines.len, lines, count * sizeof *lines);
        p->lines.len += count;
    }
    p->frames.len++;
    *id = found;
    return KYMO_OK;
}

kymo_err kymo_profile_drop_frames(kymo_profile *profile, uint32_t *map)
{
    uint32_t kept = 0;
    kymo_index_deinit(&profile->frame_index);
    for (size_t i = 0; i < profile->frames.len; i++) {
        if (map[i] == KYMO_NONE)
            continue;
        const kymo_frame *f = &profile->frames.data[i];
        uint64_t of_lines = f->address == KYMO_NO_ADDRESS
                                ? hash_of_lines(&profile->lines.data[f->first_line], f->line_count)
                                : 0;
        KYMO_TRY(kymo_index_put(&profile->frame_index, frame_hash(f, of_lines), kept));
        profile->frames.data[kept] = *f;
        map[i] = kept++;
    }
    profile->frames.len = kept;
    return KYMO_OK;
}

kymo_err kymo_profile_add_frame(kymo_profile *profile, uint32_t module, uint64_t address,
                                kymo_category category, uint32_t *id)
{
    kymo_frame row = {.address = address, .module = module, .symbol = KYMO_NONE};
    if (!kymo_is_row_or_none(module, profile->modules.len) || address == KYMO_NO_ADDRESS ||
        (unsigned)category >= KYMO_CATEGORY_COUNT)
        return KYMO_E_INVALID;
    if (category != KYMO_CATEGORY_AUTO)
        row.category = (uint8_t)category;
    else if (module != KYMO_NONE)
        row.category = (uint8_t)profile->modules.data[module].category;
    else
        row.category = KYMO_CATEGORY_GENERATED;
    return intern_frame(profile, &row, NULL, id);
}

kymo_err kymo_profile_add_lines_frame(kymo_profile *profile, const kymo_line *lines, uint32_t count,
                                      kymo_category category, uint32_t *id)
{
    kymo_frame row = {.address = KYMO_NO_ADDRESS,
                      .module = KYMO_NONE,
                      .symbol = KYMO_NONE,
                      .line_count = count,
                      .named = 1};
    if (count == 0 || (unsigned)category >= KYMO_CATEGORY_COUNT)
        return KYMO_E_INVALID;
    if (count > KYMO_FRAME_LINES_MAX)
        return KYMO_E_TOO_BIG;
    for (uint32_t i = 0; i < count; i++)
        if (lines[i].function >= profile->functions.len)
            return KYMO_E_INVALID;
    row.category = (uint8_t)(category == KYMO_CATEGORY_AUTO ? KYMO_CATEGORY_OTHER : category);
    return intern_frame(profile, &row, lines, id);
}

kymo_err kymo_profile_add_label_frame(kymo_profile *profile, uint32_t function,
                                      kymo_category category, uint32_t *id)
{
    const kymo_line line = {.function = function};
    return kymo_profile_add_lines_frame(profile, &line, 1, category, id);
}

kymo_err kymo_profile_frame_set_lines(kymo_profile *profile, uint32_t frame, const kymo_line *lines,
                                      uint32_t count, uint32_t symbol, int named)
{
    /* A frame without an address is found by its lines, so they must never change. */
    if (frame >= profile->frames.len || profile->frames.data[frame].address == KYMO_NO_ADDRESS ||
        !kymo_is_row_or_none(symbol, profile->symbols.len))
        return KYMO_E_INVALID;
    for (uint32_t i = 0; i < count; i++)
        if (lines[i].function >= profile->functions.len)
            return KYMO_E_INVALID;
    kymo_frame *f = &profile->frames.data[frame];
    if (count > f->line_count) {
        if (count > KYMO_FRAME_LINES_MAX || profile->lines.len + count > KYMO_LINES_MAX)
            return KYMO_E_TOO_BIG;
        KYMO_TRY(kymo_vec_reserve(&profile->lines, count));
        f->first_line = (uint32_t)profile->lines.len;
        profile->lines.len += count;
    }
    if (count > 0)
        memcpy(profile->lines.data + f->first_line, lines, count * sizeof *lines);
    f->line_count = count;
    f->symbol = symbol;
    f->named = named != 0;
    return KYMO_OK;
}

kymo_err kymo_profile_frame_share_lines(kymo_profile *profile, uint32_t frame, uint32_t from)
{
    if (frame >= profile->frames.len || from >= profile->frames.len ||
        profile->frames.data[frame].address == KYMO_NO_ADDRESS)
        return KYMO_E_INVALID;
    const kymo_frame *source = &profile->frames.data[from];
    kymo_frame *f = &profile->frames.data[frame];
    f->first_line = source->first_line;
    f->line_count = source->line_count;
    f->symbol = source->symbol;
    f->named = source->named;
    return KYMO_OK;
}

const kymo_line *kymo_profile_frame_lines(const kymo_profile *profile, uint32_t frame,
                                          uint32_t *count)
{
    *count = 0;
    if (frame >= profile->frames.len || profile->frames.data[frame].line_count == 0)
        return NULL;
    *count = profile->frames.data[frame].line_count;
    return profile->lines.data + profile->frames.data[frame].first_line;
}

const char *kymo_profile_frame_label(const kymo_profile *profile, uint32_t frame, char *out,
                                     size_t cap)
{
    const kymo_frame *f = kymo_profile_frame(profile, frame);
    char offset[24];
    if (cap == 0)
        return out;
    out[0] = '\0';
    if (!f)
        return out;
    if (f->line_count > 0) {
        uint32_t name = profile->functions.data[profile->lines.data[f->first_line].function].name;
        kymo_utf8_copy(out, cap, kymo_profile_string(profile, name),
                       kymo_profile_string_len(profile, name));
        return out;
    }
    size_t len = 0;
    if (f->module != KYMO_NONE) {
        const char *name = profile->modules.data[f->module].name;
        len = kymo_utf8_copy(out, cap, name, strlen(name));
    }
    int n = snprintf(offset, sizeof offset, "%s0x%" PRIx64, f->module != KYMO_NONE ? "+" : "",
                     f->address);
    kymo_utf8_copy(out + len, cap - len, offset, (size_t)n);
    return out;
}
