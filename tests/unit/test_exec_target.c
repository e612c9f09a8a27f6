/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/exec_pass.h"

#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/family.h"
#include "elf_builder.h"
#include "sys/network.h"
#include "unit.h"

#define NO_REASON KYMO_REFUSAL_REASONS

static char folder[64];
static enum kymo_refusal_reason reason;

static const char *at(const char *name)
{
    static char path[2][160];
    static unsigned turn;
    char *out = path[turn++ % 2];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static const char *put(const char *name, const void *data, size_t len, mode_t mode)
{
    const char *path = at(name);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static const char *put_text(const char *name, const char *text)
{
    return put(name, text, strlen(text), 0755);
}

static enum kymo_exec_verdict judge(const char *file, enum kymo_exec_lookup lookup)
{
    reason = NO_REASON;
    return kymo_exec_judge(file, lookup, &reason);
}

static void expect(const char *name, enum kymo_exec_verdict verdict)
{
    assert_int_equal(judge(at(name), KYMO_EXEC_PATH), verdict);
    assert_int_equal(judge(at(name), KYMO_EXEC_SEARCH), verdict); /* a slash is in it */
    if (verdict != KYMO_EXEC_REFUSED)
        assert_int_equal(reason, NO_REASON);
}

static void expect_refused(const char *name, enum kymo_refusal_reason why)
{
    expect(name, KYMO_EXEC_REFUSED);
    assert_int_equal(reason, why);
}

static void put_image(const char *name, const struct elf_image *e)
{
    (void)put(name, e, sizeof *e, 0755);
}

/* ---- what is no program ---- */

static void what_cannot_run_is_left_alone(void **state)
{
    (void)state;
    expect("not-there", KYMO_EXEC_UNKNOWN);
    expect(".", KYMO_EXEC_UNKNOWN);
    (void)put("plain", "#!/bin/sh\n", 10, 0644);
    expect("plain", KYMO_EXEC_UNKNOWN);
    expect("plain/x", KYMO_EXEC_UNKNOWN);
    assert_int_equal(mkfifo(at("pipe"), 0755), 0);
    expect("pipe", KYMO_EXEC_UNKNOWN);
    assert_int_equal(symlink("circle", at("circle")), 0);
    expect("circle", KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge("/dev/null", KYMO_EXEC_PATH), KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge("", KYMO_EXEC_PATH), KYMO_EXEC_UNKNOWN);
    char name[5000];
    memset(name, 'a', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    assert_int_equal(judge(name, KYMO_EXEC_PATH), KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge(name + 1, KYMO_EXEC_SEARCH_SHELL), KYMO_EXEC_UNKNOWN);
}

/* ---- ELF ---- */

static void programs_of_this_system(void **state)
{
    (void)state;
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
    assert_int_equal(reason, NO_REASON);
    /* The loader itself, as a program, has none. */
    assert_int_equal(judge(ELF_IMAGE_LOADER, KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
}

static void programs_that_would_not_bear_us(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    put_image("good", &e);
    expect("good", KYMO_EXEC_RECORDABLE);

    e.ehdr.e_phnum = 1;
    put_image("static", &e);
    expect_refused("static", KYMO_REFUSAL_STATIC);

    e = elf_image_program();
    memset(e.interpreter, 0, sizeof e.interpreter);
    memcpy(e.interpreter, "/bin/true", 10);
    e.interp.p_filesz = 10;
    put_image("loader", &e);
    expect_refused("loader", KYMO_REFUSAL_LOADER);

    e = elf_image_program();
    memcpy(e.interpreter, "/no/ld.so", 10);
    e.interp.p_filesz = 10;
    put_image("no-loader", &e);
    expect("no-loader", KYMO_EXEC_UNKNOWN);

    e = elf_image_program();
    e.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
    put_image("small", &e);
    expect_refused("small", KYMO_REFUSAL_MACHINE);
    e = elf_image_program();
    e.ehdr.e_ident[EI_DATA] = ELFDATA2MSB;
    put_image("big-endian", &e);
    expect_refused("big-endian", KYMO_REFUSAL_MACHINE);
    e = elf_image_program();
    e.ehdr.e_machine = EM_AARCH64;
    put_image("arm", &e);
    expect_refused("arm", KYMO_REFUSAL_MACHINE);

    /* AddressSanitizer's runtime ends a program into which another library was loaded first. */
    e = elf_image_program();
    memcpy(e.strings + 1, "libasan.so.8", 13);
    put_image("asan", &e);
    expect_refused("asan", KYMO_REFUSAL_ASAN);
    e = elf_image_program();
    memcpy(e.strings + 16, "\0__asan_init", 13);
    put_image("asan-inside", &e);
    expect_refused("asan-inside", KYMO_REFUSAL_ASAN);

    e = elf_image_program();
    memcpy(e.strings + 1, "libtsan.so.2", 13);
    put_image("tsan", &e);
    expect_refused("tsan", KYMO_REFUSAL_TSAN);

    e = elf_image_program();
    memcpy(e.strings + 1, "libm.so.6", 10);
    put_image("without-libc", &e);
    expect_refused("without-libc", KYMO_REFUSAL_NO_LIBC);

    e = elf_image_program();
    e.ehdr.e_type = ET_REL;
    put_image("object", &e);
    expect("object", KYMO_EXEC_UNKNOWN);
    e.ehdr.e_type = ET_CORE;
    put_image("core", &e);
    expect("core", KYMO_EXEC_UNKNOWN);
}

/* Cut anywhere before its interpreter's name ends, no loader would take it; nor do we. */
static void files_that_are_cut(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    size_t needed = offsetof(struct elf_image, interpreter) + sizeof ELF_IMAGE_LOADER;
    for (size_t len = SELFMAG; len < needed; len++) {
        (void)put("cut", &e, len, 0755);
        expect("cut", KYMO_EXEC_UNKNOWN);
    }
    (void)put("cut", &e, needed, 0755);
    expect_refused("cut", KYMO_REFUSAL_NO_LIBC); /* it has no strings that could say otherwise */
}

static void headers_that_make_no_sense(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    e.ehdr.e_phnum = 0xffff;
    put_image("bad", &e);
    expect("bad", KYMO_EXEC_UNKNOWN);
    e = elf_image_program();
    e.ehdr.e_phnum = 0;
    put_image("bad", &e);
    expect("bad", KYMO_EXEC_UNKNOWN);
    e = elf_image_program();
    e.ehdr.e_phentsize--;
    put_image("bad", &e);
    expect("bad", KYMO_EXEC_UNKNOWN);
    e = elf_image_program();
    e.ehdr.e_phoff = UINT64_MAX - 8;
    put_image("bad", &e);
    expect("bad", KYMO_EXEC_UNKNOWN);
    static const uint64_t sizes[] = {0, 1, 256, 4096, UINT64_MAX};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(sizes); i++) {
        e = elf_image_program();
        e.interp.p_filesz = sizes[i];
        put_image("bad", &e);
        expect("bad", KYMO_EXEC_UNKNOWN);
    }
    e = elf_image_program();
    e.interpreter[0] = '\0';
    put_image("bad", &e);
    expect("bad", KYMO_EXEC_UNKNOWN);
}

/* Nothing that a file says leads astray: there is an answer for each, and no descriptor is left. */
static void files_of_any_bytes(void **state)
{
    (void)state;
    uint64_t random = 1;
    int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(before);
    for (int i = 0; i < 3000; i++) {
        struct elf_image e = elf_image_program();
        unsigned char *bytes = (unsigned char *)&e;
        for (int k = 0; k < 1 + i % 8; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bytes[(random >> 33) % sizeof e] = (unsigned char)(random >> 20);
        }
        put_image("any", &e);
        enum kymo_exec_verdict verdict = judge(at("any"), KYMO_EXEC_PATH_SHELL);
        assert_true(verdict == KYMO_EXEC_RECORDABLE || verdict == KYMO_EXEC_REFUSED ||
                    verdict == KYMO_EXEC_UNKNOWN);
        assert_int_equal(verdict == KYMO_EXEC_REFUSED, reason != NO_REASON);
    }
    int after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(after);
    assert_int_equal(before, after);
}

/* ---- scripts ---- */

static void scripts_are_their_interpreter(void **state)
{
    (void)state;
    static const char *const good[] = {"#!/bin/sh\n", "#!/bin/sh", "#! \t/bin/sh -e x\n",
                                       "#!/bin/sh\tx\n", "#!/usr/bin/env sh\n"};
    static const char *const bad[] = {
        "#!",     "#!\n",  "#! \n",        "#!/bin/sh\r\n", "#!/no/such/sh\n",
        "#!sh\n", "#!/\n", "#!/dev/null\n"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(good); i++) {
        (void)put_text("script", good[i]);
        expect("script", KYMO_EXEC_RECORDABLE);
    }
    for (size_t i = 0; i < KYMO_ARRAY_LEN(bad); i++) {
        (void)put_text("script", bad[i]);
        expect("script", KYMO_EXEC_UNKNOWN);
    }
    (void)put("script", "#!/bin/sh\0/x\n", 13, 0755);
    expect("script", KYMO_EXEC_RECORDABLE);

    char line[1024] = "#!/";
    memset(line + 3, 'x', sizeof line - 5);
    (void)put_text("script", line);
    expect("script", KYMO_EXEC_UNKNOWN);

    struct elf_image e = elf_image_program();
    e.ehdr.e_phnum = 1;
    put_image("static", &e);
    snprintf(line, sizeof line, "#!%s -x\n", at("static"));
    (void)put_text("script", line);
    expect_refused("script", KYMO_REFUSAL_STATIC);
}

static int status_of(const char *path)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        execl(path, path, (char *)NULL);
        _exit(126);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As far as the kernel follows them, and no further. */
static void scripts_of_scripts(void **state)
{
    (void)state;
    char text[256];
    char name[16];
    (void)put_text("n1", "#!/bin/sh\nexit 7\n");
    for (int n = 1; n <= 8; n++) {
        snprintf(name, sizeof name, "n%d", n);
        if (n > 1) {
            char before[16];
            snprintf(before, sizeof before, "n%d", n - 1);
            snprintf(text, sizeof text, "#!%s\nexit 7\n", at(before));
            (void)put_text(name, text);
        }
        int runs = status_of(at(name)) == 7;
        assert_int_equal(runs, n <= 5);
        expect(name, runs ? KYMO_EXEC_RECORDABLE : KYMO_EXEC_UNKNOWN);
    }
}

static void scripts_in_a_circle(void **state)
{
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "#!%s\n", at("self"));
    (void)put_text("self", text);
    expect("self", KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge(at("self"), KYMO_EXEC_PATH_SHELL), KYMO_EXEC_UNKNOWN);
    snprintf(text, sizeof text, "#!%s\n", at("other"));
    (void)put_text("one", text);
    snprintf(text, sizeof text, "#!%s\n", at("one"));
    (void)put_text("other", text);
    expect("one", KYMO_EXEC_UNKNOWN);
}

/* execvp gives text that no kernel runs to the shell; execve does not. */
static void text_is_the_shells(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "x", "exit 0\n", "#", "\177EL"};
    char line[256];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(texts); i++) {
        (void)put_text("text", texts[i]);
        expect("text", KYMO_EXEC_UNKNOWN);
        assert_int_equal(judge(at("text"), KYMO_EXEC_PATH_SHELL), KYMO_EXEC_RECORDABLE);
        assert_int_equal(judge(at("text"), KYMO_EXEC_SEARCH_SHELL), KYMO_EXEC_RECORDABLE);
    }
    /* As an interpreter it is none. */
    snprintf(line, sizeof line, "#!%s\n", at("text"));
    (void)put_text("script", line);
    assert_int_equal(judge(at("script"), KYMO_EXEC_PATH_SHELL), KYMO_EXEC_UNKNOWN);
}

/* ---- where it starts ---- */

static void what_is_not_there_is_not_preloaded(void **state)
{
    (void)state;
    struct kymo_family before = kymo_family;

    strcpy(kymo_family.library, "/no/libkymo-preload.so");
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
    assert_int_equal(reason, KYMO_REFUSAL_LIBRARY);
    /* What cannot be recorded anyway is told by its own reason. */
    struct elf_image e = elf_image_program();
    e.ehdr.e_phnum = 1;
    put_image("static", &e);
    expect_refused("static", KYMO_REFUSAL_STATIC);

    /* Another file in its place: a chroot. */
    strcpy(kymo_family.library, "/bin/sh");
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
    assert_int_equal(reason, KYMO_REFUSAL_LIBRARY);
    kymo_family = before;

    /* The cookie decides where the kernel has it, else the file of /proc. */
    kymo_family.network_cookie = kymo_network_cookie();
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
    if (kymo_family.network_cookie) {
        kymo_family.network.inode++;
        assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
        kymo_family.network_cookie++;
        assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
        assert_int_equal(reason, KYMO_REFUSAL_RECORDER);
        kymo_family.network.inode--;
        assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
    }
    kymo_family = before;

    kymo_family.network.inode++;
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
    assert_int_equal(reason, KYMO_REFUSAL_RECORDER);
    kymo_family.network.inode = 0; /* not known: no /proc at the start */
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
    kymo_family = before;

    kymo_family.loader_file.inode++;
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_REFUSED);
    assert_int_equal(reason, KYMO_REFUSAL_LOADER);
    kymo_family = before;
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH), KYMO_EXEC_RECORDABLE);
}

