/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>

#include "capture/hooks.h"

void *kymo_reals[KYMO_REALS];

static const char *const names[] = {
#define NAME(name) [KYMO_REAL_##name] = #name,
    KYMO_REAL_NEEDED(NAME) KYMO_REAL_LAZY(NAME)
#undef NAME
};

void *kymo_real_find(enum kymo_real function)
{
    void *found = dlsym(RTLD_NEXT, names[function]);
    kymo_store_relaxed(&kymo_reals[function], found);
    return found;
}

int kymo_reals_init(void)
{
    for (uint32_t i = 0; i < KYMO_REALS_NEEDED; i++)
        if (!kymo_real_find((enum kymo_real)i))
            return 0;
    return 1;
}
