/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_events.c - events that are samples, or values of counters.
 */
#include <string.h>

#include "base/f64.h"
#include "import/jfr/read_jfr.h"
#include "kymo/marker_abi.h"

#define NS_PER_S 1000000000u

/* ---- times ---- */

static uint64_t clamp(__int128 ns)
{
    return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

uint64_t kymo_jfr_span_ns(const struct kymo_jfr_reader *r, uint64_t ticks)
{
    return clamp((__int128)ticks * NS_PER_S / r->part.ticks_per_second);
}

uint64_t kymo_jfr_time_ns(const struct kymo_jfr_reader *r, uint64_t ticks)
{
    __int128 since_chunk = (__int128)ticks - r->part.start_ticks;
    __int128 chunk = (__int128)r->part.start_epoch_ns - r->origin_epoch_ns;
    return clamp(chunk + since_chunk * NS_PER_S / r->part.ticks_per_second);
}

/* ---- samples ---- */

kymo_err kymo_jfr_add_sample(struct kymo_jfr_reader *r, const kymo_jfr_sample *s)
{
    const kymo_sample sample = {.size = sizeof sample,
                                .thread = r->d->threads.data[s->place].thread,
                                .time_ns = s->time_ns,
                                .stack = s->stack,
                                .labels = s->labels,
                                .state = s->state,
                                .type = s->type,
                                .values = &s->value,
                                .value_count = 1};
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_sample_values(r->d->profile, &sample, r->d->detail);
}

kymo_err kymo_jfr_begin_sample(struct kymo_jfr_reader *r, const kymo_jfr_row *row,
                               kymo_jfr_sample *s)
{
    *s = (kymo_jfr_sample){.time_ns =
                               kymo_jfr_time_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_START_TIME)),
                           .labels = KYMO_NONE};
    KYMO_TRY(kymo_jfr_find_thread(r, kymo_jfr_number(row, KYMO_JFR_ROLE_THREAD), &s->place));
    return kymo_jfr_find_stack(r, kymo_jfr_number(row, KYMO_JFR_ROLE_STACK), &s->stack);
}

/* Of what class an object is, or what a thread waited for. */
static kymo_err label_class(struct kymo_jfr_reader *r, const kymo_jfr_row *row, kymo_jfr_sample *s)
{
    kymo_label label = {.value = {.kind = KYMO_VALUE_STRING}};
    uint32_t class;
    if (!kymo_jfr_has(row, KYMO_JFR_ROLE_OBJECT_CLASS))
        return KYMO_OK;
    KYMO_TRY(kymo_jfr_object_class(r, kymo_jfr_number(row, KYMO_JFR_ROLE_OBJECT_CLASS), &class));
    if (!class)
        return KYMO_OK;
    label.value.as.string = class;
    KYMO_TRY(kymo_import_string(r->d, "class", 5, &label.key));
    return kymo_profile_add_label_set(r->d->profile, &label, 1, &s->labels);
}

static uint64_t number_or(const kymo_jfr_row *row, kymo_jfr_role role, uint64_t otherwise)
{
    return kymo_jfr_has(row, role) ? kymo_jfr_number(row, role) : otherwise;
}

/* Samples of one event, each of a period; or their number, where that is not known. */
static uint64_t periods(const kymo_jfr_row *row, uint64_t period_ns)
{
    uint64_t count = number_or(row, KYMO_JFR_ROLE_SAMPLES, 1);
    return clamp((__int128)count * (period_ns ? period_ns : 1));
}

/* A new buffer of a thread stands for what was allocated since the one before. */
static uint64_t allocated(const kymo_jfr_row *row)
{
    uint64_t size = number_or(row, KYMO_JFR_ROLE_ALLOCATION_SIZE, 0);
    return number_or(row, KYMO_JFR_ROLE_WEIGHT, number_or(row, KYMO_JFR_ROLE_TLAB_SIZE, size));
}

static uint64_t value_of(const struct kymo_jfr_reader *r, unsigned event, const kymo_jfr_row *row)
{
    switch (event) {
    case KYMO_JFR_EVENT_EXECUTION:
        return periods(row, r->period_ns);
    case KYMO_JFR_EVENT_NATIVE:
        return periods(row, r->native_period_ns);
    case KYMO_JFR_EVENT_WALL:
        return periods(row, r->wall_period_ns);
    case KYMO_JFR_EVENT_CPU_TIME_SAMPLE:
        return kymo_jfr_span_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_SAMPLING_PERIOD));
    case KYMO_JFR_EVENT_KYMO_WALL_TIME:
        return kymo_jfr_span_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_WALL_TIME));
    case KYMO_JFR_EVENT_KYMO_CPU_TIME:
        return kymo_jfr_span_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_CPU_TIME));
    case KYMO_JFR_EVENT_LOCK:
        return kymo_jfr_span_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_DURATION));
    case KYMO_JFR_EVENT_ALLOCATION:
        return allocated(row);
    case KYMO_JFR_EVENT_LIVE_OBJECT:
        return kymo_jfr_number(row, KYMO_JFR_ROLE_ALLOCATION_SIZE);
    default:
        return kymo_jfr_number(row, KYMO_JFR_ROLE_VALUE);
    }
}

