/* SPDX-License-Identifier: Apache-2.0 */
#include "event_text.h"

#include <inttypes.h>

#include "buffer/record.h"

static void put_text(kymo_str *s, const char *name, const char *text)
{
    kymo_str_printf(s, " %s=\"", name);
    for (const char *p = text != NULL ? text : ""; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            kymo_str_printf(s, "\\x%02x", (unsigned char)*p);
        else
            kymo_str_append(s, p, 1);
    }
    kymo_str_puts(s, "\"");
}

static void put_id(kymo_str *s, const char *name, uint32_t id)
{
    if (id == KYMO_EVENT_NONE)
        kymo_str_printf(s, " %s=none", name);
    else
        kymo_str_printf(s, " %s=%u", name, id);
}

static void put_args(kymo_str *s, uint32_t argc, const char *const *argv)
{
    for (uint32_t i = 0; i < argc; i++)
        put_text(s, "arg", argv[i]);
}

static kymo_err done(kymo_str *s)
{
    kymo_str_puts(s, "\n");
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

kymo_err event_text_meta(void *ctx, const kymo_event_meta *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "meta start=%" PRIu64 " realtime=%" PRIu64 " period=%" PRIu64 " memory=%" PRIu64
                    " cpus=%u/%u hz=%u",
                    e->start_ns, e->start_realtime_ns, e->period_ns, e->memory_bytes,
                    e->logical_cpus, e->physical_cpus, e->hz);
    if (e->wall_period_ns)
        kymo_str_printf(s, " wall=%" PRIu64, e->wall_period_ns);
    put_text(s, "host", e->host);
    put_text(s, "os", e->os);
    put_text(s, "kernel", e->kernel);
    put_text(s, "arch", e->arch);
    put_text(s, "cpu", e->cpu_name);
    put_text(s, "version", e->version);
    put_text(s, "engine", e->engine);
    put_text(s, "reason", e->engine_reason);
    put_text(s, "options", e->options);
    put_args(s, e->argc, e->argv);
    return done(s);
}

kymo_err event_text_process(void *ctx, const kymo_event_process *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "process %u pid=%d parent=%d main=%u start=%" PRIu64, e->process, e->pid,
                    e->parent_pid, e->is_main, e->start_ns);
    put_text(s, "name", e->name);
    put_text(s, "exe", e->exe);
    put_args(s, e->argc, e->argv);
    return done(s);
}

kymo_err event_text_process_end(void *ctx, const kymo_event_process_end *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "process_end %u status=%d end=%" PRIu64 " user=%" PRIu64 " system=%" PRIu64,
                    e->process, e->wait_status, e->end_ns, e->user_ns, e->system_ns);
    return done(s);
}

kymo_err event_text_thread(void *ctx, const kymo_event_thread *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "thread %u process=%u tid=%d start=%" PRIu64, e->thread, e->process, e->tid,
                    e->start_ns);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_thread_name(void *ctx, const kymo_event_thread_name *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "thread_name %u time=%" PRIu64, e->thread, e->time_ns);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_thread_end(void *ctx, const kymo_event_thread_end *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "thread_end %u end=%" PRIu64 " cpu=%" PRIu64 " tail=%" PRIu64, e->thread,
                    e->end_ns, e->cpu_ns, e->cpu_tail_ns);
    if (e->by_tick)
        kymo_str_printf(s, " by_tick");
    return done(s);
}

kymo_err event_text_module(void *ctx, const kymo_event_module *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "module %u process=%u start=%#" PRIx64 " end=%#" PRIx64 " bias=%#" PRIx64
                    " offset=%#" PRIx64 " load=%" PRIu64 " main=%u build_id=",
                    e->module, e->process, e->start, e->end, e->load_bias, e->file_offset,
                    e->load_ns, e->is_main);
    for (uint32_t i = 0; i < e->build_id_len; i++)
        kymo_str_printf(s, "%02x", e->build_id[i]);
    put_text(s, "path", e->path);
    return done(s);
}

kymo_err event_text_module_unload(void *ctx, const kymo_event_module_unload *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "module_unload %u process=%u time=%" PRIu64, e->module, e->process,
                    e->time_ns);
    return done(s);
}

