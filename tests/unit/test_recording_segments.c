/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is written in segments says what it says in one file, wherever it is cut: each
 * segment is whole, and what its events refer to is the same.
 */
#include "cut_recording.h"
#include "failing_allocation.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "buffer/record.h"
#include "kymo/marker_abi.h"
#include "profile/ingest.h"

#define OK(call) assert_int_equal((call), KYMO_OK)
#define MOST 64u

/* ---- what a file says, with what it refers to in place of numbers ---- */

typedef KYMO_VEC(char *) texts;

struct meaning {
    texts processes, threads, modules, scripts, stacks, sites, waits, symbols;
    kymo_str *out;
};

static void define(texts *to, uint32_t id, kymo_str *text)
{
    assert_int_equal(id, to->len); /* a reader numbers them densely */
    OK(kymo_vec_push(to, strdup(kymo_str_cstr(text))));
    kymo_str_deinit(text);
}

static const char *text_of(const texts *of, uint32_t id)
{
    if (id == KYMO_EVENT_NONE)
        return "none";
    assert_true(id < of->len);
    return of->data[id];
}

static void free_texts(texts *t)
{
    for (size_t i = 0; i < t->len; i++)
        free(t->data[i]);
    kymo_vec_deinit(t);
}

static kymo_err on_process(void *ctx, const kymo_event_process *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "%d %s %u", e->pid, e->name, e->argc);
    define(&m->processes, e->process, &text);
    return KYMO_OK;
}

static kymo_err on_thread(void *ctx, const kymo_event_thread *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "%d of (%s)", e->tid, text_of(&m->processes, e->process));
    define(&m->threads, e->thread, &text);
    return KYMO_OK;
}

static kymo_err on_module(void *ctx, const kymo_event_module *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "%s %" PRIx64, e->path, e->start);
    define(&m->modules, e->module, &text);
    return KYMO_OK;
}

static kymo_err on_stack(void *ctx, const kymo_event_stack *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "[%u %u:", e->flags, e->end);
    for (uint32_t i = 0; i < e->depth; i++)
        kymo_str_printf(
            &text, " %s+%" PRIx64 "/%u",
            text_of(e->frames[i].flags & KYMO_EVENT_FRAME_SCRIPT ? &m->scripts : &m->modules,
                    e->frames[i].module),
            e->frames[i].address, e->frames[i].flags);
    kymo_str_puts(&text, "]");
    define(&m->stacks, e->stack, &text);
    return KYMO_OK;
}

static kymo_err on_script(void *ctx, const kymo_event_script *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "%s %s %u", e->name, e->file, e->first_line);
    define(&m->scripts, e->script, &text);
    return KYMO_OK;
}

static kymo_err on_kernel_symbol(void *ctx, const kymo_event_kernel_symbol *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_puts(&text, e->name);
    define(&m->symbols, e->symbol, &text);
    return KYMO_OK;
}

static kymo_err on_kernel_stack(void *ctx, const kymo_event_kernel_stack *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    for (uint32_t i = 0; i < e->depth; i++)
        kymo_str_printf(&text, "%s+%u ", text_of(&m->symbols, e->frames[i].symbol),
                        e->frames[i].offset);
    kymo_str_puts(&text, text_of(&m->stacks, e->caller));
    define(&m->stacks, e->stack, &text);
    return KYMO_OK;
}

static kymo_err on_wait(void *ctx, const kymo_event_wait *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_puts(&text, e->name);
    /* 0 is that there is none. */
    if (m->waits.len == 0)
        OK(kymo_vec_push(&m->waits, strdup("no wait")));
    define(&m->waits, e->wait, &text);
    return KYMO_OK;
}

static kymo_err on_site(void *ctx, const kymo_event_site *e)
{
    struct meaning *m = ctx;
    kymo_str text = {0};
    kymo_str_printf(&text, "%s of (%s)", e->name, text_of(&m->processes, e->process));
    define(&m->sites, e->site, &text);
    return KYMO_OK;
}

static kymo_err on_samples(void *ctx, const kymo_event_samples *e)
{
    struct meaning *m = ctx;
    for (uint32_t i = 0; i < e->count; i++) {
        const kymo_event_sample *s = &e->samples[i];
        kymo_str_printf(m->out, "sample of %s: %" PRIu64 " %" PRIu64 " %u %u %s %s\n",
                        text_of(&m->threads, e->thread), s->time_ns, s->weight_ns, s->kind,
                        s->state, s->wait ? text_of(&m->waits, s->wait) : "",
                        text_of(&m->stacks, s->stack));
    }
    return KYMO_OK;
}

