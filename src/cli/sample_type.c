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

int kymo_sample_type_choose(const kymo_profile *profile, const char *file, const char *word,
                            uint32_t *type)
{
    *type = kymo_profile_default_sample_type(profile);
    if (!word)
        return 1;
    *type = kymo_sample_type_of(profile, word);
    if (*type == KYMO_NONE)
        *type = kymo_sample_type_of(profile, other_name(word));
    if (*type == KYMO_NONE)
        say_types(profile, file, word);
    return *type != KYMO_NONE;
}
