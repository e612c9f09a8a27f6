/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_control.c - applies the requests of `kymo control` to all processes of the tree.
 *
 * Categories and rates apply to running processes and to those that attach later. Each thread reads
 * the rate when it next samples, so a process follows immediately. For files, all records from
 * before the request are read first, in turns like everything else. Then a child of the recorder
 * makes the file (file_answer.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "options/options.h"
#include "recorder/tree_state.h"
#include "recording/recording.h"
#include "sys/clock.h"

#define STATUS_BYTES_MAX (1u << 20)

_Static_assert(KYMO_OPTION_LIST_MAX < KYMO_CONTROL_BYTES, "a list fits with its NUL");
_Static_assert(KYMO_CONTROL_LIST_BYTES == KYMO_CONTROL_BYTES, "as a session has it");

void kymo_tree_select_markers(kymo_tree *t, const char *markers)
{
    snprintf(t->markers, sizeof t->markers, "%s", markers);
    if (t->first)
        kymo_host_select(t->first, markers);
    for (size_t i = 0; i < t->images.len; i++)
        kymo_host_select(t->images.data[i]->host, markers);
}

/* Sums are right at any rate, but a pause of recording must be noted. */
static kymo_err tell_rate(const kymo_tree *t, uint64_t rate)
{
    char text[128];
    if (!t->config.events->note)
        return KYMO_OK;
    uint64_t now_ns = kymo_clock_ns(CLOCK_MONOTONIC);
    double at = now_ns > t->start_ns ? (double)(now_ns - t->start_ns) / 1e9 : 0;
    if (rate == 0)
        snprintf(text, sizeof text, "allocations are not recorded from %.3f s on (kymo control)",
                 at);
    else
        snprintf(text, sizeof text,
                 "from %.3f s on one allocation is recorded for each %" PRIu64
                 " bytes (kymo control)",
                 at, rate);
    kymo_event_note e = {now_ns, KYMO_EVENT_NONE, rate ? KYMO_NOTE_INFO : KYMO_NOTE_WARNING, text};
    return t->config.events->note(t->config.events_context, &e);
}

/* In a pause the list holds from its end on. */
void kymo_tree_change_markers(kymo_tree *t, const char *markers)
{
    if (kymo_tree_is_paused(t))
        snprintf(t->kept_markers, sizeof t->kept_markers, "%s", markers);
    else
        kymo_tree_select_markers(t, markers);
}

kymo_err kymo_tree_set_alloc_rate(kymo_tree *t, uint64_t rate)
{
    /* the hooks are in a library that is preloaded only with --alloc */
    if (!t->config.unseen)
        return KYMO_E_UNSUPPORTED;
    if (rate == t->config.alloc_rate)
        return KYMO_OK;
    t->config.alloc_rate = rate;
    if (t->first)
        kymo_host_set_alloc_rate(t->first, rate);
    for (size_t i = 0; i < t->images.len; i++)
        kymo_host_set_alloc_rate(t->images.data[i]->host, rate);
    return tell_rate(t, rate);
}

/* ---- answers that are texts ---- */

static kymo_err send_text(const void *text, size_t len, int connection)
{
    const struct kymo_control_answer answer = {.magic = KYMO_CONTROL_MAGIC};
    int fd = memfd_create("kymo-answer", MFD_CLOEXEC);
    kymo_err err = fd < 0 ? kymo_err_from_errno(errno) : KYMO_OK;
    if (fd >= 0 && write(fd, text, len) != (ssize_t)len)
        err = KYMO_E_IO;
    if (err == KYMO_OK && lseek(fd, 0, SEEK_SET) == 0)
        err = kymo_control_send(connection, &answer, fd);
    if (fd >= 0)
        close(fd);
    return err;
}

static kymo_err answer_status(const kymo_tree *t, int connection)
{
    kymo_bytes text;
    kymo_bytes_init(&text, STATUS_BYTES_MAX);
    kymo_err err = kymo_tree_write_status(t, &text);
    if (err == KYMO_OK)
        err = send_text(text.data, text.len, connection);
    kymo_bytes_deinit(&text);
    return err;
}

static kymo_err answer_categories(const kymo_tree *t, const struct kymo_control_request *request,
                                  int connection)
{
    struct kymo_categories categories = {0};
    kymo_str text = {0};
    int is_all = request->pid == 0 || request->pid == getpid();
    kymo_err err = KYMO_OK;
    for (size_t i = 0; err == KYMO_OK && i < t->images.len; i++)
        if (is_all || t->images.data[i]->pid == request->pid)
            err = kymo_host_add_categories(t->images.data[i]->host, &categories);
    kymo_categories_merge(&categories);
    kymo_categories_write(&categories, &text);
    if (err == KYMO_OK)
        err = send_text(kymo_str_cstr(&text), text.len, connection);
    kymo_str_deinit(&text);
    kymo_categories_deinit(&categories);
    return err;
}

kymo_err kymo_tree_keep_categories(kymo_tree *t, const kymo_host *host)
{
    kymo_str word = {0};
    const struct kymo_categories none = {0};
    int has_names = kymo_categories_unknown(&none, t->asked_markers, &word);
    kymo_str_deinit(&word);
    return has_names ? kymo_host_add_categories(host, &t->categories) : KYMO_OK;
}

kymo_err kymo_tree_tell_unknown_categories(kymo_tree *t, uint64_t end_ns)
{
    kymo_str text = {0};
    kymo_err err = KYMO_OK;
    kymo_categories_merge(&t->categories);
    kymo_str_puts(&text, "markers=: no program had a category named ");
    if (t->recorded && kymo_categories_unknown(&t->categories, t->asked_markers, &text)) {
        kymo_str_puts(&text, t->categories.rows.len ? "; there were: " : ", nor any other");
        kymo_categories_names(&t->categories, &text);
        kymo_event_note e = {end_ns, KYMO_EVENT_NONE, KYMO_NOTE_WARNING, kymo_str_cstr(&text)};
        err = t->config.events->note(t->config.events_context, &e);
    }
    kymo_str_deinit(&text);
    return err;
}

/* ---- requests ---- */

static kymo_err check_heap(const kymo_tree *t, const struct kymo_control_request *request)
{
    const struct kymo_tree_image *image = kymo_tree_find(t, request->pid);
    if (!t->config.unseen || !t->config.writer)
        return KYMO_E_UNSUPPORTED;
    return request->pid == getpid() || (image && image->is_live) ? KYMO_OK : KYMO_E_NOT_FOUND;
}

static kymo_err check_profile(const kymo_tree *t, const struct kymo_control_request *request)
{
    if (!t->config.writer || !kymo_recording_keeps_all(t->config.writer) ||
        (request->show == KYMO_CONTROL_SHOW_WALL && !t->config.wall) ||
        (request->show == KYMO_CONTROL_SHOW_ALLOC && !t->config.unseen))
        return KYMO_E_UNSUPPORTED;
    return KYMO_OK;
}

/* What is wrong with the settings is the answer, not an error of the request. */
static kymo_err change(kymo_tree *t, const char *text)
{
    t->said = (kymo_error){.code = KYMO_OK};
    if (!t->owner.change)
        return KYMO_E_UNSUPPORTED;
    kymo_err err = t->owner.change(t->owner.context, text, &t->said);
    if (err == KYMO_OK)
        t->said = (kymo_error){.code = KYMO_OK};
    else if (t->said.code != err)
        kymo_error_set(&t->said, err, 0, "%s", kymo_err_text(err));
    return KYMO_OK;
}

static kymo_err obey(void *context, const struct kymo_control_request *request)
{
    kymo_tree *t = context;
    KYMO_TRY(kymo_tree_look_at_new(t));
    switch (request->what) {
    case KYMO_CONTROL_MARKERS:
        kymo_tree_change_markers(t, request->markers);
        return KYMO_OK;
    case KYMO_CONTROL_ALLOC:
        return kymo_tree_set_alloc_rate(t, request->rate);
    case KYMO_CONTROL_CATEGORIES:
        return request->pid == 0 || request->pid == getpid() || kymo_tree_find(t, request->pid)
                   ? KYMO_OK
                   : KYMO_E_NOT_FOUND;
    case KYMO_CONTROL_SNAPSHOT:
        return t->config.writer ? KYMO_OK : KYMO_E_UNSUPPORTED;
    case KYMO_CONTROL_PROFILE:
        return check_profile(t, request);
    case KYMO_CONTROL_STATUS:
        return KYMO_OK;
    case KYMO_CONTROL_FLUSH:
        if (!t->owner.flush)
            return KYMO_E_UNSUPPORTED;
        t->owner.flush(t->owner.context);
        return KYMO_OK;
    case KYMO_CONTROL_PAUSE:
        return kymo_tree_pause(t);
    case KYMO_CONTROL_RESUME:
        return kymo_tree_resume(t);
    case KYMO_CONTROL_CPU:
        return kymo_tree_set_cpu_period(t, request->rate);
    case KYMO_CONTROL_WALL:
        return kymo_tree_set_wall_period(t, request->rate);
    case KYMO_CONTROL_SET:
        return change(t, request->markers);
    default:
        return check_heap(t, request);
    }
}

/* Includes processes that are about to attach: they have the new list, or read it when attached.
 * Those that our library is not in have no markers; a pause is the recorder's alone. */
static void count_selected(const kymo_tree *t, int is_pause, struct kymo_control_answer *answer)
{
    for (size_t i = 0; i < t->images.len; i++) {
        if (t->images.data[i]->is_ending)
            continue;
        enum kymo_host_selected selected = kymo_host_selected(t->images.data[i]->host);
        const int holds = is_pause && kymo_host_is_outside(t->images.data[i]->host);
        answer->told += selected == KYMO_HOST_TOLD || holds;
        answer->later += selected == KYMO_HOST_LATER;
    }
}

static kymo_err read_on(const kymo_tree *t, uint64_t asked_ns, struct kymo_control_answer *answer)
{
    for (size_t i = 0; i < t->images.len; i++) {
        const struct kymo_tree_image *image = t->images.data[i];
        if (!image->is_live || image->is_ending)
            continue;
        /* a session that is behind is read in turns */
        if (!kymo_host_has_read(image->host, asked_ns) && !kymo_host_is_behind(image->host))
            KYMO_TRY(kymo_host_read(image->host));
        answer->later += !kymo_host_has_read(image->host, asked_ns);
    }
    return KYMO_OK;
}

static kymo_err count(void *context, const struct kymo_control_request *request, uint64_t asked_ns,
                      struct kymo_control_answer *answer)
{
    const kymo_tree *t = context;
    if (request->what == KYMO_CONTROL_PROFILE) {
        asked_ns += request->duration_ns;
        answer->later = kymo_clock_ns(CLOCK_MONOTONIC) < asked_ns;
        if (answer->later)
            return KYMO_OK;
    }
    if (kymo_control_makes_file(request->what))
        return read_on(t, asked_ns, answer);
    if (request->what == KYMO_CONTROL_FLUSH) {
        answer->told = t->interval_ended_ns >= asked_ns;
        answer->later = !answer->told;
        return KYMO_OK;
    }
    if (request->what == KYMO_CONTROL_MARKERS || request->what == KYMO_CONTROL_PAUSE ||
        request->what == KYMO_CONTROL_RESUME) {
        count_selected(t, request->what != KYMO_CONTROL_MARKERS, answer);
        return KYMO_OK;
    }
    if (kymo_control_is_for_file(request->what))
        return KYMO_OK;
    if (request->what == KYMO_CONTROL_CPU)
        answer->period_ns = t->config.period_ns;
    if (request->what == KYMO_CONTROL_WALL)
        answer->period_ns = kymo_wall_period_ns(t->config.wall);
    for (size_t i = 0; i < t->images.len; i++)
        answer->told += t->images.data[i]->is_live && !t->images.data[i]->is_ending;
    return KYMO_OK;
}

static kymo_err answer_file(void *context, const struct kymo_control_request *request,
                            uint64_t asked_ns, int connection)
{
    kymo_tree *t = context;
    const struct kymo_file_source source = {t->config.writer, t->config.spool, &t->past, asked_ns};
    if (request->what == KYMO_CONTROL_CATEGORIES)
        return answer_categories(t, request, connection);
    if (request->what == KYMO_CONTROL_STATUS)
        return answer_status(t, connection);
    if (request->what == KYMO_CONTROL_SET)
        return send_text(t->said.message, t->said.code ? strlen(t->said.message) : 0, connection);
    /* What is only written when it is over or an interval ends: waits, names of generated code. */
    if (request->what == KYMO_CONTROL_PROFILE)
        KYMO_TRY(kymo_tree_end_interval(t));
    /* A program that asks for its newest calls has made them a moment ago. */
    for (size_t i = 0; request->what == KYMO_CONTROL_SNAPSHOT && i < t->images.len; i++)
        if (t->images.data[i]->is_live)
            KYMO_TRY(kymo_host_read_calls(t->images.data[i]->host));
    if (source.recording >= 0)
        KYMO_TRY(kymo_recording_flush(t->config.writer));
    return kymo_file_answers_start(&t->file_answers, &source, request, connection);
}

void kymo_tree_control_init(kymo_tree *t)
{
    kymo_control_server_init(&t->control);
    t->control.obey = obey;
    t->control.count = count;
    t->control.answer = answer_file;
    t->control.context = t;
}
