/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/resident.h"

#include <elf.h>
#include <unistd.h>

#include "base/attr.h"
#include "memory_tree.h"

#define PAGE 4096ull
#define GRANULE (64ull << 10)
#define HEAP 0x10000000ull
#define MAP 0x20000000ull

static struct kymo_resident r;

static int begin(void **state)
{
    memset(&r, 0, sizeof r);
    return tree_begin(state);
}

static int end(void **state)
{
    kymo_resident_deinit(&r);
    return tree_end(state);
}

/* ---- files as the kernel has them ---- */

static char smaps[1 << 14];

static void add_area(uint64_t lo, uint64_t hi, const char *perms, unsigned inode, const char *name,
                     uint64_t rss, uint64_t anonymous)
{
    size_t len = strlen(smaps);
    snprintf(smaps + len, sizeof smaps - len,
             "%lx-%lx %s 00000000 00:00 %u   %s\nRss: %lu kB\nAnonymous: %lu kB\n", lo, hi, perms,
             inode, name, rss / 1024, anonymous / 1024);
}

static void put_files(void)
{
    tree_put("/proc/7/smaps", smaps);
    smaps[0] = '\0';
}

/* So many pages from there on, every step-th of them; the file is sparse. */
static void put_pages(uint64_t from, uint64_t count, uint64_t step)
{
    char path[512];
    uint64_t present = 1ull << 63;
    tree_put("/proc/7/here", "");
    snprintf(path, sizeof path, "%s/proc/7/pagemap", tree);
    FILE *file = fopen(path, access(path, F_OK) == 0 ? "r+" : "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < count; i += step) {
        assert_int_equal(fseek(file, (long)((from / PAGE + i) * 8), SEEK_SET), 0);
        assert_int_equal(fwrite(&present, 8, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
}

/* A library that is mapped there, two pages of code and then its data. */
static void put_library(uint64_t at, uint64_t data_bytes)
{
    char path[512];
    Elf64_Ehdr eh = {.e_ident = ELFMAG, .e_phoff = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr)};
    Elf64_Phdr ph[2] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 2 * PAGE},
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = 2 * PAGE, .p_memsz = data_bytes}};
    eh.e_phnum = 2;
    tree_put("/proc/7/here", "");
    snprintf(path, sizeof path, "%s/proc/7/mem", tree);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(&eh, sizeof eh, 1, file), 1);
    assert_int_equal(fwrite(ph, sizeof ph, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

static void add_library(uint64_t at)
{
    add_area(at, at + 2 * PAGE, "r-xp", 5, "/lib/x", 2 * PAGE, 0);
    add_area(at + 2 * PAGE, at + 3 * PAGE, "rw-p", 5, "/lib/x", PAGE, PAGE);
}

static void look(const struct kymo_resident_claim *claims, size_t count)
{
    put_files();
    assert_int_equal(kymo_resident_look(&r, tree, "7", claims, count), KYMO_OK);
    uint64_t sum = 0;
    for (uint32_t i = 1; i < KYMO_LEDGER_RSS; i++)
        sum += r.lines[i];
    for (size_t i = 0; i < r.pieces.len; i++)
        sum += r.pieces.data[i].bytes;
    assert_int_equal(sum, r.lines[KYMO_LEDGER_RSS]);
}

static void expect_piece(size_t i, uint64_t lo, uint64_t hi, uint64_t bytes)
{
    assert_true(i < r.pieces.len);
    assert_int_equal(r.pieces.data[i].lo, lo);
    assert_int_equal(r.pieces.data[i].hi, hi);
    assert_int_equal(r.pieces.data[i].bytes, bytes);
}

/* ---- tests ---- */

static void areas_tell_whose_they_are(void **state)
{
    (void)state;
    add_area(0x1000, 0x9000, "r-xp", 5, "/bin/app", 8 * PAGE, 0);
    add_area(0x9000, 0xb000, "rw-p", 5, "/bin/app", 2 * PAGE, PAGE);
    add_area(0xb000, 0xf000, "rw-p", 0, "", 3 * PAGE, 3 * PAGE); /* its variables */
    add_area(HEAP, HEAP + 4 * PAGE, "rw-p", 0, "[heap]", 4 * PAGE, 4 * PAGE);
    add_area(MAP, MAP + PAGE, "rw-s", 9, "/memfd:kymo:kymo-1-2 (deleted)", PAGE, 0);
    add_area(MAP + PAGE, MAP + 2 * PAGE, "rw-s", 8, "/dev/zero (deleted)", PAGE, 0);
    add_area(MAP + 2 * PAGE, MAP + 4 * PAGE, "rw-p", 7, "/x/libkymo-preload-alloc.so", PAGE, PAGE);
    add_area(MAP + 4 * PAGE, MAP + 9 * PAGE, "rw-p", 0, "", 5 * PAGE, 5 * PAGE); /* of that */
    add_area(MAP + 9 * PAGE, MAP + 10 * PAGE, "rw-s", 7, "/x/base", PAGE, 0);
    add_area(MAP + 10 * PAGE, MAP + 11 * PAGE, "r--p", 5, "/bin/app", PAGE, 0);
    add_area(0x7fff0000, 0x7fff4000, "rw-p", 0, "[stack]", 2 * PAGE, 2 * PAGE);
    add_area(0x7fff8000, 0x7fff9000, "r-xp", 0, "[vdso]", PAGE, 0);
    look(NULL, 0);
    assert_int_equal(r.lines[KYMO_LEDGER_FILES], 11 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_DATA], 4 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_KYMO], 7 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_SHARED], PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_STACKS], 2 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_SYSTEM], PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_UNEXPLAINED], 0);
    assert_int_equal(r.pieces.len, 1);
    expect_piece(0, HEAP, HEAP + 4 * PAGE, 4 * PAGE);
    assert_true(r.pieces.data[0].is_heap);
    /* By line, the largest first, each name once. */
    assert_int_equal(r.named.len, 4);
    assert_string_equal(r.named.data[0].name, "/bin/app");
    assert_int_equal(r.named.data[0].bytes, 10 * PAGE);
    assert_string_equal(r.named.data[1].name, "/x/base");
    assert_int_equal(r.named.data[2].line, KYMO_LEDGER_DATA);
    assert_string_equal(r.named.data[3].name, "/dev/zero (deleted)");
}

