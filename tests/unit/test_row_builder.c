/* SPDX-License-Identifier: Apache-2.0 */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "recorder/row_builder.h"
#include "symbolize/elf_file.h"
#include "unit.h"
#include "unwind/row_table.h"

#define AREA_BYTES (8u << 20)

/* This very program, as a job. */
static struct kymo_row_job own_job(void)
{
    kymo_elf_file *file;
    struct kymo_row_job job = {.map_start = 0x10000, .map_end = 0x900000, .bias = 0x10000};
    assert_int_equal(kymo_elf_open("/proc/self/exe", &file), KYMO_OK);
    job.build_id_len = (uint32_t)file->build_id_len;
    memcpy(job.build_id, file->build_id, job.build_id_len);
    assert_true(job.build_id_len > 0);
    kymo_elf_close(file);
    job.path = strdup("/proc/self/exe");
    return job;
}

static void a_table_appears_in_the_area(void **state)
{
    (void)state;
    struct kymo_table_area *area = calloc(1, AREA_BYTES);
    kymo_row_builder *builder;
    assert_int_equal(kymo_row_builder_create(area, AREA_BYTES, &builder), KYMO_OK);
    struct kymo_row_job jobs[3] = {own_job(), own_job(), own_job()};
    jobs[0].build_id[0] ^= 1; /* another file has come to this path */
    free(jobs[1].path);
    jobs[1].path = strdup("/nonexistent/library.so");
    for (int i = 0; i < 3; i++)
        kymo_row_builder_add(builder, &jobs[i]);
    while (kymo_load_acquire(&area->count) == 0) {
    }
    kymo_row_builder_destroy(builder);

    assert_int_equal(area->count, 1);
    const struct kymo_table_entry *e = &area->entries[0];
    const char *table = (const char *)area + e->at;
    assert_int_equal(kymo_row_table_check(table, e->size_bytes), KYMO_OK);
    assert_int_equal(e->base, 0x10000 + kymo_row_table_base(table));
    /* It knows this function. */
    struct link_map *map = _r_debug.r_map;
    uint64_t here = (uint64_t)(uintptr_t)a_table_appears_in_the_area - map->l_addr;
    assert_true(kymo_row_table_find(table, e->size_bytes, here - kymo_row_table_base(table)) != 0);
    free(area);
}

static void a_full_area_takes_no_more(void **state)
{
    (void)state;
    size_t small = sizeof(struct kymo_table_area) + 64;
    struct kymo_table_area *area = calloc(1, small);
    kymo_row_builder *builder;
    assert_int_equal(kymo_row_builder_create(area, small, &builder), KYMO_OK);
    struct kymo_row_job job = own_job();
    kymo_row_builder_add(builder, &job);
    kymo_row_builder_destroy(builder);
    assert_int_equal(area->count, 0);
    free(area);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_appears_in_the_area),
        cmocka_unit_test(a_full_area_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