kymo_err event_text_module_image(void *ctx, const kymo_event_module_image *e)
{
    kymo_str *s = ctx;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < e->len; i++)
        sum = sum * 31 + e->bytes[i];
    kymo_str_printf(s, "module_image %u process=%u len=%u sum=%08x", e->module, e->process, e->len,
                    sum);
    return done(s);
}

/* `shared` is not told: how stacks are cut into blocks is the writer's business. */
kymo_err event_text_script(void *ctx, const kymo_event_script *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "script %u process=%u line=%u language=%u", e->script, e->process,
                    e->first_line, e->language);
    put_text(s, "name", e->name);
    put_text(s, "file", e->file);
    return done(s);
}

kymo_err event_text_stack(void *ctx, const kymo_event_stack *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "stack %u process=%u depth=%u flags=%#x end=%u\n", e->stack, e->process,
                    e->depth, e->flags, e->end);
    for (uint32_t i = 0; i < e->depth; i++) {
        uint32_t flags = e->frames[i].flags;
        kymo_str_printf(s, "  %#" PRIx64 "%s%s", e->frames[i].address,
                        flags & KYMO_EVENT_FRAME_RETURN ? " return" : "",
                        flags & KYMO_EVENT_FRAME_INTERPRETER ? " interpreter" : "");
        put_id(s, flags & KYMO_EVENT_FRAME_SCRIPT ? "script" : "module", e->frames[i].module);
        kymo_str_puts(s, "\n");
    }
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

kymo_err event_text_samples(void *ctx, const kymo_event_samples *e)
{
    kymo_str *s = ctx;
    for (uint32_t i = 0; i < e->count; i++) {
        const kymo_event_sample *sample = &e->samples[i];
        kymo_str_printf(s, "sample thread=%u time=%" PRIu64 " weight=%" PRIu64 " kind=%u state=%u",
                        e->thread, sample->time_ns, sample->weight_ns, sample->kind, sample->state);
        put_id(s, "stack", sample->stack);
        if (sample->wait)
            put_id(s, "wait", sample->wait);
        kymo_str_puts(s, "\n");
    }
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

kymo_err event_text_calls(void *ctx, const kymo_event_calls *e)
{
    kymo_str *s = ctx;
    for (uint32_t i = 0; i < e->count; i++) {
        const kymo_event_call *call = &e->calls[i];
        kymo_str_printf(s, "call thread=%u time=%" PRIu64 " kind=%u depth=%u missing=%u", e->thread,
                        call->time_ns, call->kind, call->depth, call->missing);
        put_id(s, "script", call->script);
        kymo_str_puts(s, "\n");
    }
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

kymo_err event_text_wait(void *ctx, const kymo_event_wait *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "wait %u", e->wait);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_code(void *ctx, const kymo_event_code *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(
        s, "code process=%u start=%#" PRIx64 " size=%" PRIu64 " from=%" PRIu64 " to=%" PRIu64,
        e->process, e->start, e->size_bytes, e->from_ns, e->to_ns);
    put_text(s, "name", e->name);
    for (uint32_t i = 0; i < e->line_count; i++) {
        const kymo_event_code_line *l = &e->lines[i];
        kymo_str_printf(s, "\n  +%u %s:%u:%u", l->offset, e->files[l->file], l->line, l->column);
    }
    return done(s);
}

static const char *text_of(const kymo_event_symbols *e, uint32_t text)
{
    return text == KYMO_EVENT_NONE ? NULL : e->texts[text];
}

kymo_err event_text_symbols(void *ctx, const kymo_event_symbols *e)
{
    kymo_str *s = ctx;
    const kymo_event_symbol_line *line = e->lines;
    kymo_str_printf(s, "symbols state=%u", e->state);
    put_text(s, "path", e->path);
    kymo_str_puts(s, " build_id=");
    for (uint32_t i = 0; i < e->build_id_len; i++)
        kymo_str_printf(s, "%02x", e->build_id[i]);
    for (uint32_t i = 0; i < e->address_count; i++) {
        const kymo_event_symbol_address *a = &e->addresses[i];
        kymo_str_printf(s, "\n  %#" PRIx64 " named=%u", a->address, a->named);
        if (a->symbol != KYMO_EVENT_NONE) {
            const kymo_event_symbol *symbol = &e->symbols[a->symbol];
            put_text(s, "symbol", e->texts[symbol->name]);
            kymo_str_printf(s, " at %#" PRIx64 "+%" PRIu64, symbol->address, symbol->size_bytes);
        }
        for (uint32_t k = 0; k < a->line_count; k++, line++) {
            const kymo_event_symbol_function *f = &e->functions[line->function];
            kymo_str_printf(s, "\n   ");
            put_text(s, "function", e->texts[f->name]);
            put_text(s, "system", text_of(e, f->system_name));
            put_text(s, "file", text_of(e, f->file));
            kymo_str_printf(s, " start=%u line=%u", f->start_line, line->line);
        }
    }
    return done(s);
}

kymo_err event_text_kernel_symbol(void *ctx, const kymo_event_kernel_symbol *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "kernel_symbol %u address=%#" PRIx64, e->symbol, e->address);
    put_text(s, "name", e->name);
    put_text(s, "module", e->module);
    return done(s);
}

kymo_err event_text_kernel_stack(void *ctx, const kymo_event_kernel_stack *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "kernel_stack %u process=%u depth=%u", e->stack, e->process, e->depth);
    put_id(s, "caller", e->caller);
    kymo_str_puts(s, "\n");
    for (uint32_t i = 0; i < e->depth; i++) {
        kymo_str_printf(s, "  +%#x", e->frames[i].offset);
        put_id(s, "symbol", e->frames[i].symbol);
        kymo_str_puts(s, "\n");
    }
    return s->failed ? KYMO_E_NOMEM : KYMO_OK;
}

