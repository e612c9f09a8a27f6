/* SPDX-License-Identifier: Apache-2.0 */
#include "encode/jfr/jfr_types.h"
#include "unit.h"

#include <string.h>

/* Each has its own number and name. Types that fields have are described. */
static void types_are_complete(void **state)
{
    (void)state;
    unsigned count = 0;
    for (uint32_t id = 0; id < KYMO_JFR_FIRST_OWN; id++) {
        const kymo_jfr_type *type = kymo_jfr_type_of(id);
        if (!type)
            continue;
        count++;
        assert_int_equal(type->id, id);
        for (uint32_t i = 0; i < type->field_count; i++)
            assert_non_null(kymo_jfr_type_of(type->fields[i].type));
        for (uint32_t other = 0; other < id; other++)
            if (kymo_jfr_type_of(other))
                assert_string_not_equal(kymo_jfr_type_of(other)->name, type->name);
    }
    assert_true(count > 20);
    assert_null(kymo_jfr_type_of(KYMO_JFR_FIRST_OWN));
    assert_null(kymo_jfr_type_of(UINT32_MAX));
}

/* async-profiler's converter reads these without a look at the description. */
static void known_types_are_laid_out_as_readers_assume(void **state)
{
    (void)state;
    static const struct {
        uint32_t id;
        const char *fields;
    } known[] = {
        {KYMO_JFR_THREAD, "osName osThreadId javaName javaThreadId "},
        {KYMO_JFR_CLASS, "classLoader name package modifiers "},
        {KYMO_JFR_METHOD, "type name descriptor modifiers hidden "},
        {KYMO_JFR_STACK_TRACE, "truncated frames "},
        {KYMO_JFR_STACK_FRAME, "method lineNumber bytecodeIndex type "},
        {KYMO_JFR_SYMBOL, "string "},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char fields[128] = "";
        const kymo_jfr_type *type = kymo_jfr_type_of(known[i].id);
        for (uint32_t k = 0; k < type->field_count; k++) {
            strcat(fields, type->fields[k].name);
            strcat(fields, " ");
        }
        assert_string_equal(fields, known[i].fields);
    }
}

static void notes_are_annotations(void **state)
{
    (void)state;
    for (int note = KYMO_JFR_PLAIN + 1; note < KYMO_JFR_NOTE_COUNT; note++) {
        const kymo_jfr_note_kind *kind = kymo_jfr_note_of((kymo_jfr_note)note);
        const kymo_jfr_type *type = kymo_jfr_type_of(kind->annotation);
        assert_non_null(type);
        assert_int_equal(type->kind, KYMO_JFR_KIND_CONTENT);
        assert_int_equal(type->field_count, kind->value != NULL);
    }
    assert_int_equal(kymo_jfr_note_of(KYMO_JFR_PLAIN)->annotation, 0);
    assert_int_equal(kymo_jfr_note_of_unit("bytes"), KYMO_JFR_BYTES);
    assert_int_equal(kymo_jfr_note_of_unit("nanoseconds"), KYMO_JFR_SPAN_NS);
    assert_int_equal(kymo_jfr_note_of_unit("count"), KYMO_JFR_PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_complete),
        cmocka_unit_test(known_types_are_laid_out_as_readers_assume),
        cmocka_unit_test(notes_are_annotations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
