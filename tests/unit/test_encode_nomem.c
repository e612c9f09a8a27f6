/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of each encoder and report fails once, for a profile that has everything. What
 * must come of it is KYMO_E_NOMEM; never a crash, nothing that leaks (the address sanitizer looks).
 */
#include <string.h>

#include "failing_allocation.h"
#include "fixed_profile.h"
#include "kymo/encode.h"
#include "kymo/report.h"
#include "unit.h"

static kymo_err take(kymo_sink *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    (void)len;
    return KYMO_OK;
}

/* argument: a format and what it shows. */
static kymo_err encode(const kymo_profile *profile, size_t argument)
{
    kymo_sink nowhere = {take};
    kymo_encode_options options = {.size = sizeof options,
                                   .show = (uint32_t)(argument % KYMO_ENCODE_COUNT)};
    return kymo_encode(profile, kymo_format_at(argument / KYMO_ENCODE_COUNT), &nowhere, &options,
                       NULL);
}

/* argument: one of the formats that show two profiles, of time or of what lives. */
static kymo_err encode_both(const kymo_profile *profile, size_t argument)
{
    static const char *const names[] = {"x.pb.gz", "x.svg", "x.folded"};
    kymo_sink nowhere = {take};
    kymo_encode_options options = {.size = sizeof options,
                                   .before = profile,
                                   .show = argument % 2 ? KYMO_ENCODE_LIVE : KYMO_ENCODE_TIME};
    return kymo_encode(profile, kymo_format_for_path(names[argument / 2]), &nowhere, &options,
                       NULL);
}

static kymo_err sum_up(const kymo_profile *profile, size_t by)
{
    kymo_marker_report *report = NULL;
    kymo_err err = kymo_marker_report_create(profile, (kymo_marker_report_by)by, &report);
    kymo_marker_report_destroy(report);
    return err;
}

struct work {
    kymo_err (*run)(const kymo_profile *, size_t);
    const kymo_profile *profile;
    size_t argument;
};

static kymo_err run_work(void *context)
{
    const struct work *w = context;
    return w->run(w->profile, w->argument);
}

static void fail_each(kymo_err (*run)(const kymo_profile *, size_t), size_t argument)
{
    kymo_profile *profile = fixed_profile();
    struct work work = {run, profile, argument};
    assert_in_range(fail_each_allocation(run_work, &work), 3, 9999);
    kymo_profile_destroy(profile);
}

/* Some formats have room for everything: what they are asked to show changes nothing. */
static bool has_it_all(const char *format)
{
    return strcmp(format, "firefox") == 0 || strcmp(format, "jfr") == 0 ||
           strcmp(format, "chrome") == 0;
}

static void each_allocation_of_an_encoder(void **state)
{
    (void)state;
    for (size_t i = 0; kymo_format_at(i / KYMO_ENCODE_COUNT); i++) {
        const char *format = kymo_format_at(i / KYMO_ENCODE_COUNT)->name;
        size_t show = i % KYMO_ENCODE_COUNT;
        if (strcmp(format, "pstats") == 0 || (show != KYMO_ENCODE_AUTO && has_it_all(format)))
            continue;
        if (show != KYMO_ENCODE_GROWTH || strcmp(format, "pprof") == 0)
            fail_each(encode, i);
    }
}

static void each_allocation_of_a_difference(void **state)
{
    (void)state;
    for (size_t i = 0; i < 6; i++)
        fail_each(encode_both, i);
}

static void each_allocation_of_a_report(void **state)
{
    (void)state;
    for (size_t by = 0; by < KYMO_MARKERS_BY_COUNT; by++)
        fail_each(sum_up, by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_an_encoder),
        cmocka_unit_test(each_allocation_of_a_difference),
        cmocka_unit_test(each_allocation_of_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