static void data_ends_where_its_library_does(void **state)
{
    (void)state;
    /* It has two pages more of data, and no border to what lies behind them. */
    const struct kymo_resident_claim stack = {MAP + GRANULE, MAP + 2 * GRANULE, KYMO_LEDGER_STACKS,
                                              0};
    put_library(MAP, 3 * PAGE - 100);
    add_library(MAP);
    add_area(MAP + 3 * PAGE, MAP + 3 * GRANULE, "rw-p", 0, "", 45 * PAGE, 45 * PAGE);
    put_pages(MAP, 48, 1);
    look(&stack, 1);
    assert_int_equal(r.lines[KYMO_LEDGER_DATA], 3 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_STACKS], 16 * PAGE);
    assert_int_equal(r.pieces.len, 2);
    expect_piece(0, MAP + 5 * PAGE, MAP + GRANULE, 11 * PAGE);
    expect_piece(1, MAP + 2 * GRANULE, MAP + 3 * GRANULE, 16 * PAGE);
}

static void what_follows_a_library_need_not_be_its_data(void **state)
{
    (void)state;
    put_library(MAP, PAGE);
    add_library(MAP);
    add_area(MAP + 3 * PAGE, MAP + 9 * PAGE, "rw-p", 0, "", 6 * PAGE, 6 * PAGE);
    look(NULL, 0);
    assert_int_equal(r.lines[KYMO_LEDGER_DATA], PAGE);
    assert_int_equal(r.pieces.len, 1);
    expect_piece(0, MAP + 3 * PAGE, MAP + 9 * PAGE, 6 * PAGE);
}

