/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/apply.h"
#include "symbolize_fixture.h"

static uint32_t add_module(kymo_profile *p, const char *path, const char *as)
{
    kymo_elf_file *file = open_elf(path);
    kymo_module m = {.size = sizeof m, .path = as ? as : path, .start = 0x1000, .end = 0x9000};
    memcpy(m.build_id, file->build_id, file->build_id_len);
    m.build_id_len = (uint32_t)file->build_id_len;
    kymo_elf_close(file);
    kymo_process process = {.size = sizeof process, .pid = 7};
    ok(kymo_profile_add_process(p, &process, &m.process));
    uint32_t id;
    ok(kymo_profile_add_module(p, &m, &id));
    return id;
}

static uint32_t add_frame(kymo_profile *p, uint32_t module, uint64_t address)
{
    uint32_t id;
    ok(kymo_profile_add_frame(p, module, address, KYMO_CATEGORY_AUTO, &id));
    return id;
}

static const char *function_of(const kymo_profile *p, uint32_t frame, uint32_t at)
{
    uint32_t n;
    const kymo_line *lines = kymo_profile_frame_lines(p, frame, &n);
    assert_true(at < n);
    return kymo_profile_string(p, kymo_profile_function(p, lines[at].function)->name);
}

static void look_there(void *user, const kymo_profile *p, uint32_t module,
                       kymo_symbol_module *wanted)
{
    (void)p;
    (void)module;
    wanted->paths = user;
}

static void frames_get_their_lines(void **state)
{
    (void)state;
    const char *path = fixture("gcc_dwarf5.so");
    kymo_profile *p;
    kymo_symbolizer *s;
    ok(kymo_profile_create(&p));
    ok(kymo_symbolizer_create(NULL, &s));
    uint32_t module = add_module(p, path, NULL), again = add_module(p, path, NULL);
    uint32_t inner = add_frame(p, module, symbol_value(path, "place_inner"));
    uint32_t leaf = add_frame(p, again, symbol_value(path, "place_leaf"));
    uint32_t nowhere = add_frame(p, module, 0x10);
    uint32_t outside = add_frame(p, KYMO_NONE, 0x1234);
    kymo_apply_result r;
    ok(kymo_symbolize_profile(s, p, NULL, &r));
    assert_int_equal(r.frames, 3);
    assert_int_equal(r.frames_named, 2);
    assert_int_equal(r.in_complete, 3);
    assert_int_equal(r.complete_named, 2);
    assert_int_equal(r.modules, 1); /* one file, in two processes */
    assert_int_equal(r.without_symbols, 0);

    const kymo_frame *f = kymo_profile_frame(p, inner);
    assert_int_equal(f->line_count, 3);
    assert_true(f->named);
    assert_string_equal(function_of(p, inner, 0), "inner");
    assert_string_equal(function_of(p, inner, 2), "kept_outer");
    uint32_t n;
    const kymo_line *lines = kymo_profile_frame_lines(p, inner, &n);
    assert_int_equal(lines[1].line, source_line("places.c", "call:inner"));
    const kymo_function *function = kymo_profile_function(p, lines[0].function);
    assert_non_null(strstr(kymo_profile_source(p, function->source), "/places.c"));
    assert_int_equal(function->start_line, source_line("places.c", "INLINED int inner"));
    const kymo_symbol *symbol = kymo_profile_symbol(p, f->symbol);
    assert_string_equal(kymo_profile_string(p, symbol->name), "kept_outer");
    assert_int_equal(symbol->address, symbol_value(path, "kept_outer"));
    assert_string_equal(function_of(p, leaf, 0), "kept_leaf");
    assert_int_equal(kymo_profile_frame(p, nowhere)->line_count, 0);
    assert_false(kymo_profile_frame(p, nowhere)->named);
    assert_int_equal(kymo_profile_frame(p, outside)->line_count, 0);
    kymo_symbolizer_destroy(s);
    kymo_profile_destroy(p);
}

/* All addresses of a function without a name are one function, called by where it begins. */
static void code_without_names_has_functions(void **state)
{
    (void)state;
    const char *with = fixture("hidden.so"), *bare = fixture("hidden_bare.so");
    kymo_profile *p;
    kymo_symbolizer *s;
    char leaf_name[64], outer_name[64];
    ok(kymo_profile_create(&p));
    ok(kymo_symbolizer_create(NULL, &s));
    uint32_t module = add_module(p, bare, NULL);
    uint64_t start = symbol_value(with, "kept_leaf");
    uint32_t leaf = add_frame(p, module, symbol_value(with, "place_leaf"));
    uint32_t wrapper = add_frame(p, module, symbol_value(with, "place_wrapper"));
    uint32_t outer = add_frame(p, module, symbol_value(with, "place_outer"));
    uint32_t nowhere = add_frame(p, module, 0x10);
    kymo_apply_result r;
    ok(kymo_symbolize_profile(s, p, NULL, &r));
    assert_int_equal(r.frames_named, 0);
    snprintf(leaf_name, sizeof leaf_name, "hidden_bare.so+0x%llx", (unsigned long long)start);
    snprintf(outer_name, sizeof outer_name, "hidden_bare.so+0x%llx",
             (unsigned long long)symbol_value(with, "kept_outer"));
    assert_string_equal(function_of(p, leaf, 0), leaf_name);
    assert_string_equal(function_of(p, wrapper, 0), leaf_name);
    assert_string_equal(function_of(p, outer, 0), outer_name);
    assert_false(kymo_profile_frame(p, leaf)->named);
    assert_int_equal(kymo_profile_symbol(p, kymo_profile_frame(p, leaf)->symbol)->address, start);
    assert_int_equal(kymo_profile_frame(p, nowhere)->line_count, 0);
    kymo_symbolizer_destroy(s);
    kymo_profile_destroy(p);
}

