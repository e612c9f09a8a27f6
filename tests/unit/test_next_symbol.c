/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_next_symbol.c - the loader's own answers are the truth; and a library whose tables are made
 * by hand has what real ones rarely have: the older hash table, hidden versions, ifuncs.
 */
#include <dlfcn.h>
#include <string.h>

#include "capture/alloc_next.h"
#include "unit.h"

static const struct link_map *library_of(const char *name)
{
    const struct link_map *l = _r_debug.r_map;
    while (l && !strstr(l->l_name, name))
        l = l->l_next;
    return l;
}

static void finds_what_dlsym_finds(void **state)
{
    (void)state;
    static const char *const names[] = {"malloc", "calloc",         "free",   "pvalloc", "strtol",
                                        "mremap", "posix_memalign", "getenv", "strlen"};
    struct kymo_symbol_table table;
    const struct link_map *libc = library_of("libc.so.6");
    assert_non_null(libc);
    assert_true(kymo_symbol_table_init(&table, libc));
    void *handle = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(handle);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(kymo_symbol_table_find(&table, names[i]),
                         (uintptr_t)dlsym(handle, names[i]));
    dlclose(handle);
    assert_int_equal(kymo_symbol_table_find(&table, "kymo_is_not_there"), 0);
    assert_int_equal(kymo_symbol_table_find(&table, ""), 0);
    /* Kept for old programs alone: a new one would not find it. */
    assert_int_equal(kymo_symbol_table_find(&table, "cfree"), 0);
}

static void looks_through_every_library(void **state)
{
    (void)state;
    struct kymo_symbol_table table;
    for (const struct link_map *l = _r_debug.r_map; l; l = l->l_next)
        if (kymo_symbol_table_init(&table, l))
            assert_int_equal(kymo_symbol_table_find(&table, "kymo_is_not_there"), 0);
}

/* ---- a library made by hand, with the older table ---- */

enum { BUCKETS = 2, SYMBOLS = 6 };
static const char strings[] = "\0one\0two\0asks\0old\0gone";
static ElfW(Sym) symbols[SYMBOLS];
static ElfW(Half) versions[SYMBOLS] = {0, 1, 1, 1, 0x8002, 1};
static uint32_t hash[2 + BUCKETS + SYMBOLS];

static uint64_t choice(void)
{
    return 4711;
}

static void place(uint32_t i, uint32_t name, int type, int binding, uint64_t value)
{
    uint32_t h = 0;
    for (const char *c = strings + name; *c; c++) {
        h = (h << 4) + (uint8_t)*c;
        h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
    }
    symbols[i] = (ElfW(Sym)){.st_name = name,
                             .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
                             .st_shndx = 1,
                             .st_value = value};
    hash[2 + BUCKETS + i] = hash[2 + h % BUCKETS];
    hash[2 + h % BUCKETS] = i;
}

static void reads_a_table_of_system_v(void **state)
{
    (void)state;
    hash[0] = BUCKETS;
    hash[1] = SYMBOLS;
    place(1, 1, STT_FUNC, STB_GLOBAL, 100);
    place(2, 5, STT_FUNC, STB_WEAK, 200);
    place(3, 9, STT_GNU_IFUNC, STB_GLOBAL, (uint64_t)(uintptr_t)choice);
    place(4, 14, STT_FUNC, STB_GLOBAL, 400);
    place(5, 18, STT_FUNC, STB_GLOBAL, 500);
    symbols[5].st_shndx = SHN_UNDEF;
    ElfW(Dyn) dynamic[] = {{DT_SYMTAB, {.d_ptr = (uintptr_t)symbols}},
                           {DT_STRTAB, {.d_ptr = (uintptr_t)strings}},
                           {DT_VERSYM, {.d_ptr = (uintptr_t)versions}},
                           {DT_HASH, {.d_ptr = (uintptr_t)hash}},
                           {DT_NULL, {0}}};
    struct link_map library = {.l_ld = dynamic};
    struct kymo_symbol_table table;
    assert_true(kymo_symbol_table_init(&table, &library));
    assert_int_equal(kymo_symbol_table_find(&table, "one"), 100);
    assert_int_equal(kymo_symbol_table_find(&table, "two"), 200);
    assert_int_equal(kymo_symbol_table_find(&table, "asks"), 4711);
    assert_int_equal(kymo_symbol_table_find(&table, "old"), 0);
    assert_int_equal(kymo_symbol_table_find(&table, "gone"), 0);
    assert_int_equal(kymo_symbol_table_find(&table, "three"), 0);
}

static void a_library_without_tables_has_none(void **state)
{
    (void)state;
    ElfW(Dyn) dynamic[] = {{DT_STRTAB, {.d_ptr = (uintptr_t)strings}}, {DT_NULL, {0}}};
    struct link_map library = {.l_ld = dynamic};
    struct kymo_symbol_table table;
    assert_false(kymo_symbol_table_init(&table, &library));
    library.l_ld = NULL;
    assert_false(kymo_symbol_table_init(&table, &library));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_dlsym_finds),
        cmocka_unit_test(looks_through_every_library),
        cmocka_unit_test(reads_a_table_of_system_v),
        cmocka_unit_test(a_library_without_tables_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