static void an_area_that_grew_counts_once(void **state)
{
    (void)state;
    add_area(HEAP, HEAP + 4 * PAGE, "rw-p", 0, "[heap]", 4 * PAGE, 4 * PAGE);
    add_area(HEAP, HEAP + 6 * PAGE, "rw-p", 0, "[heap]", 6 * PAGE, 6 * PAGE);
    add_area(MAP, MAP + PAGE, "rw-p", 0, "", PAGE, PAGE);
    look(NULL, 0);
    assert_int_equal(r.lines[KYMO_LEDGER_RSS], 5 * PAGE);
    assert_int_equal(r.pieces.len, 2);
}

static void only_the_largest_files_have_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 * KYMO_RESIDENT_NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "/lib/%u", i);
        add_area(MAP + i * 0x100000, MAP + i * 0x100000 + 64 * PAGE, "r--p", 5, name,
                 (1 + i % 48) * PAGE, 0);
    }
    look(NULL, 0);
    assert_int_equal(r.named.len, KYMO_RESIDENT_NAMES);
    assert_int_equal(r.named.data[0].bytes, 48 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_FILES], 48 * 49 / 2 * PAGE);
}

static void a_piece_ends_where_pages_become_more_or_less(void **state)
{
    (void)state;
    add_area(HEAP, HEAP + 6 * GRANULE, "rw-p", 0, "", 40 * PAGE, 40 * PAGE);
    put_pages(HEAP, 32, 1);               /* two full ones, */
    put_pages(HEAP + 4 * GRANULE, 16, 2); /* two with nothing, one half full, */
    look(NULL, 0);                        /* one with nothing */
    assert_int_equal(r.pieces.len, 4);
    expect_piece(0, HEAP, HEAP + 2 * GRANULE, 32 * PAGE);
    expect_piece(1, HEAP + 2 * GRANULE, HEAP + 4 * GRANULE, 0);
    expect_piece(2, HEAP + 4 * GRANULE, HEAP + 5 * GRANULE, 8 * PAGE);
    expect_piece(3, HEAP + 5 * GRANULE, HEAP + 6 * GRANULE, 0);
}

static void pages_of_zeros_are_not_there(void **state)
{
    (void)state;
    /* The kernel maps four, and counts two. */
    add_area(HEAP, HEAP + 2 * GRANULE, "rw-p", 0, "", 2 * PAGE, 2 * PAGE);
    put_pages(HEAP, 4, 1);
    look(NULL, 0);
    expect_piece(0, HEAP, HEAP + GRANULE, 2 * PAGE);
    expect_piece(1, HEAP + GRANULE, HEAP + 2 * GRANULE, 0);
}

static void what_cannot_be_read_is_spread_evenly(void **state)
{
    (void)state;
    add_area(HEAP, HEAP + 4 * GRANULE, "rw-p", 0, "", 7 * PAGE, 7 * PAGE);
    look(NULL, 0); /* there is no pagemap */
    assert_int_equal(r.pieces.len, 1);
    expect_piece(0, HEAP, HEAP + 4 * GRANULE, 7 * PAGE);
}

static void pages_that_came_since_are_not_lost(void **state)
{
    (void)state;
    add_area(HEAP, HEAP + 2 * GRANULE, "rw-p", 0, "", 20 * PAGE, 20 * PAGE);
    put_pages(HEAP, 8, 1);
    look(NULL, 0);
    assert_int_equal(r.pieces.len, 2);
    expect_piece(0, HEAP, HEAP + GRANULE, 8 * PAGE);
    expect_piece(1, HEAP + GRANULE, HEAP + 2 * GRANULE, 12 * PAGE);
}

