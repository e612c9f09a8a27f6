/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/precheck.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf_builder.h"
#include "unit.h"

static char folder[64];

static const char *put(const char *name, const void *data, size_t len, mode_t mode)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static const char *put_text(const char *name, const char *text)
{
    return put(name, text, strlen(text), 0755);
}

static kymo_precheck check(const char *name)
{
    kymo_precheck p;
    char search[128];
    snprintf(search, sizeof search, "/nonexistent:%s:/usr/bin:/bin", folder);
    kymo_precheck_program(name, search, &p);
    return p;
}

static void expect(const char *name, kymo_precheck_verdict verdict, const char *reason)
{
    kymo_precheck p = check(name);
    if (p.verdict != verdict || !strstr(p.reason, reason))
        fail_msg("%s: verdict %d, \"%s\"; wanted %d, \"%s\"", name, (int)p.verdict, p.reason,
                 (int)verdict, reason);
}

static void programs_of_this_system(void **state)
{
    (void)state;
    kymo_precheck p = check("true");
    assert_int_equal(p.verdict, KYMO_PRECHECK_OK);
    assert_string_equal(p.path, "/usr/bin/true");
    assert_string_equal(p.judged, "/usr/bin/true");
    assert_string_equal(p.reason, "");
    expect("/bin/sh", KYMO_PRECHECK_OK, "");
    /* The loader run by its name preloads like any other. */
    expect("/lib64/ld-linux-x86-64.so.2", KYMO_PRECHECK_OK, "");
}

static void what_is_not_there(void **state)
{
    (void)state;
    expect("no-such-program", KYMO_PRECHECK_NOT_FOUND, "no-such-program: not found in PATH");
    expect("./no/such/program", KYMO_PRECHECK_NOT_FOUND, "No such file");
    expect("", KYMO_PRECHECK_NOT_FOUND, "not found");
    expect("/usr", KYMO_PRECHECK_NOT_EXECUTABLE, "Permission denied");
    put("plain.txt", "text", 4, 0644);
    expect("plain.txt", KYMO_PRECHECK_NOT_EXECUTABLE, "Permission denied");
    expect("/usr/bin/true/x", KYMO_PRECHECK_NOT_FOUND, "Not a directory");
    char long_name[5000];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    expect(long_name, KYMO_PRECHECK_NOT_EXECUTABLE, "too long");
}

static void the_path_is_searched_in_order(void **state)
{
    (void)state;
    put_text("true", "#!/bin/sh\n");
    kymo_precheck p = check("true");
    assert_int_equal(strncmp(p.path, folder, strlen(folder)), 0);
    /* One that may not be executed is passed over. */
    put("true", "#!/bin/sh\n", 10, 0644);
    p = check("true");
    assert_string_equal(p.path, "/usr/bin/true");
    unlink(put_text("true", ""));

    kymo_precheck_program("true", NULL, &p);
    assert_string_equal(p.path, "/bin/true");
    /* An empty element is the current folder. */
    char old[4096];
    assert_non_null(getcwd(old, sizeof old));
    put_text("here", "#!/bin/sh\n");
    assert_int_equal(chdir(folder), 0);
    kymo_precheck_program("here", "/nonexistent:", &p);
    assert_int_equal(p.verdict, KYMO_PRECHECK_OK);
    assert_string_equal(p.path, "here");
    kymo_precheck_program("here", "/nonexistent", &p);
    assert_int_equal(p.verdict, KYMO_PRECHECK_NOT_FOUND);
    assert_int_equal(chdir(old), 0);
}