/* ---- markers, counters, labels ---- */

kymo_err event_text_marker_category(void *ctx, const kymo_event_marker_category *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "marker_category %u process=%u color=%u flags=%#x", e->category, e->process,
                    e->color, e->flags);
    put_id(s, "parent", e->parent);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_marker_type(void *ctx, const kymo_event_marker_type *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "marker_type %u process=%u show=%#x stack_based=%u max_per_second=%u "
                    "payload=%u line=%u",
                    e->type, e->process, e->show, e->is_stack_based, e->max_per_second,
                    e->payload_bytes, e->line);
    put_text(s, "file", e->file);
    put_text(s, "name", e->name);
    put_text(s, "chart", e->chart);
    put_text(s, "tooltip", e->tooltip);
    put_text(s, "table", e->table);
    put_text(s, "description", e->description);
    put_text(s, "color_key", e->color_key);
    for (uint32_t i = 0; i < e->field_count; i++) {
        const kymo_event_marker_field *f = &e->fields[i];
        kymo_str_printf(s, "\n  field kind=%u format=%u flags=%#x", f->kind, f->format, f->flags);
        put_text(s, "key", f->key);
        put_text(s, "label", f->label);
    }
    for (uint32_t i = 0; i < e->row_count; i++) {
        kymo_str_puts(s, "\n  row");
        put_text(s, "label", e->rows[i].label);
        put_text(s, "value", e->rows[i].value);
    }
    for (uint32_t i = 0; i < e->graph_count; i++) {
        kymo_str_printf(s, "\n  graph kind=%u color=%u", e->graphs[i].kind, e->graphs[i].color);
        put_text(s, "key", e->graphs[i].key);
    }
    return done(s);
}

kymo_err event_text_site(void *ctx, const kymo_event_site *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "site %u process=%u category=%u kind=%u line=%u min=%" PRIu64, e->site,
                    e->process, e->category, e->kind, e->line, e->min_ns);
    put_id(s, "type", e->type);
    put_text(s, "name", e->name);
    put_text(s, "format", e->format);
    put_text(s, "file", e->file);
    put_text(s, "function", e->function);
    return done(s);
}

static kymo_err put_named(kymo_str *s, const char *what, const kymo_event_named *e)
{
    kymo_str_printf(s, "%s %u process=%u", what, e->id, e->process);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_literal(void *ctx, const kymo_event_named *e)
{
    return put_named(ctx, "literal", e);
}

kymo_err event_text_track(void *ctx, const kymo_event_named *e)
{
    return put_named(ctx, "track", e);
}

kymo_err event_text_counter(void *ctx, const kymo_event_counter *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "counter %u process=%u category=%u kind=%u flags=%#x color=%u", e->counter,
                    e->process, e->category, e->kind, e->flags, e->color);
    put_text(s, "name", e->name);
    put_text(s, "unit", e->unit);
    put_text(s, "description", e->description);
    return done(s);
}