static void a_claim_takes_its_part(void **state)
{
    (void)state;
    const struct kymo_resident_claim claims[] = {
        {MAP + GRANULE, MAP + GRANULE + 4 * PAGE, KYMO_LEDGER_STACKS, 0},
        {MAP + 3 * GRANULE, MAP + 4 * GRANULE, KYMO_LEDGER_KYMO, 0},
        {MAP + 9 * GRANULE, MAP + 12 * GRANULE, KYMO_LEDGER_STACKS, 0},
    };
    add_area(MAP, MAP + 4 * GRANULE, "rw-p", 0, "", 64 * PAGE, 64 * PAGE);
    add_area(MAP + 10 * GRANULE, MAP + 11 * GRANULE, "rw-p", 0, "", 3 * PAGE, 3 * PAGE);
    put_pages(MAP, 64, 1);
    look(claims, KYMO_ARRAY_LEN(claims));
    assert_int_equal(r.lines[KYMO_LEDGER_STACKS], 4 * PAGE + 3 * PAGE);
    assert_int_equal(r.lines[KYMO_LEDGER_KYMO], 16 * PAGE);
    assert_int_equal(r.pieces.len, 2);
    expect_piece(0, MAP, MAP + GRANULE, 16 * PAGE);
    expect_piece(1, MAP + GRANULE + 4 * PAGE, MAP + 3 * GRANULE, 28 * PAGE);
}

static void an_old_stack_counts_where_it_still_looks_like_one(void **state)
{
    (void)state;
    const struct kymo_resident_claim claims[] = {
        {MAP + PAGE, MAP + GRANULE, KYMO_LEDGER_STACKS, 1},
        {MAP + 3 * GRANULE, MAP + 4 * GRANULE, KYMO_LEDGER_STACKS, 1}, /* without a guard */
        {MAP + 5 * GRANULE, MAP + 6 * GRANULE, KYMO_LEDGER_STACKS, 1}, /* more is there by now */
    };
    add_area(MAP, MAP + PAGE, "---p", 0, "", 0, 0);
    add_area(MAP + PAGE, MAP + GRANULE, "rw-p", 0, "", 5 * PAGE, 5 * PAGE);
    add_area(MAP + 3 * GRANULE, MAP + 4 * GRANULE, "rw-p", 0, "", 16 * PAGE, 16 * PAGE);
    add_area(MAP + 5 * GRANULE - PAGE, MAP + 5 * GRANULE, "---p", 0, "", 0, 0);
    add_area(MAP + 5 * GRANULE, MAP + 7 * GRANULE, "rw-p", 0, "", 32 * PAGE, 32 * PAGE);
    put_pages(MAP, 7 * 16, 1);
    look(claims, KYMO_ARRAY_LEN(claims));
    assert_int_equal(r.lines[KYMO_LEDGER_STACKS], 5 * PAGE);
    assert_int_equal(r.pieces.len, 2);
}

static void pieces_stay_few(void **state)
{
    (void)state;
    const uint64_t granules = 4ull * KYMO_RESIDENT_PIECES_MAX;
    add_area(HEAP, HEAP + granules * GRANULE, "rw-p", 0, "", granules / 2 * 16 * PAGE,
             granules / 2 * 16 * PAGE);
    for (uint64_t i = 0; i < granules; i += 512)
        put_pages(HEAP + i * GRANULE, 16, 1);
    look(NULL, 0);
    assert_true(r.pieces.len > 1 && r.pieces.len <= KYMO_RESIDENT_PIECES_MAX);
}

static void a_process_that_has_ended_has_none(void **state)
{
    (void)state;
    assert_int_equal(kymo_resident_look(&r, tree, "7", NULL, 0), KYMO_E_IO);
    put_files();
    assert_int_equal(kymo_resident_look(&r, tree, "7", NULL, 0), KYMO_E_IO);
    assert_int_equal(r.lines[KYMO_LEDGER_RSS], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(areas_tell_whose_they_are),
        TEST(data_ends_where_its_library_does),
        TEST(what_follows_a_library_need_not_be_its_data),
        TEST(an_area_that_grew_counts_once),
        TEST(only_the_largest_files_have_names),
        TEST(a_piece_ends_where_pages_become_more_or_less),
        TEST(pages_of_zeros_are_not_there),
        TEST(what_cannot_be_read_is_spread_evenly),
        TEST(pages_that_came_since_are_not_lost),
        TEST(a_claim_takes_its_part),
        TEST(an_old_stack_counts_where_it_still_looks_like_one),
        TEST(pieces_stay_few),
        TEST(a_process_that_has_ended_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