/* ---- PATH ---- */

static void the_path_is_searched_as_libc_does(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    char path[3000];
    char cwd[4096];
    const char *old = getenv("PATH");
    char *saved = old ? strdup(old) : NULL;
    e.ehdr.e_phnum = 1;
    put_image("kymo-static", &e);
    snprintf(path, sizeof path, "/nonexistent:%s", folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(judge("kymo-static", KYMO_EXEC_SEARCH), KYMO_EXEC_REFUSED);
    assert_int_equal(reason, KYMO_REFUSAL_STATIC);
    assert_int_equal(judge("kymo-static", KYMO_EXEC_PATH), KYMO_EXEC_UNKNOWN); /* not a search */
    assert_int_equal(judge("kymo-not-there", KYMO_EXEC_SEARCH), KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge("", KYMO_EXEC_SEARCH), KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge(".", KYMO_EXEC_SEARCH), KYMO_EXEC_UNKNOWN);

    /* The first that can be executed: not this one. */
    snprintf(path, sizeof path, "%s:/bin", folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
    (void)put("true", "#!/bin/sh\n", 10, 0644);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH), KYMO_EXEC_RECORDABLE);
    put_image("true", &e);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH), KYMO_EXEC_REFUSED);
    /* Text is the shell's, but for posix_spawnp. */
    (void)put_text("kymo-text", "exit 0\n");
    assert_int_equal(judge("kymo-text", KYMO_EXEC_SEARCH), KYMO_EXEC_UNKNOWN);
    assert_int_equal(judge("kymo-text", KYMO_EXEC_SEARCH_SHELL), KYMO_EXEC_RECORDABLE);

    /* Empty elements are the current folder. */
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(chdir(folder), 0);
    static const char *const empty[] = {"", ":/nonexistent", "/nonexistent:", "/nonexistent::/no"};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(empty); i++) {
        assert_int_equal(setenv("PATH", empty[i], 1), 0);
        assert_int_equal(judge("kymo-static", KYMO_EXEC_SEARCH), KYMO_EXEC_REFUSED);
    }
    assert_int_equal(chdir(cwd), 0);

    assert_int_equal(unsetenv("PATH"), 0);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH), KYMO_EXEC_RECORDABLE);
    if (saved)
        assert_int_equal(setenv("PATH", saved, 1), 0);
    free(saved);
}

