/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_labels.c - see recording_labels.h.
 *
 * Programs change labels with every request, and an undone change is useless. A pushed label is
 * undone by a change with a depth not above its own; a label that was set, by the next change of
 * its key (even one without a value: it hides a pushed label). The remaining changes keep their
 * times, so they are right for every later sample; they say nothing of earlier ones.
 */
#include "recording/recording_labels.h"

#include <stdlib.h>
#include <string.h>

#include "buffer/record.h"

static void forget(kymo_event_label *e)
{
    free((char *)(uintptr_t)e->key);
    free((char *)(uintptr_t)e->text);
}

void kymo_kept_labels_forget(struct kymo_kept_labels *kept, uint32_t t)
{
    if (t >= kept->threads.len)
        return;
    struct kymo_thread_labels *thread = &kept->threads.data[t];
    for (size_t i = 0; i < thread->live.len; i++)
        forget(&thread->live.data[i]);
    kymo_vec_deinit(&thread->live);
}

void kymo_kept_labels_deinit(struct kymo_kept_labels *kept)
{
    for (uint32_t t = 0; t < kept->threads.len; t++)
        kymo_kept_labels_forget(kept, t);
    kymo_vec_deinit(&kept->threads);
}

static int is_undone(const kymo_event_label *e, const kymo_event_label *by)
{
    if (e->change == KYMO_LABEL_PUSHED)
        return e->depth >= by->depth;
    return e->change == KYMO_LABEL_WAS_SET && by->change == KYMO_LABEL_WAS_SET &&
           strcmp(e->key ? e->key : "", by->key ? by->key : "") == 0;
}

static kymo_err copy_text(const char *text, const char **out)
{
    *out = text ? strdup(text) : NULL;
    return text && !*out ? KYMO_E_NOMEM : KYMO_OK;
}

static kymo_err add(struct kymo_thread_labels *thread, const kymo_event_label *e)
{
    kymo_event_label copy = *e;
    copy.key = copy.text = NULL;
    kymo_err err = copy_text(e->key, &copy.key);
    if (err == KYMO_OK)
        err = copy_text(e->text, &copy.text);
    if (err == KYMO_OK)
        err = kymo_vec_push(&thread->live, copy);
    if (err != KYMO_OK)
        forget(&copy);
    return err;
}

kymo_err kymo_kept_labels_take(struct kymo_kept_labels *kept, const kymo_event_label *e)
{
    const struct kymo_thread_labels none = {.live = {0}};
    while (kept->threads.len <= e->thread)
        KYMO_TRY(kymo_vec_push(&kept->threads, none));
    struct kymo_thread_labels *thread = &kept->threads.data[e->thread];
    size_t n = 0;
    for (size_t i = 0; i < thread->live.len; i++) {
        kymo_event_label *l = &thread->live.data[i];
        if (is_undone(l, e)) {
            forget(l);
            continue;
        }
        /* Inherited labels are below all that the child pushes. */
        if (l->change == KYMO_LABEL_INHERITED && l->depth > e->depth)
            l->depth = e->depth;
        thread->live.data[n++] = *l;
    }
    thread->live.len = n;
    return e->change == KYMO_LABEL_POPPED ? KYMO_OK : add(thread, e);
}

kymo_err kymo_kept_labels_send(const struct kymo_kept_labels *kept, const kymo_event_handler *to,
                               void *ctx)
{
    for (size_t t = 0; t < kept->threads.len; t++)
        for (size_t i = 0; i < kept->threads.data[t].live.len; i++)
            KYMO_TRY(to->label(ctx, &kept->threads.data[t].live.data[i]));
    return KYMO_OK;
}