static void scripts_are_their_interpreter(void **state)
{
    (void)state;
    put_text("s1", "#!/bin/sh\nexit 0\n");
    kymo_precheck p = check("s1");
    assert_int_equal(p.verdict, KYMO_PRECHECK_OK);
    assert_string_equal(p.judged, "/bin/sh");
    assert_string_equal(p.env_interpreter, "");

    put_text("s2", "#! /usr/bin/env sh\n");
    p = check("s2");
    assert_string_equal(p.judged, "/usr/bin/sh");
    assert_string_equal(p.env_interpreter, "sh");

    put_text("s3", "#!/usr/bin/env -S A=1 sh -e\n");
    p = check("s3");
    assert_string_equal(p.judged, "/usr/bin/sh");
    assert_string_equal(p.env_interpreter, "");

    put_text("s4", "no line for the kernel\n");
    p = check("s4");
    assert_int_equal(p.verdict, KYMO_PRECHECK_OK);
    assert_string_equal(p.judged, "/bin/sh");

    put_text("s5", "#!/no/such/interpreter -x\n");
    expect("s5", KYMO_PRECHECK_NOT_FOUND, "its interpreter /no/such/interpreter");
    put_text("s6", "#!/usr/bin/env no-such-interpreter\n");
    expect("s6", KYMO_PRECHECK_NOT_FOUND, "its interpreter no-such-interpreter: not found in PATH");
    put_text("s7", "#!\n");
    expect("s7", KYMO_PRECHECK_NOT_EXECUTABLE, "names no interpreter");

    /* A script run by a script, and one that runs itself for ever. */
    char text[512];
    snprintf(text, sizeof text, "#!%s/s1\n", folder);
    put_text("s8", text);
    expect("s8", KYMO_PRECHECK_OK, "");
    snprintf(text, sizeof text, "#!%s/s9\n", folder);
    put_text("s9", text);
    expect("s9", KYMO_PRECHECK_NOT_EXECUTABLE, "too many");
    put("s10", "\1\2\0\3", 4, 0755);
    expect("s10", KYMO_PRECHECK_NOT_EXECUTABLE, "exec format");
    put_text("empty", "");
    expect("empty", KYMO_PRECHECK_OK, "");
}

static void programs_that_take_no_preload(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    put("good", &e, sizeof e, 0755);
    expect("good", KYMO_PRECHECK_OK, "");

    e.ehdr.e_phnum = 1;
    put("static", &e, sizeof e, 0755);
    expect("static", KYMO_PRECHECK_NOT_RECORDABLE, "statically linked");
    assert_non_null(strstr(check("static").outside, "statically linked"));

    e = elf_image_program();
    memcpy(e.interpreter, "/lib/ld-musl-x86_64.so.1", 25);
    e.interp.p_filesz = 25;
    put("musl", &e, sizeof e, 0755);
    expect("musl", KYMO_PRECHECK_NOT_RECORDABLE, "its loader is /lib/ld-musl-x86_64.so.1");

    e = elf_image_program();
    e.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
    put("small", &e, sizeof e, 0755);
    expect("small", KYMO_PRECHECK_NOT_RECORDABLE, "32-bit");

    e = elf_image_program();
    e.ehdr.e_machine = EM_AARCH64;
    put("arm", &e, sizeof e, 0755);
    expect("arm", KYMO_PRECHECK_NOT_RECORDABLE, "for aarch64");

    e = elf_image_program();
    memcpy(e.strings + 1, "libasan.so.8", 13);
    put("asan", &e, sizeof e, 0755);
    expect("asan", KYMO_PRECHECK_NOT_RECORDABLE, "AddressSanitizer");

    e = elf_image_program();
    memcpy(e.strings + 1, "libtsan.so.2", 13);
    put("tsan", &e, sizeof e, 0755);
    expect("tsan", KYMO_PRECHECK_NOT_RECORDABLE, "ThreadSanitizer");

    e = elf_image_program();
    memcpy(e.strings + 1, "libm.so.6", 10);
    put("without-libc", &e, sizeof e, 0755);
    expect("without-libc", KYMO_PRECHECK_NOT_RECORDABLE, "does not use the C library");

    e = elf_image_program();
    e.ehdr.e_phnum = 3;
    elf_image_make_go(&e);
    e.interp.p_type = PT_NULL;
    put("go-static", &e, sizeof e, 0755);
    expect("go-static", KYMO_PRECHECK_NOT_RECORDABLE, "Go's own profiler sees it");

    e = elf_image_program();
    e.ehdr.e_type = ET_REL;
    put("object", &e, sizeof e, 0755);
    expect("object", KYMO_PRECHECK_NOT_EXECUTABLE, "object file");

    e = elf_image_program();
    put("cut", &e, 100, 0755);
    expect("cut", KYMO_PRECHECK_NOT_EXECUTABLE, "not a program that can run");

    /* A script is as good as its interpreter. */
    char text[512];
    snprintf(text, sizeof text, "#!%s/static -x\n", folder);
    put_text("by-static", text);
    expect("by-static", KYMO_PRECHECK_NOT_RECORDABLE, "static cannot be recorded");
}