static kymo_err take_sample(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                            const kymo_jfr_row *row)
{
    kymo_jfr_sample s;
    kymo_thread_state state;
    KYMO_TRY(kymo_jfr_begin_sample(r, row, &s));
    s.type = class->event == KYMO_JFR_EVENT_KYMO_SAMPLE ? r->own_types.data[class->own_type].place
                                                        : r->types[class->event];
    s.value = value_of(r, class->event, row);
    if (s.value > INT64_MAX && class->event != KYMO_JFR_EVENT_KYMO_SAMPLE)
        return kymo_import_fault(r->d, row->position, "a sample has the value %lld",
                                 (long long)s.value);
    KYMO_TRY(kymo_jfr_find_state(r, kymo_jfr_number(row, KYMO_JFR_ROLE_STATE), &state));
    s.state = state;
    if (r->is_kymo)
        s.labels = kymo_jfr_next_labels(r, s.place);
    else
        KYMO_TRY(label_class(r, row, &s));
    return kymo_jfr_add_sample(r, &s);
}

/* ---- counters ---- */

static int is_percent(const struct kymo_jfr_reader *r, const kymo_jfr_own_type *own)
{
    return strcmp(kymo_profile_string(r->d->profile, own->unit), "percent") == 0;
}

/* One for each process that has such values. */
static kymo_err find_counter(struct kymo_jfr_reader *r, uint32_t own_type, int32_t pid, int is_real,
                             uint32_t *id)
{
    const kymo_jfr_own_type *own = &r->own_types.data[own_type];
    uint64_t key = (uint64_t)own_type << 32 | (uint32_t)pid;
    const uint32_t *known = kymo_key_map_find(&r->counters, key);
    kymo_counter counter = {.size = sizeof counter,
                            .category = KYMO_NONE,
                            .name = own->name,
                            .unit = own->unit,
                            .kind = KYMO_COUNTER_GAUGE,
                            .flags = is_real ? KYMO_COUNTER_IS_F64 : 0};
    *id = known ? *known : KYMO_NONE;
    if (known)
        return KYMO_OK;
    KYMO_TRY(kymo_import_process(r->d, pid, NULL, &counter.process));
    KYMO_TRY(kymo_profile_add_counter(r->d->profile, &counter, id));
    return kymo_key_map_put(&r->counters, key, *id);
}

static kymo_err take_count(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                           const kymo_jfr_row *row)
{
    const kymo_jfr_own_type *own = &r->own_types.data[class->own_type];
    uint64_t pid = kymo_jfr_number(row, KYMO_JFR_ROLE_PID);
    int is_real = kymo_jfr_has(row, KYMO_JFR_ROLE_VALUE) &&
                  row->cells[KYMO_JFR_ROLE_VALUE].kind == KYMO_JFR_CELL_REAL;
    double real = kymo_jfr_real(row, KYMO_JFR_ROLE_VALUE) * (is_percent(r, own) ? 100 : 1);
    int64_t value =
        is_real ? kymo_f64_bits(real) : (int64_t)kymo_jfr_number(row, KYMO_JFR_ROLE_VALUE);
    uint32_t counter;
    KYMO_TRY(
        find_counter(r, class->own_type, pid <= INT32_MAX ? (int32_t)pid : 0, is_real, &counter));
    KYMO_TRY(kymo_import_check_room(r->d));
    return kymo_profile_add_count(
        r->d->profile, counter, kymo_jfr_time_ns(r, kymo_jfr_number(row, KYMO_JFR_ROLE_START_TIME)),
        value, kymo_jfr_number(row, KYMO_JFR_ROLE_OPERATIONS));
}

kymo_err kymo_jfr_take_event(struct kymo_jfr_reader *r, const kymo_jfr_class *class,
                             const kymo_jfr_row *row)
{
    switch (class->event) {
    case KYMO_JFR_EVENT_KYMO_LABEL:
        return kymo_jfr_take_label(r, row);
    case KYMO_JFR_EVENT_KYMO_COUNTER:
        return take_count(r, class, row);
    case KYMO_JFR_EVENT_MALLOC:
    case KYMO_JFR_EVENT_FREE:
    case KYMO_JFR_EVENT_KYMO_MALLOC_WEIGHT:
        return kymo_jfr_take_memory(r, class->event, row);
    case KYMO_JFR_EVENT_EXECUTION:
    case KYMO_JFR_EVENT_WALL: /* Kymo writes their values in events beside them */
        return r->is_kymo ? KYMO_OK : take_sample(r, class, row);
    default:
        return take_sample(r, class, row);
    }
}
