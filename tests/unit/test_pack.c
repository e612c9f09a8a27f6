/* SPDX-License-Identifier: Apache-2.0 */
/* What is packed is read back; the integration tests do that with another reader. */
#include "remote/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "unit.h"

#define OK(call) assert_int_equal((call), KYMO_OK)

static void members_come_back_in_their_order(void **state)
{
    (void)state;
    char *large = malloc(1 << 20);
    assert_non_null(large);
    for (size_t i = 0; i < 1 << 20; i++)
        large[i] = (char)(i * 7 % 251);
    const struct kymo_pack_member members[] = {{"async_profiler_dump_0.jfr", large, 1 << 20},
                                               {"metadata.json", "{}", 2},
                                               {"empty", "", 0}};
    void *data;
    void *again;
    size_t len;
    size_t again_len;
    OK(kymo_pack(members, 3, 1764202500, &data, &len, NULL));
    OK(kymo_pack(members, 3, 1764202500, &again, &again_len, NULL));
    /* A delivery that is tried again has the same bytes. */
    assert_int_equal(len, again_len);
    assert_memory_equal(data, again, len);
    assert_in_range(len, 100, 1 << 19);
    zip_error_t why;
    zip_source_t *source = zip_source_buffer_create(data, len, 0, &why);
    zip_t *zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why);
    assert_non_null(zip);
    assert_int_equal(zip_get_num_entries(zip, 0), 3);
    for (size_t i = 0; i < 3; i++) {
        zip_file_t *file = zip_fopen_index(zip, i, 0);
        char *content = calloc(1, members[i].len + 2);
        assert_non_null(file);
        assert_non_null(content);
        assert_string_equal(zip_get_name(zip, i, 0), members[i].name);
        assert_int_equal(zip_fread(file, content, members[i].len + 1), members[i].len);
        assert_memory_equal(content, members[i].data, members[i].len);
        free(content);
        zip_fclose(file);
    }
    zip_discard(zip);
    free(data);
    free(again);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_back_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