/* A frame that came with a name, of a file of which the recording says how far it is known. */
static uint32_t add_stored(kymo_profile *p, const char *path, uint64_t address, uint32_t state)
{
    kymo_function function = {.source = KYMO_NONE};
    kymo_line line = {0};
    function.module = add_module(p, path, NULL);
    uint32_t frame = add_frame(p, function.module, address);
    ok(kymo_profile_set_module_symbols(p, function.module, state));
    ok(kymo_profile_add_string(p, "stored", 6, &function.name));
    ok(kymo_profile_add_function(p, &function, &line.function));
    ok(kymo_profile_frame_set_lines(p, frame, &line, 1, KYMO_NONE, 1));
    return frame;
}

/* What the recording brought stays, unless some of it is missing and the file knows more now. */
static void stored_names_stay(void **state)
{
    (void)state;
    const char *no_dirs[] = {NULL};
    kymo_symbolizer_options options = {.debug_dirs = no_dirs};
    const char *whole = fixture("gcc_dwarf5.so"), *other = fixture("gcc_dwarf4.so");
    uint64_t leaf = symbol_value(whole, "place_leaf");
    kymo_profile *p;
    kymo_symbolizer *s;
    kymo_apply_result r;
    ok(kymo_profile_create(&p));
    ok(kymo_symbolizer_create(&options, &s));
    uint32_t all = add_stored(p, whole, leaf, KYMO_SYMBOLS_ALL);
    uint32_t some = add_stored(p, other, symbol_value(other, "place_leaf"), KYMO_SYMBOLS_SOME);
    uint32_t bare = add_stored(p, fixture("bare.so"), leaf, KYMO_SYMBOLS_SOME);
    uint32_t noid = add_stored(p, fixture("noid.so"), leaf, KYMO_SYMBOLS_NONE);
    ok(kymo_symbolize_profile(s, p, NULL, &r));
    assert_string_equal(function_of(p, all, 0), "stored");
    assert_string_equal(function_of(p, some, 0), "kept_leaf");
    assert_string_equal(function_of(p, bare, 0), "stored");
    /* Nothing says that this is the file that ran. */
    assert_string_equal(function_of(p, noid, 0), "stored");
    assert_int_equal(r.modules, 4);
    assert_int_equal(r.frames, 4);
    assert_int_equal(r.frames_named, 4);
    assert_int_equal(r.in_complete, 2);
    assert_int_equal(r.complete_named, 2);
    assert_int_equal(r.without_symbols, 1);
    kymo_symbolizer_destroy(s);
    kymo_profile_destroy(p);
}

static void a_replaced_file_names_nothing(void **state)
{
    (void)state;
    kymo_profile *p;
    kymo_symbolizer *s;
    const char *no_dirs[] = {NULL};
    kymo_symbolizer_options options = {.debug_dirs = no_dirs};
    ok(kymo_profile_create(&p));
    ok(kymo_symbolizer_create(&options, &s));
    const char *path = fixture("gcc_dwarf5.so");
    uint32_t module = add_module(p, path, fixture("gcc_dwarf4.so"));
    uint32_t leaf = add_frame(p, module, symbol_value(path, "place_leaf"));
    kymo_apply_result r;
    ok(kymo_symbolize_profile(s, p, NULL, &r));
    assert_int_equal(r.mismatched, 1);
    assert_int_equal(r.frames_named, 0);
    assert_int_equal(r.in_complete, 0);
    assert_int_equal(kymo_profile_frame(p, leaf)->line_count, 0);
    /* The caller knows better where it is. */
    kymo_apply_options there = {.locate = look_there, .user = &path};
    ok(kymo_symbolize_profile(s, p, &there, &r));
    assert_int_equal(r.frames_named, 1);
    assert_string_equal(function_of(p, leaf, 0), "kept_leaf");
    kymo_symbolizer_destroy(s);
    kymo_profile_destroy(p);
}

/* Generated code comes with its names, and what has none counts against them. */
static void names_of_generated_code_stay(void **state)
{
    (void)state;
    kymo_profile *p;
    kymo_symbolizer *s;
    ok(kymo_profile_create(&p));
    ok(kymo_symbolizer_create(NULL, &s));
    kymo_process process = {.size = sizeof process, .pid = 7};
    kymo_module m = {.size = sizeof m, .path = "[jit]", .end = 9, .category = KYMO_CATEGORY_JIT};
    kymo_function function = {.source = KYMO_NONE, .module = KYMO_NONE};
    uint32_t module;
    ok(kymo_profile_add_process(p, &process, &m.process));
    ok(kymo_profile_add_module(p, &m, &module));
    uint32_t named = add_frame(p, module, 5);
    (void)add_frame(p, KYMO_NONE, 0x1234);
    kymo_line line = {0};
    ok(kymo_profile_add_string(p, "made", 4, &function.name));
    ok(kymo_profile_add_function(p, &function, &line.function));
    ok(kymo_profile_frame_set_lines(p, named, &line, 1, KYMO_NONE, 1));
    kymo_apply_result r;
    ok(kymo_symbolize_profile(s, p, NULL, &r));
    assert_string_equal(function_of(p, named, 0), "made");
    assert_int_equal(r.frames, 1);
    assert_int_equal(r.frames_named, 1);
    assert_int_equal(r.in_complete, 2);
    assert_int_equal(r.complete_named, 1);
    assert_int_equal(r.modules, 0);
    kymo_symbolizer_destroy(s);
    kymo_profile_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_get_their_lines),
        cmocka_unit_test(names_of_generated_code_stay),
        cmocka_unit_test(code_without_names_has_functions),
        cmocka_unit_test(stored_names_stay),
        cmocka_unit_test(a_replaced_file_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
