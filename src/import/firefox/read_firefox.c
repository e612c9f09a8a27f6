/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_firefox.c - processed profiles of the Firefox Profiler, up to version 66.
 *
 * Keys of an object come in any order, so a first pass notes where each value begins; it also
 * finds every fault of the JSON. Tables of stacks are those of the thread where it has them, else
 * those of the whole file; from version 56 on threads with tables have no strings of their own.
 */
#include "import/firefox/read_firefox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static int has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

int kymo_firefox_is(const char *head, size_t len)
{
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", head[at]))
        at++;
    return at < len && head[at] == '{' &&
           (has(head, len, "preprocessedProfileVersion") ||
            (has(head, len, "\"meta\"") && has(head, len, "\"interval\"")));
}

kymo_err kymo_firefox_check(struct kymo_firefox_reader *r, const kymo_json_read *j,
                            const char *what)
{
    if (!j->failed)
        return KYMO_OK;
    if (j->at >= j->len)
        return kymo_import_cut(r->d);
    return kymo_import_fault(r->d, j->at, "no valid JSON, in %s", what);
}

kymo_err kymo_firefox_find(struct kymo_firefox_reader *r, kymo_firefox_place object,
                           const char *const *keys, kymo_firefox_place *const *places, size_t count)
{
    kymo_json_read j = kymo_firefox_open(r, object);
    kymo_json_text key;
    kymo_json_enter(&j, '{');
    while (kymo_json_next_member(&j, &key)) {
        for (size_t i = 0; i < count; i++)
            if (kymo_json_is_text(&key, keys[i]) && kymo_json_peek(&j))
                *places[i] = j.at;
        kymo_json_skip(&j);
    }
    return kymo_firefox_check(r, &j, "an object");
}
#define FIND(r, object, keys, ...)                                                       \
    kymo_firefox_find((r), (object), (keys), (kymo_firefox_place *const[]){__VA_ARGS__}, \
                      KYMO_ARRAY_LEN(keys))

kymo_err kymo_firefox_string(struct kymo_firefox_reader *r, const kymo_json_text *text,
                             uint32_t *string)
{
    if (!text->has_escapes)
        return kymo_import_string(r->d, text->data, text->len, string);
    r->text.len = 0;
    KYMO_TRY(kymo_vec_reserve(&r->text, text->len));
    return kymo_import_string(r->d, r->text.data, kymo_json_unescape(text, r->text.data), string);
}

/* The string at a place, "" if it is none. */
static kymo_err string_at(struct kymo_firefox_reader *r, kymo_firefox_place place, uint32_t *string)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    kymo_json_text text;
    *string = 0;
    if (place == 0 || kymo_json_peek(&j) != '"')
        return KYMO_OK;
    kymo_json_read_text(&j, &text);
    return kymo_firefox_string(r, &text, string);
}

/* The number at a place, times 10^digits; 0 if it is none. */
static int64_t number_at(const struct kymo_firefox_reader *r, kymo_firefox_place place,
                         unsigned digits)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    char c = place ? kymo_json_peek(&j) : 0;
    return c == '-' || (c >= '0' && c <= '9') ? kymo_json_read_scaled(&j, digits) : 0;
}

static const char *text_of(const struct kymo_firefox_reader *r, uint32_t string)
{
    return string ? kymo_profile_string(r->d->profile, string) : NULL;
}

/* ---- meta ---- */

static kymo_err read_units(struct kymo_firefox_reader *r, kymo_firefox_place units)
{
    static const char *const keys[] = {"threadCPUDelta"};
    kymo_firefox_place cpu = 0;
    kymo_json_read j = kymo_firefox_open(r, units);
    uint32_t unit;
    if (units == 0 || kymo_json_peek(&j) != '{')
        return KYMO_OK;
    KYMO_TRY(FIND(r, units, keys, &cpu));
    KYMO_TRY(string_at(r, cpu, &unit));
    const char *text = kymo_profile_string(r->d->profile, unit);
    r->cpu_factor = strcmp(text, "ns") == 0 ? 1 : strcmp(text, "\xc2\xb5s") == 0 ? 1000 : 0;
    return KYMO_OK;
}

