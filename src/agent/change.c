/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/change.h"

#include <string.h>

#include "agent/reporter_callback.h"
#include "base/str.h"

#define BIT(id) (1ull << KYMO_OPTION_##id)

static const char *const of_agent[] = {"report", "reporter",   "format",
                                       "keep",   "keep-bytes", "keep-age",
                                       "label",  "deadline",   "spool-bytes"};
static const char *const of_recording[] = {"cpu", "wall", "counters", "alloc", "markers"};

static int is_one_of(const char *const *names, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return 1;
    return 0;
}

/* Whether all can be changed; which are lists that begin anew. */
static kymo_err look(struct kymo_agent_change *c, const char *list, kymo_error *detail)
{
    for (const char *item = list; *item;) {
        const size_t len = strcspn(item, ",");
        const size_t name = strcspn(item, "=,");
        if (len > 0 && !is_one_of(of_agent, KYMO_ARRAY_LEN(of_agent), item, name) &&
            !is_one_of(of_recording, KYMO_ARRAY_LEN(of_recording), item, name))
            return kymo_error_set(
                detail, KYMO_E_UNSUPPORTED, 0,
                "%.*s cannot be changed while the agent runs: report, reporter, "
                "format, keep, label, deadline, spool-bytes, cpu, wall, counters, "
                "alloc and markers can",
                (int)(name < 40 ? name : 40), item);
        c->has_reporters |= kymo_str_starts(item, "reporter=");
        c->has_labels |= kymo_str_starts(item, "label=");
        item += len + (item[len] == ',');
    }
    return KYMO_OK;
}

/* A program's callback is its own: it stays. */
static void drop_reporters(struct kymo_agent_settings *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n_reporters; i++)
        if (s->reporters[i].kind == &kymo_reporter_callback)
            s->reporters[kept++] = s->reporters[i];
    s->n_reporters = kept;
}

static kymo_err plan_recording(struct kymo_agent_change *c, kymo_error *detail)
{
    const kymo_options *o = &c->settings.recording;
    c->recording = (struct kymo_tree_change){
        .cpu_period_ns = o->given & BIT(CPU) ? o->cpu_period_ns : 0,
        .wall_period_ns = o->given & BIT(WALL) ? o->wall_period_ns : 0,
        .counters_period_ns = o->given & BIT(COUNTERS) ? o->counters_period_ns : 0,
        .sets_alloc = (o->given & BIT(ALLOC)) != 0,
        .alloc_bytes = o->alloc_bytes,
        .markers = o->given & BIT(MARKERS) ? kymo_options_list(o, KYMO_OPTION_MARKERS) : NULL,
    };
    if ((o->given & BIT(WALL) && !o->wall_period_ns) ||
        (o->given & BIT(COUNTERS) && !o->counters_period_ns))
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "wall and counters cannot be switched off while the agent runs");
    return KYMO_OK;
}

kymo_err kymo_agent_change_plan(struct kymo_agent_change *c, const struct kymo_agent_settings *now,
                                const char *list, kymo_error *detail)
{
    memset(c, 0, sizeof *c);
    c->settings = *now;
    KYMO_TRY(look(c, list, detail));
    if (c->has_reporters)
        drop_reporters(&c->settings);
    if (c->has_labels)
        c->settings.labels.n = 0;
    c->settings.recording.given = 0;
    KYMO_TRY(kymo_agent_settings_parse(&c->settings, list, detail));
    KYMO_TRY(plan_recording(c, detail));
    if (c->has_reporters && c->settings.listen.address.ss_family != AF_UNSPEC)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0,
                              "reporters cannot be changed while the agent listens, whose server "
                              "knows those of its start");
    return kymo_agent_settings_check(&c->settings, detail);
}
