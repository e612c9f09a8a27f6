/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/json_table.h"

void kymo_json_end_table(kymo_json *json, uint64_t length)
{
    kymo_json_key_u64(json, "length", length);
    kymo_json_end_object(json);
}

void kymo_json_constant_column(kymo_json *json, const char *name, const char *literal,
                               uint64_t count)
{
    kymo_json_key_array(json, name);
    for (uint64_t i = 0; i < count; i++) {
        if (literal[0] == 'n')
            kymo_json_null(json);
        else if (literal[0] == 'f')
            kymo_json_bool(json, 0);
        else
            kymo_json_u64(json, (uint64_t)(literal[0] - '0'));
    }
    kymo_json_end_array(json);
}

void kymo_json_u64_or_null(kymo_json *json, uint32_t value, uint32_t null_value)
{
    if (value == null_value)
        kymo_json_null(json);
    else
        kymo_json_u64(json, value);
}
