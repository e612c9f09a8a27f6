/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>

kymo_err kymo_vec_reserve_bytes(void **data, size_t *cap, size_t len, size_t extra,
                                size_t element_size)
{
    if (extra > SIZE_MAX / 2 / element_size || len > SIZE_MAX / 2 / element_size - extra)
        return KYMO_E_NOMEM;
    size_t want = len + extra;
    if (want <= *cap)
        return KYMO_OK;
    size_t grown = *cap < 8 ? 8 : *cap + *cap / 2;
    if (grown < want)
        grown = want;
    void *p = realloc(*data, grown * element_size);
    if (!p)
        return KYMO_E_NOMEM;
    *data = p;
    *cap = grown;
    return KYMO_OK;
}

void kymo_vec_free(void *data)
{
    free(data);
}
