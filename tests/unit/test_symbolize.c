/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files are used for a module, and which never are.
 */
#include "symbolize_fixture.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "symbolize/elf_file.h"

/* A folder of our own with files of the test in it. */
typedef struct folder {
    char path[128];
} folder;

static folder make_folder(void)
{
    folder f;
    snprintf(f.path, sizeof f.path, "/tmp/kymo-symbolize-XXXXXX");
    assert_non_null(mkdtemp(f.path));
    return f;
}

static void remove_folder(const folder *f)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", f->path);
    assert_int_equal(system(command), 0);
}

/* Copies a fixture to FOLDER/to, making folders on the way. Returns static storage. */
static const char *put(const folder *f, const char *name, const char *to)
{
    static char paths[16][512];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", f->path, to);
    for (char *slash = strchr(path + strlen(f->path) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *in = fopen(fixture(name), "rb"), *out = fopen(path, "wb");
    assert_true(in && out);
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, in)) > 0;)
        assert_int_equal(fwrite(chunk, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
    return path;
}

typedef struct identity {
    unsigned char id[KYMO_BUILD_ID_CAP];
    size_t len;
} identity;

static identity identity_of(const char *name)
{
    kymo_elf_file *file = open_elf(fixture(name));
    identity i = {.len = file->build_id_len};
    memcpy(i.id, file->build_id, i.len);
    kymo_elf_close(file);
    return i;
}

static const char *no_dirs[] = {NULL};
static const kymo_symbolizer_options nowhere = {.debug_dirs = no_dirs};

static kymo_err open_paths(kymo_symbolizer *s, const char *first, const char *second,
                           const identity *id, kymo_symbol_status *status)
{
    const char *paths[2] = {first, second};
    kymo_symbol_module wanted = {.paths = paths,
                                 .n_paths = 2,
                                 .build_id = id ? id->id : NULL,
                                 .build_id_len = id ? id->len : 0};
    kymo_module_symbols *m = NULL;
    kymo_err err = kymo_symbolizer_open_module(s, &wanted, &m, status);
    assert_int_equal(status->err, err);
    assert_int_equal(err == KYMO_OK, m != NULL);
    return err;
}

static void a_replaced_file_is_never_used(void **state)
{
    (void)state;
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    identity id = identity_of("gcc_dwarf5.so");
    kymo_symbol_status status;
    assert_int_equal(open_paths(s, fixture("gcc_dwarf4.so"), NULL, &id, &status), KYMO_E_MISMATCH);
    assert_true(status.mismatched);
    assert_null(status.file);
    /* A file without any build-id is another file, too, whatever else is allowed. */
    const char *path = fixture("noid.so");
    kymo_symbol_module wanted = {.paths = &path,
                                 .n_paths = 1,
                                 .build_id = id.id,
                                 .build_id_len = id.len,
                                 .allow_unverified = true};
    kymo_module_symbols *m;
    assert_int_equal(kymo_symbolizer_open_module(s, &wanted, &m, &status), KYMO_E_MISMATCH);
    kymo_symbolizer_destroy(s);
}

static void the_next_candidate_is_tried(void **state)
{
    (void)state;
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    identity id = identity_of("gcc_dwarf5.so");
    kymo_symbol_status status;
    ok(open_paths(s, fixture("gcc_dwarf4.so"), fixture("gcc_dwarf5.so"), &id, &status));
    assert_true(status.mismatched);
    assert_string_equal(status.file, fixture("gcc_dwarf5.so"));
    assert_false(status.unverified);
    kymo_symbolizer_destroy(s);
}

static void without_a_build_id_a_file_needs_leave(void **state)
{
    (void)state;
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    kymo_symbol_status status;
    assert_int_equal(open_paths(s, fixture("gcc_dwarf5.so"), NULL, NULL, &status),
                     KYMO_E_NOT_FOUND);
    const char *path = fixture("gcc_dwarf5.so");
    kymo_symbol_module wanted = {.paths = &path, .n_paths = 1, .allow_unverified = true};
    kymo_module_symbols *m, *m2;
    ok(kymo_symbolizer_open_module(s, &wanted, &m, &status));
    assert_true(status.unverified);
    /* Memory had none, so a file that has one is not what was loaded. */
    wanted.without_build_id = true;
    assert_int_equal(kymo_symbolizer_open_module(s, &wanted, &m, &status), KYMO_E_MISMATCH);
    path = fixture("noid.so");
    ok(kymo_symbolizer_open_module(s, &wanted, &m2, &status));
    assert_true(status.unverified);
    kymo_symbolizer_destroy(s);
}

static void missing_and_broken_files(void **state)
{
    (void)state;
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    identity id = identity_of("gcc_dwarf5.so");
    kymo_symbol_status status;
    assert_int_equal(open_paths(s, "/nonexistent/x.so", NULL, &id, &status), KYMO_E_NOT_FOUND);
    assert_false(status.mismatched);
    assert_int_equal(open_paths(s, "/etc/passwd", NULL, &id, &status), KYMO_E_CORRUPT);
    assert_int_equal(open_paths(s, "/dev/null", "/tmp", &id, &status), KYMO_E_CORRUPT);
    kymo_symbolizer_destroy(s);
}

static void one_build_id_is_opened_once(void **state)
{
    (void)state;
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    identity id = identity_of("gcc_dwarf5.so");
    const char *path = fixture("gcc_dwarf5.so"), *gone = "/nonexistent";
    kymo_symbol_module wanted = {
        .paths = &path, .n_paths = 1, .build_id = id.id, .build_id_len = id.len};
    kymo_module_symbols *first, *second;
    kymo_symbol_status status;
    ok(kymo_symbolizer_open_module(s, &wanted, &first, &status));
    wanted.paths = &gone;
    ok(kymo_symbolizer_open_module(s, &wanted, &second, &status));
    assert_ptr_equal(first, second);
    assert_non_null(status.file);
    kymo_module_close(first);
    assert_int_equal(kymo_symbolizer_open_module(s, &wanted, &second, &status), KYMO_E_NOT_FOUND);
    kymo_symbolizer_destroy(s);
}

/* Opens `path` and says whether lines were found for a place of the fixture. */
static bool has_lines(const char *path, const identity *id, const kymo_symbolizer_options *options,
                      kymo_symbol_status *status)
{
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(options, &s));
    kymo_symbol_module wanted = {.paths = &path,
                                 .n_paths = 1,
                                 .build_id = id ? id->id : NULL,
                                 .build_id_len = id ? id->len : 0,
                                 .allow_unverified = true};
    kymo_module_symbols *m;
    kymo_symbol_result result;
    kymo_symbol_frames frames = {0};
    uint64_t address = symbol_value(fixture("gcc_dwarf5.so"), "place_inner");
    bool found = false;
    if (kymo_symbolizer_open_module(s, &wanted, &m, status) == KYMO_OK) {
        ok(kymo_module_symbolize(m, &address, 1, &result, &frames));
        found = result.n_frames == 3 && frames.data[0].line > 0;
    }
    /* Strings of the status live as long as the symbolizer: only whether they are is asked. */
    status->file = status->file ? "" : NULL;
    status->debug_file = status->debug_file ? "" : NULL;
    kymo_symbol_frames_deinit(&frames);
    kymo_symbolizer_destroy(s);
    return found;
}

