/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_fixture.h"

#include <math.h>

static void meta_is_copied(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    assert_null(kymo_profile_meta(p)->hostname);
    char host[] = "box\xff";
    const char *argv[] = {"/usr/bin/prog", "x"};
    kymo_meta meta = {.size = sizeof meta,
                      .argc = 2,
                      .argv = argv,
                      .hostname = host,
                      .start_ns = 10,
                      .end_ns = 5};
    ok(kymo_profile_set_meta(p, &meta));
    host[0] = 'X';
    const kymo_meta *m = kymo_profile_meta(p);
    assert_string_equal(m->hostname, "box\xef\xbf\xbd");
    assert_string_equal(m->product, "prog");
    assert_string_equal(m->argv[1], "x");
    assert_null(m->kernel);
    assert_int_equal(m->end_ns, 10);
    meta = *m; /* a row that came out may be changed and go in again */
    meta.kernel = "Linux";
    ok(kymo_profile_set_meta(p, &meta));
    assert_string_equal(kymo_profile_meta(p)->kernel, "Linux");
    assert_string_equal(kymo_profile_meta(p)->argv[0], "/usr/bin/prog");
    meta.size = 4;
    assert_int_equal(kymo_profile_set_meta(p, &meta), KYMO_E_INVALID);
    kymo_profile_destroy(p);
}

static void quality_is_copied(void **state)
{
    (void)state;
    kymo_profile *p = new_profile();
    assert_true(isnan(kymo_profile_quality(p)->achieved));
    kymo_lost lost[2] = {{"no block", 3}, {"depot full", 4}};
    kymo_quality q = {.size = sizeof q, .lost_count = 2, .lost = lost, .achieved = 0.5};
    ok(kymo_profile_set_quality(p, &q));
    lost[0].count = 0;
    q = *kymo_profile_quality(p);
    q.samples = 9;
    ok(kymo_profile_set_quality(p, &q));
    assert_int_equal(kymo_profile_quality(p)->samples, 9);
    assert_int_equal(kymo_profile_quality(p)->lost[0].count, 3);
    assert_string_equal(kymo_profile_quality(p)->lost[1].kind, "depot full");
    q.lost_count = KYMO_LOST_MAX + 1;
    assert_int_equal(kymo_profile_set_quality(p, &q), KYMO_E_TOO_BIG);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta_is_copied),
        cmocka_unit_test(quality_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
