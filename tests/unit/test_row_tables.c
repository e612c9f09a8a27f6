/* SPDX-License-Identifier: Apache-2.0 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/row_tables.h"
#include "symbolize/elf_file.h"
#include "unit.h"
#include "unwind/row_table.h"

#define BYTES (8u << 20)

struct id {
    uint8_t bytes[KYMO_SESSION_BUILD_ID_MAX];
    uint32_t len;
};

/* Of this very program. */
static struct id own_id(void)
{
    kymo_elf_file *file;
    struct id id = {.len = 0};
    assert_int_equal(kymo_elf_open("/proc/self/exe", &file), KYMO_OK);
    id.len = (uint32_t)file->build_id_len;
    memcpy(id.bytes, file->build_id, id.len);
    assert_true(id.len > 0);
    kymo_elf_close(file);
    return id;
}

static enum kymo_row_tables_answer wait_for(kymo_row_tables *t, uint32_t file,
                                            struct kymo_table_entry *place)
{
    enum kymo_row_tables_answer answer;
    while ((answer = kymo_row_tables_find(t, file, place)) == KYMO_ROW_TABLE_LATER) {
    }
    return answer;
}

static void a_table_is_made_once_for_all_who_map_the_file(void **state)
{
    (void)state;
    kymo_row_tables *t;
    struct kymo_table_entry place = {0};
    struct id id = own_id();
    struct id other = id;
    other.bytes[0] ^= 1; /* another file has come to this path */
    assert_int_equal(kymo_row_tables_create(BYTES, &t), KYMO_OK);
    uint32_t file = kymo_row_tables_file(t, "/proc/self/exe", id.bytes, id.len);
    uint32_t wrong = kymo_row_tables_file(t, "/proc/self/exe", other.bytes, other.len);
    assert_int_not_equal(file, UINT32_MAX);
    assert_int_not_equal(file, wrong);
    assert_int_equal(kymo_row_tables_file(t, "/proc/thread-self/exe", id.bytes, id.len), file);
    assert_int_equal(kymo_row_tables_file(t, "/else/where", id.bytes, id.len), UINT32_MAX);

    /* Two processes together have been sampled enough. */
    kymo_row_tables_count(t, file, KYMO_ROW_TABLES_SAMPLES - 1);
    assert_int_equal(kymo_row_tables_find(t, file, &place), KYMO_ROW_TABLE_LATER);
    kymo_row_tables_count(t, file, 1);
    kymo_row_tables_count(t, wrong, KYMO_ROW_TABLES_SAMPLES);
    assert_int_equal(wait_for(t, file, &place), KYMO_ROW_TABLE_HERE);
    assert_int_equal(wait_for(t, wrong, &place), KYMO_ROW_TABLE_NEVER);
    assert_int_equal(wait_for(t, file, &place), KYMO_ROW_TABLE_HERE);

    /* As a program maps it. */
    const char *map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, kymo_row_tables_memory(t), 0);
    assert_true(map != MAP_FAILED);
    const char *table = map + place.at;
    assert_int_equal(kymo_row_table_check(table, place.size_bytes), KYMO_OK);
    assert_int_equal(place.base, kymo_row_table_base(table));
    /* It knows this function. */
    uint64_t here =
        (uint64_t)(uintptr_t)a_table_is_made_once_for_all_who_map_the_file - _r_debug.r_map->l_addr;
    assert_true(kymo_row_table_find(table, place.size_bytes, here - place.base) != 0);
    kymo_row_tables_destroy(t);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[64 << 10];
    FILE *in = fopen(from, "r");
    FILE *out = fopen(to, "w");
    assert_true(in && out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Another process maps a file that says it has this one's build-id. */
static void a_file_of_the_same_build_id_is_another(void **state)
{
    (void)state;
    kymo_row_tables *t;
    struct kymo_table_entry place;
    struct id id = own_id();
    char path[] = "/tmp/kymo-row-tables-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    copy_file("/proc/self/exe", path);
    assert_int_equal(kymo_row_tables_create(BYTES, &t), KYMO_OK);
    uint32_t theirs = kymo_row_tables_file(t, path, id.bytes, id.len);
    uint32_t ours = kymo_row_tables_file(t, "/proc/self/exe", id.bytes, id.len);
    assert_int_not_equal(theirs, ours);
    /* One that has changed since it was announced has no table. */
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("more", f);
    fclose(f);
    kymo_row_tables_count(t, theirs, KYMO_ROW_TABLES_SAMPLES);
    assert_int_equal(wait_for(t, theirs, &place), KYMO_ROW_TABLE_NEVER);
    assert_int_equal(kymo_row_tables_find(t, ours, &place), KYMO_ROW_TABLE_LATER);
    kymo_row_tables_destroy(t);
    unlink(path);
}

static void a_program_can_only_read_the_tables(void **state)
{
    (void)state;
    kymo_row_tables *t;
    assert_int_equal(kymo_row_tables_create(BYTES, &t), KYMO_OK);
    int fd = kymo_row_tables_memory(t);
    assert_true(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    assert_int_equal(kymo_row_tables_bytes(t), BYTES);
    kymo_row_tables_destroy(t);
}

static void full_tables_take_no_more(void **state)
{
    (void)state;
    kymo_row_tables *t;
    struct kymo_table_entry place;
    struct id id = own_id();
    assert_int_equal(kymo_row_tables_create(64, &t), KYMO_OK);
    uint32_t file = kymo_row_tables_file(t, "/proc/self/exe", id.bytes, id.len);
    kymo_row_tables_count(t, file, KYMO_ROW_TABLES_SAMPLES);
    assert_int_equal(wait_for(t, file, &place), KYMO_ROW_TABLE_NEVER);
    kymo_row_tables_destroy(t);
}

static void what_is_no_file_has_no_number(void **state)
{
    (void)state;
    kymo_row_tables *t;
    uint8_t id[KYMO_SESSION_BUILD_ID_MAX + 1] = {1};
    assert_int_equal(kymo_row_tables_create(BYTES, &t), KYMO_OK);
    assert_int_equal(kymo_row_tables_file(t, "[vdso]", id, 20), UINT32_MAX);
    assert_int_equal(kymo_row_tables_file(t, "/a", id, 0), UINT32_MAX);
    assert_int_equal(kymo_row_tables_file(t, "/a", id, sizeof id), UINT32_MAX);
    kymo_row_tables_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_made_once_for_all_who_map_the_file),
        cmocka_unit_test(a_file_of_the_same_build_id_is_another),
        cmocka_unit_test(a_program_can_only_read_the_tables),
        cmocka_unit_test(full_tables_take_no_more),
        cmocka_unit_test(what_is_no_file_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
