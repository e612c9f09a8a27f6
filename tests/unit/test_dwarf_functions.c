/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined functions and lines of small files by several compilers, against the places
 * that are written in their source (tests/fixtures/places.c).
 */
#include "symbolize_fixture.h"

#include <libgen.h>

/* What must be at a label: the functions, innermost first, and where each of them is. */
typedef struct expected {
    const char *place;
    const char *function[4];
    const char *at[4]; /* text of the line */
} expected;

static const expected places[] = {
    {"place_leaf", {"kept_leaf"}, {"PLACE(place_leaf)"}},
    {"place_outer", {"kept_outer"}, {"PLACE(place_outer)"}},
    {"place_fatal", {"kept_fatal"}, {"PLACE(place_fatal)"}},
    {"place_middle", {"middle", "kept_outer"}, {"PLACE(place_middle)", "call:middle"}},
    {"place_inner",
     {"inner", "middle", "kept_outer"},
     {"PLACE(place_inner)", "call:inner", "call:middle"}},
    {"place_sibling",
     {"sibling", "middle", "kept_outer"},
     {"PLACE(place_sibling)", "call:sibling", "call:middle"}},
};

/* Not where the compiler does not say that it is one (gcc with -flto), or where it was inlined
 * (DWARF 2). */
static const expected wrapper_place = {"place_wrapper", {"kept_leaf"}, {"call:wrapper"}};

static const expected cxx_places[] = {
    {"place_constructor",
     {"shapes::Box<int>::Box(int)", "shapes::build(int)"},
     {"PLACE(place_constructor)", "call:constructor"}},
    {"place_method", {"shapes::Box<int>::area() const"}, {"PLACE(place_method)"}},
    {"place_hidden", {"shapes::(anonymous namespace)::hidden(int)"}, {"PLACE(place_hidden)"}},
    /* gcc gives an inlined lambda no linkage name, hence no scope. */
    {"place_lambda", {"operator()", "shapes::build(int)"}, {"PLACE(place_lambda)", "call:lambda"}},
};

#define PLACES_MAX 8

static void check_answer(const opened *o, const kymo_symbol_result *r, const char *source,
                         const expected *want)
{
    uint32_t n = 0;
    while (n < 4 && want->function[n])
        n++;
    assert_true(r->named);
    assert_int_equal(r->n_frames, n);
    for (uint32_t i = 0; i < n; i++) {
        const kymo_symbol_frame *f = &o->frames.data[r->first_frame + i];
        assert_string_equal(f->function, want->function[i]);
        assert_non_null(f->file);
        char file[512];
        snprintf(file, sizeof file, "%s", f->file);
        assert_string_equal(basename(file), source);
        assert_int_equal(f->line, source_line(source, want->at[i]));
    }
}

/* Asks for n places at once: of a unit only what concerns them is read. */
static void check_together(const char *path, const char *source, const expected *want, size_t n)
{
    uint64_t addresses[PLACES_MAX];
    kymo_symbol_result r[PLACES_MAX];
    assert_in_range(n, 1, PLACES_MAX);
    for (size_t i = 0; i < n; i++) {
        addresses[i] = symbol_value(path, want[i].place);
        if (addresses[i] == 0) /* a stripped file: its whole brother has the same addresses */
            addresses[i] = symbol_value(fixture("gcc_dwarf5.so"), want[i].place);
        assert_int_not_equal(addresses[i], 0);
    }
    opened o = open_with(path, NULL);
    ok(kymo_module_symbolize(o.module, addresses, n, r, &o.frames));
    for (size_t i = 0; i < n; i++) {
        print_message("%s %s of %zu\n", path, want[i].place, n);
        check_answer(&o, &r[i], source, &want[i]);
    }
    close_opened(&o);
}

static void check_place(const char *path, const char *source, const expected *want)
{
    check_together(path, source, want, 1);
}

static void check_all(const char *name)
{
    const char *path = fixture(name);
    if (!path) {
        print_message("%s was not made: its tool is missing\n", name);
        return;
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++)
        check_place(path, "places.c", &places[i]);
    check_together(path, "places.c", places, KYMO_ARRAY_LEN(places));
}

static void check_cxx(const char *name)
{
    const char *path = fixture(name);
    if (!path) {
        print_message("%s was not made: its tool is missing\n", name);
        return;
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(cxx_places); i++) {
        {
            expected want = cxx_places[i];
            if (strncmp(name, "clang", 5) == 0 && strcmp(want.place, "place_lambda") == 0)
                want.function[0] = "shapes::build(int)::$_0::operator()(int) const";
            check_place(path, "places.cc", &want);
        }
    }
}

static void gcc_all_versions_of_dwarf(void **state)
{
    (void)state;
    assert_non_null(fixture("gcc_dwarf5.so"));
    check_all("gcc_dwarf5.so");
    check_all("gcc_dwarf4.so");
    check_all("gcc_dwarf64.so");
}

