/* SPDX-License-Identifier: Apache-2.0 */
#include "event_text.h"

#include <inttypes.h>

#include "base/str.h"

static kymo_err done(kymo_str *s)
{
    kymo_str_puts(s, "\n");
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

static void put_stack(kymo_str *s, uint32_t stack)
{
    if (stack == KYMO_EVENT_NONE)
        kymo_str_puts(s, " stack=none");
    else
        kymo_str_printf(s, " stack=%u", stack);
}

static void put_block(kymo_str *s, const kymo_event_allocation *e)
{
    kymo_str_printf(s,
                    " thread=%u time=%" PRIu64 " id=%#" PRIx64 " address=%#" PRIx64
                    " bytes=%" PRIu64 " rate=%" PRIu64 " slack=%u family=%u",
                    e->thread, e->time_ns, e->id, e->address, e->bytes, e->rate, e->slack,
                    e->family);
    put_stack(s, e->stack);
}

kymo_err event_text_allocation(void *ctx, const kymo_event_allocation *e)
{
    kymo_str *s = ctx;
    kymo_str_puts(s, "allocation");
    put_block(s, e);
    return done(s);
}

kymo_err event_text_free(void *ctx, const kymo_event_free *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "free thread=%u time=%" PRIu64 " id=%#" PRIx64 " count=%u", e->thread,
                    e->time_ns, e->id, e->count);
    return done(s);
}

kymo_err event_text_resize(void *ctx, const kymo_event_resize *e)
{
    kymo_str *s = ctx;
    kymo_str_puts(s, "resize");
    put_block(s, &e->now);
    kymo_str_printf(s, " usable_before=%" PRIu64 " was_drawn=%u", e->usable_before, e->was_drawn);
    return done(s);
}

kymo_err event_text_mapping(void *ctx, const kymo_event_mapping *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "mapping thread=%u time=%" PRIu64 " op=%u how=%u address=%#" PRIx64
                    " bytes=%" PRIu64 " before=%#" PRIx64 " bytes_before=%" PRIu64,
                    e->thread, e->time_ns, e->op, e->how, e->address, e->bytes, e->before,
                    e->bytes_before);
    put_stack(s, e->stack);
    return done(s);
}

kymo_err event_text_inherit(void *ctx, const kymo_event_inherit *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "inherit thread=%u time=%" PRIu64 " id=%#" PRIx64 " address=%#" PRIx64,
                    e->thread, e->time_ns, e->id, e->address);
    return done(s);
}

kymo_err event_text_heap(void *ctx, const kymo_event_heap *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "heap process=%u allocator=%u rate=%" PRIu64 " map_least=%" PRIu64
                    " count=%" PRIu64 " bytes=%" PRIu64 " not_seen=\"%s\"",
                    e->process, e->allocator, e->rate, e->map_least, e->count, e->bytes,
                    e->not_seen);
    return done(s);
}

kymo_err event_text_ledger(void *ctx, const kymo_event_ledger *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "ledger process=%u line=%u time=%" PRIu64 " bytes=%" PRId64 " low=%" PRIu64
                    " high=%" PRIu64 " name=\"%s\"",
                    e->process, e->line, e->time_ns, e->bytes, e->low, e->high, e->name);
    return done(s);
}

kymo_err event_text_memory_info(void *ctx, const kymo_event_memory_info *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "memory_info process=%u time=%" PRIu64 " value=%" PRIu64 " key=\"%s\"",
                    e->process, e->time_ns, e->value, e->key);
    return done(s);
}

kymo_err event_text_live(void *ctx, const kymo_event_live *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "live thread=%u of=%u time=%" PRIu64 " birth=%" PRIu64 " id=%#" PRIx64
                    " address=%#" PRIx64 " bytes=%" PRIu64
                    " weight=%.17g slack=%u family=%u inherited=%u",
                    e->thread, e->stack_process, e->time_ns, e->birth_ns, e->id, e->address,
                    e->bytes, e->weight, e->slack, e->family, e->is_inherited);
    put_stack(s, e->stack);
    for (uint32_t i = 0; i < e->label_count; i++)
        kymo_str_printf(s, " %s=%u:%" PRIu64 ":%s", e->labels[i].key, e->labels[i].kind,
                        e->labels[i].number, e->labels[i].text ? e->labels[i].text : "");
    return done(s);
}