static kymo_err check_version(struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    if (place == 0)
        return kymo_import_unsupported(
            r->d, r->meta,
            "not a processed profile: open it at https://profiler.firefox.com and save it there");
    r->version = number_at(r, place, 0);
    if (r->version > KYMO_FIREFOX_VERSION_MAX)
        return kymo_error_set(r->d->detail, KYMO_E_VERSION, place,
                              "a Firefox profile of version %lld; up to %d are read",
                              (long long)r->version, KYMO_FIREFOX_VERSION_MAX);
    return KYMO_OK;
}

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static kymo_err read_meta(struct kymo_firefox_reader *r)
{
    static const char *const keys[] = {"preprocessedProfileVersion",
                                       "product",
                                       "startTime",
                                       "profilingEndTime",
                                       "sampleUnits",
                                       "oscpu",
                                       "CPUName",
                                       "interval"};
    kymo_firefox_place version = 0, product = 0, start = 0, end = 0, units = 0, os = 0, cpu = 0;
    kymo_firefox_place interval = 0;
    uint32_t strings[3];
    KYMO_TRY(
        FIND(r, r->meta, keys, &version, &product, &start, &end, &units, &os, &cpu, &interval));
    KYMO_TRY(check_version(r, version));
    KYMO_TRY(read_units(r, units));
    KYMO_TRY(string_at(r, product, &strings[0]));
    KYMO_TRY(string_at(r, os, &strings[1]));
    KYMO_TRY(string_at(r, cpu, &strings[2]));
    const kymo_meta meta = {.size = sizeof meta,
                            .format = r->d->format,
                            .product = text_of(r, strings[0]),
                            .os = text_of(r, strings[1]),
                            .cpu_name = text_of(r, strings[2]),
                            .origin_realtime_ns = positive(number_at(r, start, 6)),
                            .end_ns = positive(number_at(r, end, 6)),
                            .period_ns = positive(number_at(r, interval, 6))};
    return kymo_profile_set_meta(r->d->profile, &meta);
}

/* ---- libs ---- */

/* The file says where in a library a frame is, not where the library was: they get places one after
 * the other. */
#define LIB_BYTES (1ull << 32)
#define LIB_STEP (2 * LIB_BYTES)

static kymo_err read_lib(struct kymo_firefox_reader *r, kymo_firefox_place place, uint32_t process)
{
    static const char *const keys[] = {"path", "name", "codeId"};
    kymo_firefox_place path = 0, name = 0, code_id = 0;
    uint32_t strings[3];
    uint32_t id;
    uint64_t base = (r->modules.len + 1) * LIB_STEP;
    KYMO_TRY(FIND(r, place, keys, &path, &name, &code_id));
    KYMO_TRY(string_at(r, path, &strings[0]));
    KYMO_TRY(string_at(r, name, &strings[1]));
    KYMO_TRY(string_at(r, code_id, &strings[2]));
    if (!strings[0])
        strings[0] = strings[1];
    kymo_module module = {.size = sizeof module,
                          .process = process,
                          .path = strings[0] ? text_of(r, strings[0]) : "[unknown]",
                          .name = text_of(r, strings[1]),
                          .start = base,
                          .end = base + LIB_BYTES,
                          .load_bias = base};
    /* The whole one on Linux. */
    kymo_import_build_id(&module, kymo_profile_string(r->d->profile, strings[2]),
                         kymo_profile_string_len(r->d->profile, strings[2]));
    KYMO_TRY(kymo_import_check_room(r->d));
    KYMO_TRY(kymo_profile_add_module(r->d->profile, &module, &id));
    return kymo_vec_push(&r->modules, id);
}

static kymo_err read_libs(struct kymo_firefox_reader *r)
{
    kymo_json_read j = kymo_firefox_open(r, r->libs);
    if (r->libs == 0)
        return KYMO_OK;
    kymo_json_enter(&j, '[');
    while (kymo_json_next_element(&j)) {
        if (!kymo_json_peek(&j))
            break;
        KYMO_TRY(read_lib(r, j.at, 0));
        kymo_json_skip(&j);
    }
    return kymo_firefox_check(r, &j, "libs");
}

/* ---- threads ---- */

struct thread {
    kymo_firefox_place name, pid, tid, process_name, is_main, samples, start;
    kymo_firefox_place strings, string_table, stacks; /* it has these tables of its own */
};

static kymo_err find_thread(struct kymo_firefox_reader *r, kymo_firefox_place place,
                            struct thread *t)
{
    static const char *const keys[] = {"name",         "pid",       "tid",          "processName",
                                       "isMainThread", "samples",   "registerTime", "stringArray",
                                       "stringTable",  "stackTable"};
    *t = (struct thread){0};
    return FIND(r, place, keys, &t->name, &t->pid, &t->tid, &t->process_name, &t->is_main,
                &t->samples, &t->start, &t->strings, &t->string_table, &t->stacks);
}

/* The pid as text: another image of a process has "200.1". */
static kymo_err pid_string(struct kymo_firefox_reader *r, kymo_firefox_place place,
                           uint32_t *string)
{
    char text[24];
    kymo_json_read j = kymo_firefox_open(r, place);
    if (place == 0 || kymo_json_peek(&j) == '"')
        return string_at(r, place, string);
    snprintf(text, sizeof text, "%lld", (long long)number_at(r, place, 0));
    return kymo_import_string(r->d, text, strlen(text), string);
}