static kymo_err on_marker(void *ctx, const kymo_event_marker *e)
{
    struct meaning *m = ctx;
    kymo_str_printf(m->out, "marker of %s: %s %" PRIu64 " %" PRIu64 " %u %s\n",
                    text_of(&m->threads, e->thread), text_of(&m->sites, e->site), e->time_ns,
                    e->start_ns, e->payload_bytes, text_of(&m->stacks, e->stack));
    return KYMO_OK;
}

static void put_block(struct meaning *m, const char *what, const kymo_event_allocation *e)
{
    kymo_str_printf(m->out, "%s of %s: %" PRIu64 " %" PRIx64 " %" PRIu64 " %s\n", what,
                    text_of(&m->threads, e->thread), e->time_ns, e->id, e->bytes,
                    text_of(&m->stacks, e->stack));
}

static kymo_err on_allocation(void *ctx, const kymo_event_allocation *e)
{
    put_block(ctx, "allocation", e);
    return KYMO_OK;
}

static kymo_err on_resize(void *ctx, const kymo_event_resize *e)
{
    put_block(ctx, "resize", &e->now);
    return KYMO_OK;
}

static kymo_err on_free(void *ctx, const kymo_event_free *e)
{
    struct meaning *m = ctx;
    kymo_str_printf(m->out, "free of %s: %" PRIu64 " %" PRIx64 "\n",
                    text_of(&m->threads, e->thread), e->time_ns, e->id);
    return KYMO_OK;
}

static kymo_err on_mapping(void *ctx, const kymo_event_mapping *e)
{
    struct meaning *m = ctx;
    kymo_str_printf(m->out, "mapping of %s: %" PRIu64 " %" PRIx64 " %s\n",
                    text_of(&m->threads, e->thread), e->time_ns, e->address,
                    text_of(&m->stacks, e->stack));
    return KYMO_OK;
}

static kymo_err on_thread_end(void *ctx, const kymo_event_thread_end *e)
{
    struct meaning *m = ctx;
    kymo_str_printf(m->out, "end of %s\n", text_of(&m->threads, e->thread));
    return KYMO_OK;
}

static kymo_err on_note(void *ctx, const kymo_event_note *e)
{
    struct meaning *m = ctx;
    /* Of the child, whose blocks have labels of its parent's. */
    if (strstr(e->text, "before this file begins"))
        return KYMO_OK;
    kymo_str_printf(m->out, "note of %s: %s\n", text_of(&m->processes, e->process), e->text);
    return KYMO_OK;
}

static const kymo_event_handler meaning_handler = {
    .process = on_process,
    .thread = on_thread,
    .thread_end = on_thread_end,
    .module = on_module,
    .script = on_script,
    .stack = on_stack,
    .wait = on_wait,
    .kernel_symbol = on_kernel_symbol,
    .kernel_stack = on_kernel_stack,
    .site = on_site,
    .samples = on_samples,
    .marker = on_marker,
    .allocation = on_allocation,
    .resize = on_resize,
    .free = on_free,
    .mapping = on_mapping,
    .note = on_note,
};

static uint32_t cut_at; /* for messages */

static void read_meaning(int fd, kymo_str *out)
{
    struct meaning m = {.out = out};
    kymo_recording_report report;
    kymo_error detail = {.code = KYMO_OK};
    kymo_err err = kymo_recording_read_fd(fd, KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                                          &meaning_handler, &m, &report, &detail);
    if (err != KYMO_OK)
        fail_msg("cut before event %u: %s", cut_at, detail.message);
    texts *all[] = {&m.processes, &m.threads, &m.modules, &m.scripts,
                    &m.stacks,    &m.sites,   &m.waits,   &m.symbols};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(all); i++)
        free_texts(all[i]);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A cut puts out what is pending: rows of one kind may come before those of another. */
static void sort_lines(kymo_str *text)
{
    KYMO_VEC(char *) lines = {0};
    char *copy = strdup(kymo_str_cstr(text));
    for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"))
        OK(kymo_vec_push(&lines, line));
    assert_true(lines.len > 0);
    qsort(lines.data, lines.len, sizeof *lines.data, compare_lines);
    kymo_str_deinit(text);
    for (size_t i = 0; i < lines.len; i++)
        kymo_str_printf(text, "%s\n", lines.data[i]);
    kymo_vec_deinit(&lines);
    free(copy);
}

