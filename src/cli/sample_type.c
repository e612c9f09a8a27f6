/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sample_type.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/log.h"
#include "base/str.h"

int kymo_is_imported(const kymo_profile *profile)
{
    return kymo_profile_meta(profile)->format != NULL;
}

int kymo_has_markers(const kymo_profile *profile, const char *file)
{
    if (kymo_is_imported(profile))
        kymo_fprint(stderr, "kymo: %s: markers are read from .kymo files alone\n", file);
    return !kymo_is_imported(profile);
}

uint32_t kymo_sample_type_of(const kymo_profile *profile, const char *name)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return KYMO_NONE;
}

/* What a heap is called in most files. */
static const char *other_name(const char *word)
{
    return strcmp(word, "live") == 0    ? "inuse_space"
           : strcmp(word, "alloc") == 0 ? "alloc_space"
                                        : word;
}

int kymo_is_heap_type(const char *word)
{
    static const char *const names[] = {"inuse_space", "inuse_objects", "alloc_space",
                                        "alloc_objects"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(names); i++)
        if (word && strcmp(other_name(word), names[i]) == 0)
            return 1;
    return 0;
}

static void say_types(const kymo_profile *profile, const char *file, const char *word)
{
    uint32_t count;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &count);
    kymo_str names = {0};
    for (uint32_t i = 0; i < count; i++)
        kymo_str_printf(&names, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", types[i].name);
    kymo_fprint(stderr, "kymo: %s: --mode: it has no '%.40s'; this file's are %s\n", file, word,
                kymo_str_cstr(&names));
    kymo_str_deinit(&names);
}

static uint32_t find(const kymo_profile *profile, const char *word)
{
    uint32_t type = kymo_sample_type_of(profile, word);
    return type == KYMO_NONE ? kymo_sample_type_of(profile, other_name(word)) : type;
}

int kymo_sample_type_choose(const kymo_profile *profile, const char *file, const char *word,
                            uint32_t *type)
{
    *type = kymo_profile_default_sample_type(profile);
    if (!word)
        return 1;
    *type = find(profile, word);
    if (*type == KYMO_NONE)
        say_types(profile, file, word);
    return *type != KYMO_NONE;
}

/* ---- what is there ---- */

/* Whether there are samples of it. */
static int has_samples(const kymo_profile *profile, uint32_t type)
{
    for (uint32_t i = 0; i < kymo_profile_count(profile, KYMO_TABLE_THREADS); i++) {
        const kymo_samples s = kymo_profile_samples(profile, i);
        if (s.count && memchr(s.kind, (int)type, s.count))
            return 1;
    }
    return 0;
}

/* A recording has the types of wall time and traced calls always, but not always samples of them.
 */
static int is_recorded(const kymo_profile *profile, uint32_t type)
{
    return kymo_is_imported(profile) || type == KYMO_SAMPLE_CPU || has_samples(profile, type);
}

int kymo_has_kind(const kymo_profile *profile, const char *file, uint32_t kind)
{
    const char *why = NULL;
    if (is_recorded(profile, kind))
        return 1;
    if (kind == KYMO_SAMPLE_WALL && kymo_profile_meta(profile)->wall_period_ns > 0)
        why = "there are no samples of wall time";
    else if (kind == KYMO_SAMPLE_WALL)
        why = "no wall time was recorded (kymo record --wall)";
    else
        why = "no calls were traced (kymo record --trace=python)";
    kymo_fprint(stderr, "kymo: %s: %s\n", file, why);
    return 0;
}

/* ---- of two files ---- */

static const kymo_sample_type *row_of(const kymo_profile *profile, uint32_t type)
{
    uint32_t count;
    return &kymo_profile_sample_types(profile, &count)[type];
}

/* The only one of the same unit and meaning; KYMO_NONE: there is none, or several. */
static uint32_t find_alike(const kymo_profile *profile, const kymo_sample_type *wanted)
{
    uint32_t count;
    uint32_t found = KYMO_NONE;
    const kymo_sample_type *types = kymo_profile_sample_types(profile, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(types[i].unit, wanted->unit) != 0 || types[i].adds != wanted->adds ||
            !is_recorded(profile, i))
            continue;
        if (strcmp(types[i].name, wanted->name) == 0)
            return i;
        found = found == KYMO_NONE ? i : KYMO_NONE - 1;
    }
    return found == KYMO_NONE - 1 ? KYMO_NONE : found;
}

static int say_units(const kymo_profile *const profiles[2], char *const files[2],
                     const uint32_t types[2])
{
    const kymo_sample_type *a = row_of(profiles[0], types[0]);
    const kymo_sample_type *b = row_of(profiles[1], types[1]);
    kymo_fprint(stderr,
                "kymo: %s has %s in %s, %s %s in %s: only their shares can be compared, which "
                "--normalize=total does\n",
                files[0], a->name, a->unit, files[1], b->name, b->unit);
    return 0;
}

int kymo_sample_types_choose(const kymo_profile *const profiles[2], char *const files[2],
                             const char *word, int is_by_total, uint32_t types[2])
{
    int lead = word && find(profiles[0], word) == KYMO_NONE ? 1 : 0;
    for (int i = 0; i < 2; i++)
        types[i] = word ? find(profiles[i], word) : KYMO_NONE;
    if (word && types[lead] == KYMO_NONE) {
        /* Words of recordings are known: it is the other file that may have any. */
        int other = kymo_is_imported(profiles[0]) ? 0 : 1;
        say_types(profiles[other], files[other], word);
        return 0;
    }
    if (!word)
        types[lead] = kymo_profile_default_sample_type(profiles[lead]);
    if (types[1 - lead] == KYMO_NONE)
        types[1 - lead] = find_alike(profiles[1 - lead], row_of(profiles[lead], types[lead]));
    if (types[1 - lead] == KYMO_NONE)
        types[1 - lead] = kymo_profile_default_sample_type(profiles[1 - lead]);
    const char *units[2] = {row_of(profiles[0], types[0])->unit,
                            row_of(profiles[1], types[1])->unit};
    return is_by_total || strcmp(units[0], units[1]) == 0 || say_units(profiles, files, types);
}
