/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/alloc_record.h"

#include "base/atomic.h"

static uint64_t ids[KYMO_ALLOC_LATE]; /* 0: free */
static uint32_t waiting;              /* at least as many as there are */

int kymo_alloc_late_put(uint64_t id)
{
    kymo_add_relaxed(&waiting, 1u);
    for (uint32_t i = 0; i < KYMO_ALLOC_LATE; i++) {
        uint64_t none = 0;
        if (kymo_load_relaxed(&ids[i]) == 0 && kymo_cas_relaxed(&ids[i], &none, id))
            return 1;
    }
    kymo_sub_relaxed(&waiting, 1u);
    return 0;
}

int kymo_alloc_late_waits(void)
{
    return kymo_load_relaxed(&waiting) != 0;
}

uint64_t kymo_alloc_late_take(void)
{
    for (uint32_t i = 0; i < KYMO_ALLOC_LATE; i++) {
        uint64_t id = kymo_load_relaxed(&ids[i]);
        if (id != 0 && kymo_cas_relaxed(&ids[i], &id, 0u)) {
            kymo_sub_relaxed(&waiting, 1u);
            return id;
        }
    }
    return 0;
}

void kymo_alloc_late_forget(void)
{
    while (kymo_alloc_late_take() != 0) {
    }
    kymo_store_relaxed(&waiting, 0u);
}