/* A folder whose name is too long to look in may have it: then it is not known which one runs. */
static void a_folder_that_is_not_looked_in(void **state)
{
    (void)state;
    char path[2001 + sizeof ":/bin"];
    const char *old = getenv("PATH");
    char *saved = old ? strdup(old) : NULL;
    memset(path, 'x', 2000);
    for (size_t i = 0; i < 2000; i += 100)
        path[i] = '/';
    strcpy(path + 2000, ":/bin");
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH), KYMO_EXEC_UNKNOWN);
    strcpy(path + 500, ":/bin");
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH), KYMO_EXEC_RECORDABLE);
    if (saved)
        assert_int_equal(setenv("PATH", saved, 1), 0);
    free(saved);
}

/* A relative name means another file in another folder. */
static void in_a_folder_that_is_not_known(void **state)
{
    (void)state;
    const char *old = getenv("PATH");
    char *saved = old ? strdup(old) : NULL;
    static const char *const relative[] = {"", ".:/bin", "/bin:", "/bin::/nonexistent", "/bin:bin"};
    assert_int_equal(judge("/bin/true", KYMO_EXEC_PATH_ELSEWHERE), KYMO_EXEC_RECORDABLE);
    assert_int_equal(judge("/bin/true", KYMO_EXEC_SEARCH_ELSEWHERE), KYMO_EXEC_RECORDABLE);
    assert_int_equal(judge("./true", KYMO_EXEC_PATH_ELSEWHERE), KYMO_EXEC_REFUSED);
    assert_int_equal(judge("bin/true", KYMO_EXEC_SEARCH_ELSEWHERE), KYMO_EXEC_REFUSED);
    assert_int_equal(setenv("PATH", "/nonexistent:/bin", 1), 0);
    assert_int_equal(judge("true", KYMO_EXEC_SEARCH_ELSEWHERE), KYMO_EXEC_RECORDABLE);
    assert_int_equal(judge("true", KYMO_EXEC_PATH_ELSEWHERE), KYMO_EXEC_REFUSED);
    for (size_t i = 0; i < KYMO_ARRAY_LEN(relative); i++) {
        assert_int_equal(setenv("PATH", relative[i], 1), 0);
        assert_int_equal(judge("true", KYMO_EXEC_SEARCH_ELSEWHERE), KYMO_EXEC_REFUSED);
    }
    if (saved)
        assert_int_equal(setenv("PATH", saved, 1), 0);
    free(saved);
}

