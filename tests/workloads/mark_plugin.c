/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_plugin.c - a library with markers, for marks.c: built twice, as mark_early.so and
 * mark_late.so, with other literals. Nothing of them is in memory when the recording is read.
 */
#include "kymo/marker.h"

KYMO_CATEGORY(plugin, "Plugin", GREEN);

#define FIELDS(F)                        \
    F(literal, literal, NULL, STRING, 0) \
    F(u32, number, "Number", INTEGER, 0)
KYMO_TYPE(of_plugin, "OfPlugin", FIELDS, KYMO_ALL_LABELS(of_plugin, "", literal, " ", number));

void plugin_mark(uint32_t number);

__attribute__((visibility("default"))) void plugin_mark(uint32_t number)
{
    KYMO_SCOPE(plugin, PLUGIN_NAME " scope");
    KYMO_MARKER_T(plugin, PLUGIN_NAME, of_plugin, .literal = KYMO_LITERAL(PLUGIN_NAME " literal"),
                  .number = number);
}