static void debug_files_by_build_id(void **state)
{
    (void)state;
    folder f = make_folder();
    const char *dirs[] = {f.path};
    kymo_symbolizer_options options = {.debug_dirs = dirs, .n_debug_dirs = 1};
    identity id = identity_of("gcc_dwarf5.so");
    char to[160] = ".build-id/", *p = to + strlen(to);
    for (size_t i = 0; i < id.len; i++)
        p += sprintf(p, i == 0 ? "%02x/" : "%02x", id.id[i]);
    strcpy(p, ".debug");
    kymo_symbol_status status;
    const char *bare = put(&f, "bare.so", "bare.so");
    assert_false(has_lines(bare, &id, &options, &status));
    put(&f, "stripped.debug", to);
    assert_true(has_lines(bare, &id, &options, &status));
    assert_non_null(status.debug_file);
    /* The debug file alone will do: the module's own was deleted. */
    assert_true(has_lines("/nonexistent", &id, &options, &status));
    assert_null(status.file);
    /* And when it was replaced. */
    assert_true(has_lines(put(&f, "other.so", "bare.so"), &id, &options, &status));
    assert_true(status.mismatched);
    assert_null(status.file);
    /* A debug file under a name that is not its own is not used. */
    put(&f, "other.so", to);
    assert_false(has_lines("/nonexistent", &id, &options, &status));
    remove_folder(&f);
}

static void debug_files_by_link(void **state)
{
    (void)state;
    folder f = make_folder();
    char below[200];
    snprintf(below, sizeof below, "dbg%s/stripped.debug", f.path);
    char dbg[160];
    snprintf(dbg, sizeof dbg, "%s/dbg", f.path);
    const char *dirs[] = {dbg};
    kymo_symbolizer_options options = {.debug_dirs = dirs, .n_debug_dirs = 1};
    identity id = identity_of("gcc_dwarf5.so");
    const char *places[] = {"stripped.debug", ".debug/stripped.debug", below};
    const char *path = put(&f, "stripped.so", "stripped.so");
    for (size_t i = 0; i < KYMO_ARRAY_LEN(places); i++) {
        kymo_symbol_status status;
        assert_false(has_lines(path, &id, &options, &status));
        const char *debug = put(&f, "stripped.debug", places[i]);
        assert_true(has_lines(path, &id, &options, &status));
        /* Another build's debug file of the same name. */
        put(&f, "other.so", places[i]);
        assert_false(has_lines(path, &id, &options, &status));
        assert_int_equal(unlink(debug), 0);
    }
    remove_folder(&f);
}