/* It can be recorded, and little will come of it. */
static void go_programs_are_warned_of(void **state)
{
    (void)state;
    struct elf_image go = elf_image_program();
    struct elf_image with_note = elf_image_program();
    assert_string_equal(check("true").warning, "");
    /* The headers go behind the image, since there is one more of them. */
    Elf64_Phdr all[4] = {go.load, go.interp, go.dynamic};
    elf_image_make_go(&with_note);
    memcpy(go.strings, with_note.strings, sizeof go.strings);
    all[3] = with_note.dynamic;
    unsigned char file[sizeof go + sizeof all];
    go.ehdr.e_phoff = sizeof go;
    go.ehdr.e_phnum = 4;
    go.load.p_filesz = sizeof file;
    memcpy(file, &go, sizeof go);
    memcpy(file + sizeof go, all, sizeof all);
    put("go", file, sizeof file, 0755);
    kymo_precheck p = check("go");
    assert_int_equal(p.verdict, KYMO_PRECHECK_OK);
    assert_non_null(strstr(p.warning, "is a Go program: Go's runtime takes every signal"));
    assert_non_null(strstr(p.outside, "Go's runtime takes every signal"));
}

static void privileges(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    struct statvfs fs;
    assert_int_equal(statvfs(folder, &fs), 0);
    if (fs.f_flag & ST_NOSUID)
        skip();

    /* One's own setuid program changes nothing: root's, run by root, is this case. */
    put("own", &e, sizeof e, 04755);
    expect("own", KYMO_PRECHECK_OK, "");
    if (geteuid() != 0)
        skip();
    const char *path = put("other", &e, sizeof e, 0755);
    assert_int_equal(chown(path, 65534, 0), 0);
    assert_int_equal(chmod(path, 04755), 0);
    expect("other", KYMO_PRECHECK_NOT_RECORDABLE, "it is setuid");
    assert_int_equal(chown(path, 0, 65534), 0);
    assert_int_equal(chmod(path, 02755), 0);
    expect("other", KYMO_PRECHECK_NOT_RECORDABLE, "it is setgid");
    /* Without execution for the group the bit means mandatory locking, not a group. */
    assert_int_equal(chmod(path, 02745), 0);
    expect("other", KYMO_PRECHECK_OK, "");

    /* cap_net_raw=ep, looked at by root and by another user. */
    const uint32_t caps[5] = {0x02000001, 1u << 13, 0, 0, 0};
    path = put("caps", &e, sizeof e, 0755);
    if (setxattr(path, "security.capability", caps, sizeof caps, 0) != 0)
        skip(); /* not every file system has them */
    expect("caps", KYMO_PRECHECK_OK, "");
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(setresuid(65534, 65534, 0), 0);
    expect("caps", KYMO_PRECHECK_NOT_RECORDABLE, "it has file capabilities");
    expect("own", KYMO_PRECHECK_NOT_RECORDABLE, "it is setuid");
    assert_int_equal(setresuid(0, 0, 0), 0);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kymo-precheck-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_this_system),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(the_path_is_searched_in_order),
        cmocka_unit_test(scripts_are_their_interpreter),
        cmocka_unit_test(programs_that_take_no_preload),
        cmocka_unit_test(go_programs_are_warned_of),
        cmocka_unit_test(privileges),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