/* Strict DWARF 2 has one range for a function, and no inlined places with several. */
static void wrappers_are_no_frames(void **state)
{
    (void)state;
    static const char *const files[] = {"gcc_dwarf4.so", "gcc_dwarf5.so", "clang_dwarf5.so"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(files); i++)
        if (fixture(files[i]))
            check_place(fixture(files[i]), "places.c", &wrapper_place);
}

static void dwarf_2_names_functions_and_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        check_place(fixture("gcc_dwarf2.so"), "places.c", &places[i]);
}

static void clang_has_no_aranges(void **state)
{
    (void)state;
    check_all("clang_dwarf5.so");
    check_all("clang_dwarf4.so");
}

static void lto_refers_into_other_units(void **state)
{
    (void)state;
    check_all("gcc_lto.so");
}

static void units_with_many_ranges(void **state)
{
    (void)state;
    check_all("gcc_sections.so");
}

static void compressed_sections(void **state)
{
    (void)state;
    check_all("gcc_zlib.so");
    check_all("gcc_zlib_gnu.so");
}

static void dwz_moves_names_to_another_file(void **state)
{
    (void)state;
    check_all("dwz_one.so");
    check_all("dwz_two.so");
    if (fixture("dwz_one.so")) {
        opened o = open_with(fixture("dwz_one.so"), NULL);
        assert_non_null(o.status.alt_file);
        assert_false(o.status.alt_missing);
        close_opened(&o);
    }
}

static void debug_link(void **state)
{
    (void)state;
    check_all("stripped.so");
}

static void cxx_names(void **state)
{
    (void)state;
    check_cxx("gcc_cxx.so");
    check_cxx("gcc_types.so");
    check_cxx("clang_cxx.so");
}

/* A function whose entry is inside that of a function with other addresses, also where it is the
 * only one that is asked for. */
static void nested_function(void **state)
{
    (void)state;
    static const expected all[] = {
        {"place_nested", {"nested"}, {"PLACE(place_nested)"}},
        {"place_nest", {"kept_nest"}, {"PLACE(place_nest)"}},
        {"place_first", {"kept_first"}, {"PLACE(place_first)"}},
    };
    const char *path = fixture("gcc_nested.so");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(all); i++)
        check_place(path, "nested.c", &all[i]);
    check_together(path, "nested.c", all, KYMO_ARRAY_LEN(all));
}

/* A function in two parts: the far one is the same function, under a symbol of its own. */
static void split_function(void **state)
{
    (void)state;
    static const char *const files[] = {"gcc_dwarf5.so", "gcc_dwarf4.so", "gcc_lto.so"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(files); i++) {
        const char *path = fixture(files[i]);
        uint64_t address = symbol_value(path, "kept_split.cold");
        assert_int_not_equal(address, 0);
        opened o = open_with(path, NULL);
        kymo_symbol_result r = ask(&o, address);
        assert_int_equal(r.n_frames, 1);
        assert_string_equal(o.frames.data[0].function, "kept_split");
        assert_string_equal(r.symbol_name, "kept_split.cold");
        assert_int_equal(r.symbol_address, address);
        assert_in_range(o.frames.data[0].line, source_line("places.c", "KEPT int kept_split"),
                        source_line("places.c", "cold:end"));
        assert_int_equal(o.frames.data[0].start_line,
                         source_line("places.c", "KEPT int kept_split"));
        close_opened(&o);
    }
}

/* The far part of a function without a linkage name has the same name as the near one. */
static void both_parts_of_a_local_function(void **state)
{
    (void)state;
    const char *path = fixture("gcc_cxx.so");
    const char *symbol = "_ZN6shapes12_GLOBAL__N_15splitEi";
    uint64_t near = symbol_value(path, symbol);
    uint64_t far = symbol_value(path, "_ZN6shapes12_GLOBAL__N_15splitEi.cold");
    assert_true(near && far);
    opened o = open_with(path, NULL);
    kymo_symbol_result a = ask(&o, near), b = ask(&o, far);
    const kymo_symbol_frame *f = &o.frames.data[a.first_frame], *g = &o.frames.data[b.first_frame];
    assert_string_equal(f->function, "shapes::(anonymous namespace)::split(int)");
    assert_string_equal(f->system_name, symbol);
    assert_ptr_equal(f->function, g->function);
    assert_ptr_equal(f->system_name, g->system_name);
    assert_int_equal(b.symbol_address, far);
    close_opened(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gcc_all_versions_of_dwarf),
        cmocka_unit_test(wrappers_are_no_frames),
        cmocka_unit_test(dwarf_2_names_functions_and_lines),
        cmocka_unit_test(clang_has_no_aranges),
        cmocka_unit_test(lto_refers_into_other_units),
        cmocka_unit_test(units_with_many_ranges),
        cmocka_unit_test(compressed_sections),
        cmocka_unit_test(dwz_moves_names_to_another_file),
        cmocka_unit_test(debug_link),
        cmocka_unit_test(cxx_names),
        cmocka_unit_test(nested_function),
        cmocka_unit_test(split_function),
        cmocka_unit_test(both_parts_of_a_local_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
