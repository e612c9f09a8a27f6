/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline_plugin.cc - plugin.c in C++, with its markers in functions that any number of objects may
 * have: inline ones, templates, members. It is unloaded all the same.
 */
#include "kymo/marker.hpp"

KYMO_CATEGORY(plugin, "Plugin", RED);
#define ANSWER(F) F(i32, value, nullptr, INTEGER, 0)
KYMO_TYPE(answer, "Answer", ANSWER);

inline int in_inline(int value)
{
    KYMO_SCOPE(plugin, "inline");
    KYMO_MARKER_T(plugin, "answer", answer, value);
    return value;
}

template <class T> T in_template(T value)
{
    KYMO_SCOPE_OBJECT(scope, plugin, "template");
    KYMO_INTERVAL_OBJECT(interval, plugin, "template");
    KYMO_MARKER_FMT(plugin, "format", "%d", value);
    return value;
}

struct holder {
    int in_member(int value)
    {
        KYMO_MARKER_VALUES(plugin, "member", value);
        uint64_t id = KYMO_INTERVAL_BEGIN(plugin, "member");
        KYMO_INTERVAL_END(plugin, "member", id);
        return value;
    }
};

extern "C" __attribute__((visibility("default"))) int plugin_run(void);
int plugin_run(void)
{
    return holder().in_member(in_template(in_inline(42)));
}