kymo_err event_text_marker(void *ctx, const kymo_event_marker *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "marker thread=%u site=%u phase=%u time=%" PRIu64 " start=%" PRIu64,
                    e->thread, e->site, e->phase, e->time_ns, e->start_ns);
    put_id(s, "stack", e->stack);
    put_id(s, "track", e->track);
    kymo_str_printf(s, " id=%#" PRIx64 " owner=%#" PRIx64 " cells=%u%s", e->id, e->owner, e->cells,
                    e->is_open ? " open" : "");
    if (e->made_ns) {
        put_id(s, "maker", e->maker);
        kymo_str_printf(s, " made=%" PRIu64, e->made_ns);
    }
    if (e->name)
        put_text(s, "name", e->name);
    for (uint32_t i = 0; i < e->payload_bytes; i++)
        kymo_str_printf(s, "%s%02x", i % 32 == 0 ? "\n  " : i % 8 == 0 ? " " : "", e->payload[i]);
    return done(s);
}

kymo_err event_text_count(void *ctx, const kymo_event_count *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(
        s, "count process=%u counter=%u time=%" PRIu64 " value=%" PRId64 " operations=%" PRIu64,
        e->process, e->counter, e->time_ns, e->value, e->operations);
    return done(s);
}

kymo_err event_text_label(void *ctx, const kymo_event_label *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "label thread=%u change=%u depth=%u time=%" PRIu64 " kind=%u number=%#" PRIx64,
                    e->thread, e->change, e->depth, e->time_ns, e->kind, e->number);
    put_text(s, "key", e->key);
    put_text(s, "text", e->text);
    if (e->change == KYMO_LABEL_INHERITED)
        kymo_str_printf(s, " from_process=%u from_tid=%d fork=%" PRIu64, e->from_process,
                        e->from_tid, e->fork_ns);
    return done(s);
}

kymo_err event_text_site_counts(void *ctx, const kymo_event_site_counts *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(
        s, "site_counts process=%u site=%u lost=%" PRIu64 " capped=%" PRIu64 " cut=%" PRIu64,
        e->process, e->site, e->lost, e->capped, e->cut);
    return done(s);
}

kymo_err event_text_loss(void *ctx, const kymo_event_loss *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "loss process=%u kind=%u count=%" PRIu64, e->process, e->kind, e->count);
    put_text(s, "name", e->name);
    return done(s);
}

kymo_err event_text_quality(void *ctx, const kymo_event_quality *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s,
                    "quality process=%u samples=%" PRIu64 " handler=%" PRIu64 " disturbed=%" PRIu64
                    " unsampled=%" PRIu64,
                    e->process, e->samples, e->handler_ns, e->disturbed, e->cpu_unsampled_ns);
    return done(s);
}

kymo_err event_text_dropped(void *ctx, const kymo_event_dropped *e)
{
    kymo_str *s = ctx;
    kymo_str_puts(s, "dropped");
    put_id(s, "thread", e->thread);
    kymo_str_printf(s,
                    " ring=%" PRIu64 " samples=%" PRIu64 " weight=%" PRIu64 " unknown=%" PRIu64
                    " wall_samples=%" PRIu64 " wall=%" PRIu64 " markers=%" PRIu64
                    " counts=%" PRIu64,
                    e->ring_bytes, e->samples, e->weight_ns, e->unknown, e->wall_samples,
                    e->wall_ns, e->markers, e->counts);
    return done(s);
}

kymo_err event_text_note(void *ctx, const kymo_event_note *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "note time=%" PRIu64 " severity=%u", e->time_ns, e->severity);
    put_id(s, "process", e->process);
    put_text(s, "text", e->text);
    return done(s);
}

kymo_err event_text_end(void *ctx, const kymo_event_end *e)
{
    kymo_str *s = ctx;
    kymo_str_printf(s, "end time=%" PRIu64 " clean=%u", e->end_ns, e->clean);
    return done(s);
}

const kymo_event_handler event_text_handler = {
#define X(name, type) .name = event_text_##name,
    KYMO_EVENT_LIST(X)
#undef X
};
