/* SPDX-License-Identifier: Apache-2.0 */
/* select_stacks.c - each function is matched once, then each frame, then each stack in one pass. */
#include "select/select_stacks.h"

#include <stdlib.h>

enum { FOCUS = 1, IGNORE = 2, LABEL_MAX = 512 };

static uint8_t match(const kymo_selection *s, const char *name)
{
    uint8_t found = 0;
    if (s->focus && regexec(s->focus, name, 0, NULL, 0) == 0)
        found |= FOCUS;
    if (s->ignore && regexec(s->ignore, name, 0, NULL, 0) == 0)
        found |= IGNORE;
    return found;
}

static uint8_t match_frame(const kymo_profile *p, const kymo_selection *s, const uint8_t *functions,
                           uint32_t frame)
{
    char label[LABEL_MAX];
    uint32_t count;
    uint8_t found = 0;
    const kymo_line *lines = kymo_profile_frame_lines(p, frame, &count);
    for (uint32_t i = 0; i < count; i++)
        found |= functions[lines[i].function];
    return count ? found : match(s, kymo_profile_frame_label(p, frame, label, sizeof label));
}

kymo_err kymo_select_stacks(const kymo_profile *profile, const kymo_selection *selection,
                            uint8_t *keep, int *is_found)
{
    uint32_t function_count = kymo_profile_count(profile, KYMO_TABLE_FUNCTIONS);
    uint32_t frame_count = kymo_profile_count(profile, KYMO_TABLE_FRAMES);
    kymo_stacks stacks = kymo_profile_stacks(profile);
    uint8_t *functions = malloc(function_count + 1u);
    uint8_t *frames = malloc(frame_count + 1u);
    kymo_err err = functions && frames ? KYMO_OK : KYMO_E_NOMEM;
    uint8_t all = 0;
    for (uint32_t i = 0; err == KYMO_OK && i < function_count; i++)
        functions[i] =
            match(selection, kymo_profile_string(profile, kymo_profile_function(profile, i)->name));
    for (uint32_t i = 0; err == KYMO_OK && i < frame_count; i++)
        frames[i] = match_frame(profile, selection, functions, i);
    /* A parent's id is less than its child's: keep holds what was found, and then the answer. */
    for (uint32_t i = 0; err == KYMO_OK && i < stacks.count; i++) {
        uint8_t above = stacks.parent[i] == KYMO_NONE ? 0 : keep[stacks.parent[i]];
        keep[i] = above | frames[stacks.frame[i]];
        all |= keep[i];
    }
    for (uint32_t i = 0; err == KYMO_OK && i < stacks.count; i++)
        keep[i] = (!selection->focus || (keep[i] & FOCUS)) && !(keep[i] & IGNORE);
    *is_found = (all & FOCUS) != 0;
    free(functions);
    free(frames);
    return err;
}