static void it_means_the_same_wherever_it_is_cut(void **state)
{
    (void)state;
    struct cut c;
    kymo_str whole = {0};
    const uint32_t events =
        write_cut(&c, sample_recording_emit, kymo_recording_begin_segment, 0, 0);
    read_meaning(c.parts[0].fd, &whole);
    sort_lines(&whole);
    close_cut(&c);
    /* Not before META, nor when all is over. */
    for (uint32_t at = 1; at < events; at++) {
        kymo_str cut = {0};
        write_cut(&c, sample_recording_emit, kymo_recording_begin_segment, at, 0);
        cut_at = at;
        assert_int_equal(c.count, 2);
        read_meaning(c.parts[0].fd, &cut);
        read_meaning(c.parts[1].fd, &cut);
        sort_lines(&cut);
        assert_string_equal(kymo_str_cstr(&cut), kymo_str_cstr(&whole));
        kymo_str_deinit(&cut);
        close_cut(&c);
    }
    kymo_str_deinit(&whole);
}

/* ---- what lives ---- */

#define WRITE(what, ...)                                   \
    do {                                                   \
        const kymo_event_##what e_ = __VA_ARGS__;          \
        KYMO_TRY(kymo_recording_write_##what((w), &(e_))); \
    } while (0)

static kymo_err write_process(kymo_recording_writer *w, uint32_t process, int32_t parent_pid)
{
    const kymo_event_frame frame = {0x10 + process, process, 0};
    WRITE(process, {.process = process,
                    .pid = 10 + (int32_t)process,
                    .parent_pid = parent_pid,
                    .start_ns = 5});
    WRITE(module, {.process = process, .module = process, .start = 1, .end = 2, .path = "m"});
    WRITE(stack, {.process = process, .depth = 1, .frames = &frame});
    WRITE(thread, {.thread = process, .process = process, .tid = 10 + (int32_t)process});
    return KYMO_OK;
}

static kymo_err write_block(kymo_recording_writer *w, uint32_t thread, uint64_t id)
{
    WRITE(allocation, {.thread = thread,
                       .time_ns = id,
                       .id = id,
                       .address = 0x1000 * id,
                       .bytes = 100,
                       .rate = 50});
    return KYMO_OK;
}

static kymo_err write_half(kymo_recording_writer *w, uint32_t phase, uint32_t site, uint64_t id,
                           uint64_t time_ns)
{
    static const struct kymo_record_cell cell = {.kind = KYMO_KIND_U64, .value = 42};
    WRITE(marker, {.thread = 1,
                   .site = site,
                   .phase = phase,
                   .stack = KYMO_EVENT_NONE,
                   .time_ns = time_ns,
                   .id = id,
                   .track = KYMO_EVENT_NONE,
                   .cells = 1,
                   .payload = (const uint8_t *)&cell,
                   .payload_bytes = sizeof cell,
                   .name = time_ns == 31 ? "of Ann" : NULL});
    return KYMO_OK;
}

/* A child that lives on has a block of its parent's, which ended, one with labels, and one of a
 * thread that ended. */
static kymo_err write_lives(kymo_recording_writer *w)
{
    WRITE(meta, {.start_ns = 1});
    KYMO_TRY(write_process(w, 0, 1));
    KYMO_TRY(write_block(w, 0, 10));
    KYMO_TRY(write_process(w, 1, 10));
    WRITE(inherit, {.thread = 1, .time_ns = 11, .id = 10, .address = 0xa000});
    WRITE(process_end, {.process = 0, .end_ns = 12});
    WRITE(
        label,
        {.thread = 1, .change = 1, .time_ns = 13, .kind = KYMO_KIND_TEXT, .key = "u", .text = "a"});
    WRITE(label, {.thread = 1,
                  .change = 1,
                  .depth = 1,
                  .time_ns = 14,
                  .kind = KYMO_KIND_U64,
                  .key = "n",
                  .number = 7});
    KYMO_TRY(write_block(w, 1, 15));
    WRITE(label, {.thread = 1, .change = KYMO_LABEL_POPPED, .depth = 1, .time_ns = 16});
    KYMO_TRY(write_block(w, 1, 17));
    WRITE(free, {.thread = 1, .time_ns = 18, .id = 17});
    WRITE(thread, {.thread = 70, .process = 1, .tid = 77});
    KYMO_TRY(write_block(w, 70, 19));
    WRITE(thread_end, {.thread = 70, .end_ns = 20});
    WRITE(counter, {.process = 1, .category = KYMO_EVENT_NONE, .name = "c"});
    WRITE(count, {.process = 1, .time_ns = 21, .value = 3, .operations = 2});
    static const char *const names[] = {"", "request", "query"};
    for (uint32_t site = 1; site < KYMO_ARRAY_LEN(names); site++)
        WRITE(site, {.process = 1,
                     .site = site,
                     .category = KYMO_EVENT_NONE,
                     .type = KYMO_EVENT_NONE,
                     .kind = KYMO_SITE_VALUES,
                     .name = names[site]});
    KYMO_TRY(write_half(w, KYMO_PHASE_BEGIN, 1, 5, 31)); /* stays, with its name and payload */
    KYMO_TRY(write_half(w, KYMO_PHASE_BEGIN, 2, 5, 32)); /* ended by its name, the latest one */
    KYMO_TRY(write_half(w, KYMO_PHASE_BEGIN, 1, 5, 33));
    KYMO_TRY(write_half(w, KYMO_PHASE_END, 2, 5, 34));
    KYMO_TRY(write_half(w, KYMO_PHASE_END, 1, 5, 35));
    KYMO_TRY(write_half(w, KYMO_PHASE_BEGIN, 2, 6, 36)); /* ended by its number */
    KYMO_TRY(write_half(w, KYMO_PHASE_END, 1, 6, 37));
    KYMO_TRY(write_half(w, KYMO_PHASE_END, 1, 7, 38));   /* of nothing that is known */
    KYMO_TRY(write_half(w, KYMO_PHASE_BEGIN, 2, 0, 39)); /* without a number it cannot end */
    WRITE(loss, {.process = 1, .kind = 4, .count = 1, .name = "l"});
    WRITE(loss, {.process = 1, .kind = 4, .count = 2, .name = "l"});
    return KYMO_OK;
}

/* A process that ended is known for a while; then nothing is kept of it but what a child has. */
static kymo_err write_others(kymo_recording_writer *w)
{
    for (uint32_t process = 2; process < 40; process++) {
        KYMO_TRY(write_process(w, process, 1));
        KYMO_TRY(write_block(w, process, 1000 + process));
        WRITE(process_end, {.process = process, .end_ns = 19});
    }
    return KYMO_OK;
}

static kymo_err write_two(void *context)
{
    const kymo_event_end end = {.end_ns = 30, .clean = 1};
    const int *fd = context;
    kymo_recording_writer *w = NULL;
    for (int i = 0; i < 2; i++)
        if (ftruncate(fd[i], 0) != 0 || lseek(fd[i], 0, SEEK_SET) != 0)
            return KYMO_E_IO;
    KYMO_TRY(kymo_recording_writer_create(fd[0], 0, &w));
    kymo_recording_keep_definitions(w);
    kymo_err err = write_lives(w);
    if (err == KYMO_OK)
        err = write_others(w);
    if (err == KYMO_OK)
        err = kymo_recording_write_end(w, &end);
    if (err == KYMO_OK && !kymo_recording_knows_allocations(w))
        err = KYMO_E_INVALID;
    if (err == KYMO_OK)
        err = kymo_recording_begin_segment(w, fd[1]);
    if (err == KYMO_OK)
        err = write_block(w, 1, 2000);
    if (err == KYMO_OK)
        err = kymo_recording_write_end(w, &end);
    kymo_recording_writer_destroy(w);
    return err;
}

static void what_lives_is_in_the_next_segment(void **state)
{
    (void)state;
    const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
    kymo_recording_report report;
    kymo_str text = {0};
    OK(write_two((void *)(uintptr_t)fd));
    OK(kymo_recording_read_fd(fd[1], KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                              &event_text_handler, &text, &report, NULL));
    /* Numbers are the reader's: process 0 is the child, process 1 its parent. */
    static const char *const there[] = {
        "process 1 pid=10 ",
        "counter 0 process=0 ",
        "loss process=0 kind=4 count=2 ",
        "count process=0 counter=0 time=21 value=3 operations=2",
        "label thread=0 change=1 depth=0 time=13 kind=14 number=0 key=\"u\" text=\"a\"",
        "live thread=0 of=1 time=5 birth=5 id=0xa ",
        "live thread=0 of=0 time=15 birth=15 id=0xf ",
        " n=9:7: u=14:0:a",
        "live thread=1 of=0 time=19 birth=19 id=0x13 ",
        "allocation thread=0 time=2000 ",
        "marker thread=0 site=0 phase=2 time=31 start=0 stack=none ",
        " id=0x5 owner=0 cells=1 name=\"of Ann\"",
    };
    static const char *const gone[] = {"process 2 ", "thread 2 ", "key=\"n\"", "id=0x11",
                                       "count=1 ",   "time=32",   "time=33",   "time=36",
                                       "phase=3",    "time=39"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(there); i++)
        if (!strstr(kymo_str_cstr(&text), there[i]))
            fail_msg("no %s in %s", there[i], kymo_str_cstr(&text));
    for (size_t i = 0; i < KYMO_ARRAY_LEN(gone); i++)
        if (strstr(kymo_str_cstr(&text), gone[i]))
            fail_msg("%s in %s", gone[i], kymo_str_cstr(&text));
    kymo_str_deinit(&text);
    close(fd[0]);
    close(fd[1]);
}

static void each_allocation_fails_once(void **state)
{
    (void)state;
    const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
    assert_true(fail_each_allocation(write_two, (void *)(uintptr_t)fd) > 40);
    close(fd[0]);
    close(fd[1]);
}

/* ---- an interval ---- */

static kymo_err write_figures(kymo_recording_writer *w, uint64_t n)
{
    const kymo_event_sample sample = {.time_ns = 10 * n, .weight_ns = 7, .stack = KYMO_EVENT_NONE};
    WRITE(samples, {.thread = 0, .count = 1, .samples = &sample});
    WRITE(loss, {.process = 0, .kind = 4, .count = 5 * n, .name = "l"});
    WRITE(quality, {.process = 0,
                    .samples = 10 * n,
                    .handler_ns = 20 * n,
                    .disturbed = n,
                    .cpu_unsampled_ns = 2 * n});
    WRITE(site_counts, {.process = 0, .site = 1, .lost = 3 * n, .capped = 4 * n, .cut = n});
    WRITE(heap, {.process = 0, .rate = 50, .count = 100 * n, .bytes = 1000 * n});
    return KYMO_OK;
}

static kymo_err write_with_site(kymo_recording_writer *w)
{
    KYMO_TRY(write_process(w, 0, 1));
    WRITE(site, {.process = 0,
                 .site = 1,
                 .category = KYMO_EVENT_NONE,
                 .type = KYMO_EVENT_NONE,
                 .kind = KYMO_SITE_VALUES,
                 .name = "s"});
    return KYMO_OK;
}

static kymo_err write_intervals(const int *fd)
{
    const struct kymo_interval_start start = {1000, 5000};
    kymo_recording_writer *w = NULL;
    KYMO_TRY(kymo_recording_writer_create(fd[0], 0, &w));
    kymo_recording_keep_definitions(w);
    WRITE(meta, {.start_ns = 1, .start_realtime_ns = 4001});
    KYMO_TRY(write_with_site(w));
    KYMO_TRY(write_figures(w, 1));
    WRITE(end, {.end_ns = 1000});
    KYMO_TRY(kymo_recording_begin_interval(w, fd[1], &start));
    KYMO_TRY(write_figures(w, 3));
    WRITE(thread_end, {.thread = 0, .end_ns = 1100, .cpu_ns = 20, .cpu_tail_ns = 6});
    WRITE(process_end, {.process = 0, .end_ns = 1100, .user_ns = 10, .system_ns = 12});
    /* Of a process that was forgotten long ago. */
    WRITE(quality, {.process = 7, .samples = 1});
    WRITE(note, {.process = 7, .time_ns = 1100, .text = "left"});
    WRITE(end, {.end_ns = 1200, .clean = 1});
    kymo_recording_writer_destroy(w);
    return KYMO_OK;
}

static void an_interval_counts_from_its_begin(void **state)
{
    (void)state;
    const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
    kymo_recording_report report;
    kymo_str text = {0};
    OK(write_intervals(fd));
    OK(kymo_recording_read_fd(fd[1], KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                              &event_text_handler, &text, &report, NULL));
    static const char *const there[] = {
        "meta start=1000 realtime=5000 ",
        "loss process=0 kind=4 count=0 ",
        "loss process=0 kind=4 count=10 ",
        "quality process=0 samples=20 handler=40 disturbed=2 unsampled=4",
        "site_counts process=0 site=0 lost=6 capped=8 cut=2",
        " count=200 bytes=2000 ",
        "thread_end 0 end=1100 cpu=13 tail=6",
        "user=6 system=9",
        "note time=1100 severity=0 process=none text=\"left\"",
    };
    for (size_t i = 0; i < KYMO_ARRAY_LEN(there); i++)
        if (!strstr(kymo_str_cstr(&text), there[i]))
            fail_msg("no \"%s\" in:\n%s", there[i], kymo_str_cstr(&text));
    kymo_str_deinit(&text);
    close(fd[0]);
    close(fd[1]);
}

/* A disk that is full costs the interval, and nothing of the next one. */
static void later_segments_say_new_periods(void **state)
{
    (void)state;
    const struct kymo_interval_start start = {1000, 5000};
    for (int has_wall = 0; has_wall < 2; has_wall++) {
        const int fd[] = {memfd_create("first", MFD_CLOEXEC), memfd_create("second", MFD_CLOEXEC)};
        kymo_recording_writer *w = NULL;
        kymo_recording_report report;
        kymo_str text = {0};
        OK(kymo_recording_writer_create(fd[0], 0, &w));
        kymo_recording_keep_definitions(w);
        kymo_recording_set_periods(w, 7, 7); /* before there is anything */
        OK(kymo_recording_write_meta(w, &(kymo_event_meta){.start_ns = 1,
                                                           .period_ns = 100,
                                                           .wall_period_ns = has_wall ? 200 : 0}));
        kymo_recording_set_periods(w, 300, 400);
        OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 1000}));
        OK(kymo_recording_begin_interval(w, fd[1], &start));
        OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 2000}));
        kymo_recording_writer_destroy(w);
        for (int i = 0; i < 2; i++) {
            OK(kymo_recording_read_fd(fd[i], KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                                      &event_text_handler, &text, &report, NULL));
            close(fd[i]);
        }
        assert_non_null(strstr(kymo_str_cstr(&text), "period=100 "));
        assert_non_null(strstr(kymo_str_cstr(&text), "period=300 "));
        assert_int_equal(strstr(kymo_str_cstr(&text), " wall=200") != NULL, has_wall);
        assert_int_equal(strstr(kymo_str_cstr(&text), " wall=400") != NULL, has_wall);
        kymo_str_deinit(&text);
    }
}