static void a_link_without_build_id_is_checked_by_crc(void **state)
{
    (void)state;
    folder f = make_folder();
    kymo_symbol_status status;
    const char *path = put(&f, "noid.so", "noid.so");
    const char *debug = put(&f, "noid.debug", "noid.debug");
    (void)has_lines(path, NULL, &nowhere, &status);
    assert_non_null(status.debug_file);
    FILE *file = fopen(debug, "r+b");
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int last = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_not_equal(fputc(last ^ 1, file), EOF);
    assert_int_equal(fclose(file), 0);
    (void)has_lines(path, NULL, &nowhere, &status);
    assert_null(status.debug_file);
    remove_folder(&f);
}

static void mini_debug_info(void **state)
{
    (void)state;
    if (!fixture("mini.so")) {
        print_message("mini.so was not made: xz is missing\n");
        return;
    }
    opened o = open_with(fixture("mini.so"), &nowhere);
    assert_true(o.status.debugdata && o.status.complete);
    uint64_t address = symbol_value(fixture("gcc_dwarf5.so"), "kept_split.cold");
    kymo_symbol_result r = ask(&o, address);
    assert_true(r.named);
    assert_string_equal(o.frames.data[0].function, "kept_split.cold");
    close_opened(&o);
    o = open_with(fixture("bare.so"), &nowhere);
    assert_false(o.status.complete);
    assert_false(ask(&o, address).named);
    close_opened(&o);
}

static void a_dwz_file_that_is_missing_is_said(void **state)
{
    (void)state;
    if (!fixture("dwz_one.so"))
        return;
    folder f = make_folder();
    opened o = open_with(put(&f, "dwz_one.so", "dwz_one.so"), &nowhere);
    assert_true(o.status.alt_missing);
    uint64_t address = symbol_value(fixture("gcc_dwarf5.so"), "place_outer");
    kymo_symbol_result r = ask(&o, address);
    assert_true(r.named);
    assert_string_equal(o.frames.data[r.first_frame].function, "kept_outer"); /* by the symbol */
    close_opened(&o);
    remove_folder(&f);
}

static void the_vdso_is_an_image(void **state)
{
    (void)state;
    const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    if (!image) {
        print_message("there is no vDSO here\n");
        return;
    }
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    kymo_symbolizer *s;
    ok(kymo_symbolizer_create(&nowhere, &s));
    kymo_symbol_module wanted = {.image = image,
                                 .image_size =
                                     head.e_shoff + (size_t)head.e_shnum * head.e_shentsize,
                                 .allow_unverified = true};
    kymo_module_symbols *m;
    kymo_symbol_status status;
    ok(kymo_symbolizer_open_module(s, &wanted, &m, &status));
    assert_true(status.dynsym);
    assert_true(status.n_symbols >= 2);
    kymo_symbolizer_destroy(s);
}

static void results_keep_the_order_of_addresses(void **state)
{
    (void)state;
    const char *path = fixture("gcc_dwarf5.so");
    opened o = open_with(path, &nowhere);
    uint64_t leaf = symbol_value(path, "place_leaf"), inner = symbol_value(path, "place_inner");
    uint64_t addresses[] = {inner, leaf, 0, inner, UINT64_MAX, leaf};
    kymo_symbol_result r[6];
    ok(kymo_module_symbolize(o.module, addresses, 6, r, &o.frames));
    assert_int_equal(r[0].n_frames, 3);
    assert_int_equal(r[1].n_frames, 1);
    assert_int_equal(r[2].n_frames, 0);
    assert_false(r[2].named);
    assert_int_equal(r[3].n_frames, 3);
    assert_int_equal(r[4].n_frames, 0);
    assert_string_equal(o.frames.data[r[5].first_frame].function, "kept_leaf");
    assert_string_equal(o.frames.data[r[3].first_frame].function, "inner");
    ok(kymo_module_symbolize(o.module, NULL, 0, NULL, &o.frames));
    close_opened(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replaced_file_is_never_used),
        cmocka_unit_test(the_next_candidate_is_tried),
        cmocka_unit_test(without_a_build_id_a_file_needs_leave),
        cmocka_unit_test(missing_and_broken_files),
        cmocka_unit_test(one_build_id_is_opened_once),
        cmocka_unit_test(debug_files_by_build_id),
        cmocka_unit_test(debug_files_by_link),
        cmocka_unit_test(a_link_without_build_id_is_checked_by_crc),
        cmocka_unit_test(mini_debug_info),
        cmocka_unit_test(a_dwz_file_that_is_missing_is_said),
        cmocka_unit_test(the_vdso_is_an_image),
        cmocka_unit_test(results_keep_the_order_of_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