/* ---- privileges ---- */

/* In a process of its own, which may change what it is. Returns its exit status. */
static int apart(int (*body)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        _exit(body());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int says(const char *name, enum kymo_exec_verdict verdict, enum kymo_refusal_reason why)
{
    return judge(at(name), KYMO_EXEC_PATH) == verdict && reason == why;
}

static int as_nobody(void)
{
    if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        return 10;
    if (!says("own", KYMO_EXEC_REFUSED, KYMO_REFUSAL_PRIVILEGES))
        return 1;
    if (!says("group", KYMO_EXEC_REFUSED, KYMO_REFUSAL_PRIVILEGES))
        return 2;
    if (!says("locking", KYMO_EXEC_RECORDABLE, NO_REASON))
        return 3;
    if (!says("secret", KYMO_EXEC_REFUSED, KYMO_REFUSAL_UNREADABLE))
        return 4;
    /* It asked for no more of them: then the bits mean nothing. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        !says("own", KYMO_EXEC_RECORDABLE, NO_REASON))
        return 5;
    return 0;
}

/* A program that is setuid itself: whatever it starts ignores LD_PRELOAD. */
static int as_setuid(void)
{
    if (setresuid(65534, 0, 0) != 0)
        return 10;
    return says("plain-program", KYMO_EXEC_REFUSED, KYMO_REFUSAL_PRIVILEGES) ? 0 : 1;
}

static void privileges(void **state)
{
    (void)state;
    struct elf_image e = elf_image_program();
    struct statvfs fs;
    assert_int_equal(statvfs(folder, &fs), 0);
    if (geteuid() != 0 || fs.f_flag & ST_NOSUID)
        skip();
    assert_int_equal(chmod(folder, 0755), 0);
    (void)put("own", &e, sizeof e, 04755);
    (void)put("group", &e, sizeof e, 02755);
    (void)put("locking", &e, sizeof e, 02745);
    (void)put("secret", &e, sizeof e, 0711);
    put_image("plain-program", &e);
    expect("own", KYMO_EXEC_RECORDABLE); /* root gains nothing by it */
    assert_int_equal(apart(as_nobody), 0);
    assert_int_equal(apart(as_setuid), 0);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kymo-exec-target-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    const char *library = put("libkymo-preload.so", "", 0, 0755);
    if (chmod(folder, 0755) != 0)
        return -1;
    kymo_family_init("kymo-test", library, strlen(library));
    if (!kymo_file_identify(KYMO_NETWORK_NAMESPACE, &kymo_family.network))
        return -1;
    return kymo_family.library[0] ? 0 : -1;
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
        cmocka_unit_test(what_cannot_run_is_left_alone),
        cmocka_unit_test(programs_of_this_system),
        cmocka_unit_test(programs_that_would_not_bear_us),
        cmocka_unit_test(files_that_are_cut),
        cmocka_unit_test(headers_that_make_no_sense),
        cmocka_unit_test(files_of_any_bytes),
        cmocka_unit_test(scripts_are_their_interpreter),
        cmocka_unit_test(scripts_of_scripts),
        cmocka_unit_test(scripts_in_a_circle),
        cmocka_unit_test(text_is_the_shells),
        cmocka_unit_test(what_is_not_there_is_not_preloaded),
        cmocka_unit_test(the_path_is_searched_as_libc_does),
        cmocka_unit_test(a_folder_that_is_not_looked_in),
        cmocka_unit_test(in_a_folder_that_is_not_known),
        cmocka_unit_test(privileges),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
