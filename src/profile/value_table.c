/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/tables.h"

#include <string.h>

int kymo_profile_has_value(const kymo_profile *profile, const kymo_value *value)
{
    switch ((kymo_value_kind)value->kind) {
    case KYMO_VALUE_NONE:
    case KYMO_VALUE_BOOL:
    case KYMO_VALUE_I64:
    case KYMO_VALUE_U64:
    case KYMO_VALUE_F64:
    case KYMO_VALUE_TIME:
    case KYMO_VALUE_NS:
    case KYMO_VALUE_POINTER:
    case KYMO_VALUE_FLOW:
        return 1;
    case KYMO_VALUE_STRING:
        return value->as.string < profile->strings.len;
    case KYMO_VALUE_LIST:
        return value->as.list.first <= profile->values.len &&
               value->as.list.count <= profile->values.len - value->as.list.first;
    }
    return 0;
}

kymo_err kymo_profile_add_values(kymo_profile *profile, const kymo_value *values, uint32_t count,
                                 uint32_t *first)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i].kind == KYMO_VALUE_LIST || !kymo_profile_has_value(profile, &values[i]))
            return KYMO_E_INVALID;
    if (count > KYMO_VALUES_MAX - profile->values.len)
        return KYMO_E_TOO_BIG;
    KYMO_TRY(kymo_vec_reserve(&profile->values, count));
    *first = (uint32_t)profile->values.len;
    if (count > 0)
        memcpy(profile->values.data + profile->values.len, values, count * sizeof *values);
    profile->values.len += count;
    return KYMO_OK;
}

const kymo_value *kymo_profile_values(const kymo_profile *profile, uint32_t first, uint32_t count)
{
    if (first > profile->values.len || count > profile->values.len - first)
        return NULL;
    return count > 0 ? profile->values.data + first : profile->values.data;
}
