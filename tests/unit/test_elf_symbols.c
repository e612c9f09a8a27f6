/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/elf_symbols.h"
#include "symbolize_fixture.h"

/* A file without content whose one section holds all code. */
static kymo_elf_section sections[2] = {
    {.name = ""},
    {.name = ".text", .type = SHT_PROGBITS, .flags = SHF_EXECINSTR, .address = 0, .size = 1000}};
static kymo_elf_file plain = {.fd = -1, .sections = sections, .n_sections = 2};

enum { FUNCTION, TYPED, NOTYPE };

static const char *name_at(const kymo_elf_symbols *s, uint64_t address)
{
    const kymo_elf_symbol *found = kymo_elf_symbols_find(s, address);
    return found ? found->name : "-";
}

static void an_address_is_named_only_within_an_extent(void **state)
{
    (void)state;
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add(&s, 100, 50, "a", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 160, 20, "b", FUNCTION));
    kymo_elf_symbols_finish(&s, &plain);
    assert_string_equal(name_at(&s, 99), "-");
    assert_string_equal(name_at(&s, 100), "a");
    assert_string_equal(name_at(&s, 149), "a");
    assert_string_equal(name_at(&s, 150), "-"); /* addr2line would say a */
    assert_string_equal(name_at(&s, 160), "b");
    assert_string_equal(name_at(&s, 180), "-");
    assert_int_equal(s.n_addresses, 2);
    kymo_elf_symbols_deinit(&s);
}

static void aliases(void **state)
{
    (void)state;
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add(&s, 100, 50, "first", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 100, 50, "second", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 200, 50, "mark", NOTYPE));
    ok(kymo_elf_symbols_add(&s, 200, 60, "function", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 300, 80, "large", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 300, 40, "small", FUNCTION));
    kymo_elf_symbols_finish(&s, &plain);
    assert_string_equal(name_at(&s, 110), "first");
    assert_string_equal(name_at(&s, 210), "function");
    assert_string_equal(name_at(&s, 310), "small");
    assert_string_equal(name_at(&s, 350), "large");
    kymo_elf_symbols_deinit(&s);
}

static void a_symbol_inside_of_another_ends_before_it(void **state)
{
    (void)state;
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add(&s, 100, 100, "outer", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 140, 10, "inner", FUNCTION));
    kymo_elf_symbols_finish(&s, &plain);
    assert_string_equal(name_at(&s, 145), "inner");
    assert_string_equal(name_at(&s, 170), "outer");
    kymo_elf_symbols_deinit(&s);
}

static void without_a_size_it_reaches_to_the_next(void **state)
{
    (void)state;
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add(&s, 100, 0, "asm", NOTYPE));
    ok(kymo_elf_symbols_add(&s, 150, 0, "asm2", NOTYPE));
    ok(kymo_elf_symbols_add(&s, 200, 50, "sized", FUNCTION));
    ok(kymo_elf_symbols_add(&s, 220, 0, "label", NOTYPE));
    ok(kymo_elf_symbols_add(&s, 900, 0, "last", NOTYPE));
    kymo_elf_symbols_finish(&s, &plain);
    const kymo_elf_symbol *found = kymo_elf_symbols_find(&s, 149);
    assert_string_equal(found->name, "asm");
    assert_string_equal(name_at(&s, 199), "asm2");
    assert_string_equal(name_at(&s, 230), "sized"); /* a label is not where a function ends */
    assert_string_equal(name_at(&s, 999), "last");
    assert_string_equal(name_at(&s, 1000), "-"); /* the section ends */
    kymo_elf_symbols_deinit(&s);
}

static void only_code_of_a_table_counts(void **state)
{
    (void)state;
    kymo_elf_file *file = open_elf(fixture("gcc_dwarf5.so"));
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add_table(&s, file, kymo_elf_find_type(file, SHT_SYMTAB)));
    kymo_elf_symbols_finish(&s, file);
    for (size_t i = 0; i < s.sized.len; i++)
        assert_true(kymo_elf_is_code(file, s.sized.data[i].address));
    assert_string_equal(name_at(&s, symbol_value(fixture("gcc_dwarf5.so"), "place_inner")),
                        "kept_outer");
    assert_string_equal(name_at(&s, symbol_value(fixture("gcc_dwarf5.so"), "sink")), "-");
    kymo_elf_symbols_deinit(&s);
    kymo_elf_close(file);
}

/* The C library is linked dynamically by everything, this test among it. */
static void stubs_are_named_by_their_targets(void **state)
{
    (void)state;
    kymo_elf_file *file = open_elf("/proc/self/exe");
    kymo_elf_symbols s = {0};
    ok(kymo_elf_plt_add(&s, file));
    kymo_elf_symbols_finish(&s, file);
    size_t found = 0;
    for (size_t i = 0; i < s.sized.len; i++) {
        const kymo_elf_symbol *stub = &s.sized.data[i];
        const char *at = strstr(stub->name, "@plt");
        assert_non_null(at);
        assert_string_equal(at, "@plt");
        assert_true(kymo_elf_is_code(file, stub->address));
        found += strcmp(stub->name, "_run_test@plt") == 0 ||
                 strcmp(stub->name, "_cmocka_run_group_tests@plt") == 0;
    }
    assert_int_equal(found, 1);
    kymo_elf_symbols_deinit(&s);
    kymo_elf_close(file);
}

/* A file whose section table was cut off still has PT_DYNAMIC. */
static void dynamic_symbols_without_sections(void **state)
{
    (void)state;
    FILE *f = fopen(fixture("gcc_dwarf5.so"), "rb");
    static unsigned char image[65536];
    size_t size = fread(image, 1, sizeof image, f);
    fclose(f);
    memset(image + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
    kymo_elf_file *file;
    ok(kymo_elf_open_image(image, size, &file));
    assert_true(file->build_id_len > 0);
    kymo_elf_symbols s = {0};
    ok(kymo_elf_symbols_add_dynamic(&s, file));
    kymo_elf_symbols_finish(&s, file);
    assert_string_equal(name_at(&s, symbol_value(fixture("gcc_dwarf5.so"), "kept_leaf") + 1),
                        "kept_leaf");
    kymo_elf_symbols_deinit(&s);
    kymo_elf_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_named_only_within_an_extent),
        cmocka_unit_test(aliases),
        cmocka_unit_test(a_symbol_inside_of_another_ends_before_it),
        cmocka_unit_test(without_a_size_it_reaches_to_the_next),
        cmocka_unit_test(only_code_of_a_table_counts),
        cmocka_unit_test(stubs_are_named_by_their_targets),
        cmocka_unit_test(dynamic_symbols_without_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
