/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_metadata.h"
#include "unit.h"

#include <string.h>

static const kymo_jfr_field fields[] = {
    KYMO_JFR_START,
    {.name = "size", .type = KYMO_JFR_LONG, .note = KYMO_JFR_BYTES, .label = "Its Size"},
};
static const kymo_jfr_type event = {.name = "test.Event",
                                    .id = KYMO_JFR_FIRST_OWN,
                                    .kind = KYMO_JFR_KIND_EVENT,
                                    KYMO_JFR_FIELDS(fields),
                                    .category = {"One", "Two"}};

static int has(const kymo_jfr_bytes *b, const char *text)
{
    return memmem(b->data, b->len, text, strlen(text)) != NULL;
}

static kymo_jfr_bytes write_one(const kymo_jfr_type *type)
{
    kymo_jfr_bytes b = {0};
    assert_int_equal(kymo_jfr_metadata_write(&b, &type, type != NULL, 5, 7), KYMO_OK);
    return b;
}

static void what_an_event_is_made_of_is_described(void **state)
{
    (void)state;
    kymo_jfr_bytes b = write_one(&event);
    static const char *const texts[] = {"test.Event",
                                        "long",
                                        "jdk.jfr.Timestamp",
                                        "jdk.jfr.Label",
                                        "jdk.jfr.Category",
                                        "jdk.jfr.DataAmount",
                                        "BYTES",
                                        "value-1",
                                        "jdk.jfr.ContentType",
                                        "java.lang.String",
                                        "Its Size"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(has(&b, texts[i]));
    kymo_jfr_bytes_deinit(&b);
}

static void nothing_else_is(void **state)
{
    (void)state;
    kymo_jfr_bytes b = write_one(&event);
    static const char *const texts[] = {"java.lang.Thread", "jdk.types",  "double",
                                        "Description",      "Percentage", "Timespan"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(has(&b, texts[i]));
    kymo_jfr_bytes_deinit(&b);
    b = write_one(NULL);
    assert_true(b.len < 80);
    assert_true(has(&b, "region")); /* without it the JDK's reader fails */
    kymo_jfr_bytes_deinit(&b);
}

/* size, type 0, start 5, duration 0, number 7 */
static void it_is_an_event(void **state)
{
    (void)state;
    kymo_jfr_bytes b = write_one(&event);
    assert_int_equal((b.data[0] & 0x7f) | b.data[1] << 7, b.len);
    assert_memory_equal(b.data + 2, "\0\5\0\7", 4);
    kymo_jfr_bytes_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_event_is_made_of_is_described),
        cmocka_unit_test(nothing_else_is),
        cmocka_unit_test(it_is_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