static void a_full_disk_costs_one_interval(void **state)
{
    (void)state;
    const struct kymo_interval_start start = {1000, 5000};
    const int full = memfd_create("full", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int next = memfd_create("next", MFD_CLOEXEC);
    kymo_recording_writer *w = NULL;
    kymo_recording_report report;
    kymo_error detail;
    kymo_str text = {0};
    assert_int_equal(fcntl(full, F_ADD_SEALS, F_SEAL_GROW), 0);
    OK(kymo_recording_writer_create(full, KYMO_RECORDING_INTERVALS, &w));
    kymo_recording_keep_definitions(w);
    OK(kymo_recording_write_meta(w, &(kymo_event_meta){.start_ns = 1}));
    OK(kymo_recording_flush(w));
    OK(write_with_site(w));
    OK(write_figures(w, 1));
    OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 1000}));
    assert_int_not_equal(kymo_recording_missed(w, &detail), KYMO_OK);
    OK(kymo_recording_begin_interval(w, next, &start));
    OK(kymo_recording_missed(w, NULL));
    OK(write_figures(w, 2));
    OK(kymo_recording_write_end(w, &(kymo_event_end){.end_ns = 2000}));
    OK(kymo_recording_missed(w, NULL));
    kymo_recording_writer_destroy(w);
    OK(kymo_recording_read_fd(next, KYMO_RECORDING_STRICT | KYMO_RECORDING_BY_OFFSET,
                              &event_text_handler, &text, &report, NULL));
    assert_non_null(strstr(kymo_str_cstr(&text), "process 0 pid=10 "));
    assert_non_null(strstr(kymo_str_cstr(&text), "loss process=0 kind=4 count=5 "));
    kymo_str_deinit(&text);
    close(full);
    close(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_means_the_same_wherever_it_is_cut),
        cmocka_unit_test(what_lives_is_in_the_next_segment),
        cmocka_unit_test(each_allocation_fails_once),
        cmocka_unit_test(an_interval_counts_from_its_begin),
        cmocka_unit_test(later_segments_say_new_periods),
        cmocka_unit_test(a_full_disk_costs_one_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