static int32_t number_of(const char *text)
{
    long value = strtol(text, NULL, 10);
    return value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

/* Most files have few processes, whose threads are next to each other. */
static kymo_err find_process(struct kymo_firefox_reader *r, const struct thread *t,
                             uint32_t *process)
{
    uint32_t pid;
    uint32_t name;
    KYMO_TRY(pid_string(r, t->pid, &pid));
    for (size_t i = r->pids.len; i-- > 0;)
        if (r->pids.data[i] == pid) {
            *process = (uint32_t)i;
            return KYMO_OK;
        }
    KYMO_TRY(string_at(r, t->process_name, &name));
    if (r->pids.len >= KYMO_FIREFOX_PROCESSES_MAX)
        return kymo_import_unsupported(r->d, t->pid, "more than %u processes",
                                       KYMO_FIREFOX_PROCESSES_MAX);
    const kymo_process row = {.size = sizeof row,
                              .pid = number_of(kymo_profile_string(r->d->profile, pid)),
                              .name = text_of(r, name),
                              .exit_status = -1,
                              .is_main = r->pids.len == 0};
    KYMO_TRY(kymo_vec_push(&r->pids, pid));
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_process(r->d->profile, &row, process);
}

static int is_true(const struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    kymo_json_read j = kymo_firefox_open(r, place);
    return place && kymo_json_peek(&j) == 't';
}

static kymo_err add_thread(struct kymo_firefox_reader *r, const struct thread *t, uint32_t *id)
{
    uint32_t tid;
    uint32_t name;
    kymo_thread row = {.size = sizeof row, .is_main = (uint32_t)is_true(r, t->is_main)};
    KYMO_TRY(find_process(r, t, &row.process));
    KYMO_TRY(pid_string(r, t->tid, &tid));
    KYMO_TRY(string_at(r, t->name, &name));
    row.tid = number_of(kymo_profile_string(r->d->profile, tid));
    row.name = text_of(r, name);
    row.start_ns = positive(number_at(r, t->start, 6));
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_thread(r->d->profile, &row, id);
}

static kymo_err read_thread(struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    struct thread t;
    struct kymo_firefox_tables own = {0};
    uint32_t id;
    KYMO_TRY(find_thread(r, place, &t));
    if (r->modules.len == 0 && r->pids.len == 0)
        KYMO_TRY(find_process(r, &t, &id));
    KYMO_TRY(add_thread(r, &t, &id));
    if (t.samples == 0)
        return KYMO_OK;
    if (!t.stacks)
        return kymo_firefox_read_samples(r, t.samples, &r->of_file, id);
    if (!t.strings && !t.string_table)
        own.texts = &r->of_file;
    kymo_err err = kymo_firefox_read_tables(r, place, &own);
    if (err == KYMO_OK)
        err = kymo_firefox_read_samples(r, t.samples, &own, id);
    kymo_firefox_free_tables(r, &own);
    return err;
}

/* The first pass: which weights there are, and the process that the libs are given to. */
static kymo_err look_at_thread(struct kymo_firefox_reader *r, kymo_firefox_place place)
{
    struct thread t;
    uint32_t process;
    KYMO_TRY(find_thread(r, place, &t));
    if (r->pids.len == 0)
        KYMO_TRY(find_process(r, &t, &process));
    return t.samples ? kymo_firefox_look_at_samples(r, t.samples) : KYMO_OK;
}

static kymo_err each_thread(struct kymo_firefox_reader *r,
                            kymo_err (*visit)(struct kymo_firefox_reader *, kymo_firefox_place))
{
    kymo_json_read j = kymo_firefox_open(r, r->threads);
    kymo_json_enter(&j, '[');
    while (kymo_json_next_element(&j)) {
        if (!kymo_json_peek(&j))
            break;
        KYMO_TRY(visit(r, j.at));
        kymo_json_skip(&j);
    }
    return kymo_firefox_check(r, &j, "threads");
}

/* ---- the whole ---- */

/* Every fault of the text is found here. */
static kymo_err find_parts(struct kymo_firefox_reader *r)
{
    static const char *const keys[] = {"meta", "libs", "threads", "shared"};
    kymo_json_read j = kymo_firefox_open(r, 0);
    kymo_json_skip(&j);
    KYMO_TRY(kymo_firefox_check(r, &j, "the file"));
    if (kymo_json_peek(&j))
        return kymo_import_fault(r->d, j.at, "there is more after the profile");
    KYMO_TRY(FIND(r, 0, keys, &r->meta, &r->libs, &r->threads, &r->shared));
    if (!r->meta || !r->threads)
        return kymo_import_fault(r->d, 0, "it has no '%s'", r->meta ? "threads" : "meta");
    return KYMO_OK;
}

static kymo_err read_all(struct kymo_firefox_reader *r)
{
    KYMO_TRY(find_parts(r));
    KYMO_TRY(read_meta(r));
    KYMO_TRY(each_thread(r, look_at_thread));
    KYMO_TRY(kymo_firefox_set_types(r));
    if (r->pids.len == 0)
        return KYMO_OK;
    KYMO_TRY(read_libs(r));
    if (r->shared)
        KYMO_TRY(kymo_firefox_read_tables(r, r->shared, &r->of_file));
    return each_thread(r, read_thread);
}

kymo_err kymo_firefox_read(kymo_importer *d)
{
    struct kymo_firefox_reader r = {.d = d};
    kymo_err err = read_all(&r);
    kymo_firefox_free_tables(&r, &r.of_file);
    kymo_vec_deinit(&r.modules);
    kymo_vec_deinit(&r.pids);
    kymo_vec_deinit(&r.text);
    return err;
}
