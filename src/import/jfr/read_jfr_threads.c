/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_threads.c - threads, and what of them samples have: their state and labels.
 */
#include <string.h>

#include "import/jfr/read_jfr.h"

/* ---- threads ---- */

static kymo_err name_thread(struct kymo_jfr_reader *r, const kymo_jfr_row *row, uint32_t *name)
{
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_JAVA_NAME, name));
    if (*name)
        return KYMO_OK;
    return kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_OS_NAME, name);
}

static kymo_err make_thread(struct kymo_jfr_reader *r, uint64_t key, kymo_jfr_constant *constant)
{
    kymo_jfr_row row;
    uint32_t name;
    const uint32_t *pid = kymo_key_map_find(&r->thread_pids, key);
    kymo_jfr_open_constant(r, KYMO_JFR_THREADS, key, &constant, &row);
    uint64_t tid = kymo_jfr_number(&row, KYMO_JFR_ROLE_OS_ID);
    KYMO_TRY(name_thread(r, &row, &name));
    return kymo_import_thread(r->d, pid ? (int32_t)*pid : r->pid,
                              tid <= INT32_MAX ? (int32_t)tid : 0, name, &constant->made);
}

kymo_err kymo_jfr_find_thread(struct kymo_jfr_reader *r, uint64_t key, uint32_t *place)
{
    static const char unknown[] = "[unknown thread]";
    kymo_jfr_constant *constant = kymo_jfr_find_constant(r, KYMO_JFR_THREADS, key);
    uint32_t name;
    if (!constant) {
        KYMO_TRY(kymo_import_string(r->d, unknown, sizeof unknown - 1, &name));
        return kymo_import_thread(r->d, r->pid, 0, name, place);
    }
    if (constant->made == KYMO_NONE)
        KYMO_TRY(make_thread(r, key, constant));
    *place = constant->made;
    return KYMO_OK;
}

/* ---- states ---- */

static kymo_thread_state state_of_text(kymo_jfr_text text)
{
    static const struct {
        const char *name;
        kymo_thread_state state;
    } states[] = {{"STATE_RUNNABLE", KYMO_STATE_RUNNING},
                  {"STATE_DEFAULT", KYMO_STATE_RUNNING},
                  {"STATE_SLEEPING", KYMO_STATE_SLEEPING},
                  {"STATE_BLOCKED", KYMO_STATE_BLOCKED}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(states); i++)
        if (text.len == strlen(states[i].name) && memcmp(text.data, states[i].name, text.len) == 0)
            return states[i].state;
    return KYMO_STATE_UNKNOWN;
}

kymo_err kymo_jfr_find_state(struct kymo_jfr_reader *r, uint64_t key, kymo_thread_state *state)
{
    kymo_jfr_constant *constant = kymo_jfr_find_constant(r, KYMO_JFR_STATES, key);
    kymo_jfr_text text;
    *state = KYMO_STATE_UNKNOWN;
    if (!constant)
        return KYMO_OK;
    if (constant->made == KYMO_NONE) {
        KYMO_TRY(kymo_jfr_constant_text(r, KYMO_JFR_STATES, key, &text));
        constant->made = state_of_text(text);
    }
    *state = (kymo_thread_state)constant->made;
    return KYMO_OK;
}

/* ---- labels of runs of samples, which Kymo writes ---- */

static kymo_err find_run(struct kymo_jfr_reader *r, uint32_t place, kymo_jfr_run **run)
{
    const kymo_jfr_run none = {.set = KYMO_NONE};
    if (r->runs.len <= place)
        KYMO_TRY(kymo_import_charge(r->d, (r->d->threads.len - r->runs.len) * 2 * sizeof none));
    while (r->runs.len < r->d->threads.len)
        KYMO_TRY(kymo_vec_push(&r->runs, none));
    *run = &r->runs.data[place];
    return KYMO_OK;
}

/* The labels of a run come one by one, before its first sample. */
kymo_err kymo_jfr_take_label(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    kymo_label labels[KYMO_LABEL_SET_MAX];
    kymo_label *label = labels;
    uint32_t place;
    uint32_t count = 0;
    kymo_jfr_run *run;
    KYMO_TRY(kymo_jfr_find_thread(r, kymo_jfr_number(row, KYMO_JFR_ROLE_THREAD), &place));
    KYMO_TRY(find_run(r, place, &run));
    if (!run->is_new)
        *run = (kymo_jfr_run){.set = KYMO_NONE, .is_new = 1};
    const kymo_label *before = kymo_profile_label_set(r->d->profile, run->set, &count);
    if (count == KYMO_LABEL_SET_MAX)
        return KYMO_OK;
    for (uint32_t i = 0; i < count; i++)
        *label++ = before[i];
    *label = (kymo_label){.value = {.kind = KYMO_VALUE_STRING}};
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_KEY, &label->key));
    KYMO_TRY(kymo_jfr_row_string(r, row, KYMO_JFR_ROLE_VALUE, &label->value.as.string));
    run->left = kymo_jfr_number(row, KYMO_JFR_ROLE_SAMPLES);
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_label_set(r->d->profile, labels, count + 1, &run->set);
}

uint32_t kymo_jfr_next_labels(struct kymo_jfr_reader *r, uint32_t place)
{
    if (place >= r->runs.len || r->runs.data[place].left == 0)
        return KYMO_NONE;
    kymo_jfr_run *run = &r->runs.data[place];
    run->left--;
    run->is_new = 0;
    return run->set;
}
