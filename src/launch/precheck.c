/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program is resolved as execvp does it, scripts are followed to their interpreter as the
 * kernel does it, and the interpreter's ELF file is asked the questions that decide about
 * LD_PRELOAD: does a loader run at all, is it glibc's of this machine, does it listen to the
 * environment (not with AT_SECURE), and does some runtime insist on being loaded first.
 */
#include "launch/precheck.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/system.h"
#include "sys/elf_target.h"

#define GO_INSTEAD "; Go's own profiler sees it (runtime/pprof, go tool pprof)"
#define DEFAULT_PATH "/bin:/usr/bin"

enum {
    SCRIPT_LINE = 256, /* what the kernel reads of a script's first line */
    SCRIPTS_MAX = 5,   /* interpreters that are scripts themselves, as many as the kernel follows */
};

static void say(kymo_precheck *out, kymo_precheck_verdict verdict, const char *fmt, ...)
    KYMO_PRINTF(3, 4);

static void say(kymo_precheck *out, kymo_precheck_verdict verdict, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    out->verdict = verdict;
    vsnprintf(out->reason, sizeof out->reason, fmt, args);
    va_end(args);
}

/* 0: a file that this process may execute; else the errno that execve would give. */
static int cannot_execute(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* Resolves name as execvp does. Returns 0 and a path, or an errno; EACCES if some candidate was
 * found that may not be executed, and then path is that one. */
static int resolve(const char *name, const char *search_path, char path[PATH_MAX])
{
    size_t name_len = strlen(name);
    int seen = ENOENT;
    path[0] = '\0';
    if (name_len == 0)
        return ENOENT;
    if (name_len >= PATH_MAX)
        return ENAMETOOLONG;
    if (strchr(name, '/')) {
        memcpy(path, name, name_len + 1);
        return cannot_execute(path);
    }
    if (!search_path)
        search_path = DEFAULT_PATH;
    for (const char *dir = search_path;; dir++) {
        char candidate[PATH_MAX];
        size_t len = strcspn(dir, ":");
        if (len + 1 + name_len < sizeof candidate) {
            /* An empty element is the current folder. */
            snprintf(candidate, sizeof candidate, "%.*s%s%s", (int)len, dir, len ? "/" : "", name);
            int err = cannot_execute(candidate);
            if (err == 0 || (err == EACCES && seen == ENOENT))
                memcpy(path, candidate, strlen(candidate) + 1);
            if (err == 0)
                return 0;
            if (err == EACCES)
                seen = EACCES;
        }
        dir += len;
        if (*dir == '\0')
            return seen;
    }
}

/* The first line of a script, without "#!" and blanks around it. Returns 0 if it is not one. */
static int script_line(const char *head, size_t len, char line[SCRIPT_LINE])
{
    if (len < 2 || head[0] != '#' || head[1] != '!')
        return 0;
    size_t end = 2;
    size_t start = 2;
    while (end < len && head[end] != '\n' && head[end] != '\0')
        end++;
    while (start < end && (head[start] == ' ' || head[start] == '\t'))
        start++;
    while (end > start && (head[end - 1] == ' ' || head[end - 1] == '\t'))
        end--;
    memcpy(line, head + start, end - start);
    line[end - start] = '\0';
    return 1;
}

/* The program that `env ARGUMENT SCRIPT` runs, by its name in ARGUMENT: with -S, or else as one
 * word. *plain is set if the word is all there is. NULL if env is asked for something else. */
static char *env_program(char *argument, int *plain)
{
    *plain = 1;
    if (strncmp(argument, "-S", 2) == 0 || strncmp(argument, "--split-string=", 15) == 0) {
        *plain = 0;
        argument += argument[1] == 'S' ? 2 : 15;
        for (char *word = strtok(argument, " \t"); word; word = strtok(NULL, " \t"))
            if (word[0] != '-' && !strchr(word, '='))
                return word;
        return NULL;
    }
    if (argument[0] == '\0' || argument[0] == '-' || strchr(argument, '='))
        return NULL;
    return argument;
}

static int is_env(const char *interpreter)
{
    return strcmp(interpreter, "/usr/bin/env") == 0 || strcmp(interpreter, "/bin/env") == 0;
}

/* Whether the capabilities of a file would make its exec a privileged one. A user who is root has
 * them anyway. */
static int gains_capabilities(const char *path)
{
    /* struct vfs_ns_cap_data: magic and flags, then pairs of permitted and inheritable. */
    uint32_t data[6] = {0};
    ssize_t n = getxattr(path, "security.capability", data, sizeof data);
    if (n < 12)
        return 0;
    uint32_t effective = le32toh(data[0]) & 1u;
    return effective || data[1] != 0 || (n >= 20 && data[3] != 0);
}

/* The kernel's rule for AT_SECURE: the effective user or group after the exec is not the real one,
 * or capabilities were gained. Root running a program that is setuid root passes. */
static const char *gains_privilege(const char *path, const struct stat *st)
{
    struct statvfs fs;
    if ((statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
        prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return NULL;
    uid_t euid = st->st_mode & S_ISUID ? st->st_uid : geteuid();
    int setgid = (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    gid_t egid = setgid ? st->st_gid : getegid();
    if (euid != getuid())
        return "it is setuid";
    if (egid != getgid())
        return "it is setgid";
    if (getuid() != 0 && gains_capabilities(path))
        return "it has file capabilities";
    return NULL;
}

static int same_file(const char *a, const struct stat *b)
{
    struct stat st;
    return stat(a, &st) == 0 && st.st_dev == b->st_dev && st.st_ino == b->st_ino;
}

static const char *machine_name(uint16_t machine)
{
    switch (machine) {
    case EM_386:
        return "32-bit x86";
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "aarch64";
    case EM_ARM:
        return "arm";
    case EM_RISCV:
        return "riscv";
    case EM_PPC64:
        return "ppc64";
    case EM_S390:
        return "s390";
    }
    return "another machine";
}

/* Returns 1 if the file would run with more rights than we have, and says so. */
static int judge_privilege(const struct stat *st, kymo_precheck *out)
{
    const char *privilege = gains_privilege(out->judged, st);
    if (privilege)
        say(out, KYMO_PRECHECK_NOT_RECORDABLE,
            "%.250s cannot be recorded: %s, so the loader ignores LD_PRELOAD; record it as the "
            "user it runs as",
            out->judged, privilege);
    return privilege != NULL;
}

static void say_outside(kymo_precheck *out, int is_go, const char *why, ...) KYMO_PRINTF(3, 4);

static void say_outside(kymo_precheck *out, int is_go, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    vsnprintf(out->outside, sizeof out->outside, why, args);
    va_end(args);
    say(out, KYMO_PRECHECK_NOT_RECORDABLE, "%.200s cannot be recorded: %.200s%s", out->judged,
        out->outside, is_go ? GO_INSTEAD : "");
}

static void warn_of_go(kymo_precheck *out)
{
    static const char why[] = "Go's runtime takes every signal that samples could arrive by";
    snprintf(out->outside, sizeof out->outside, "%s", why);
    snprintf(out->warning, sizeof out->warning,
             "%.250s is a Go program: %s, so next to none of its Go code is sampled" GO_INSTEAD,
             out->judged, why);
}

static void judge_elf(int fd, const struct stat *st, kymo_precheck *out)
{
    kymo_elf_target t;
    kymo_error detail;
    const char *path = out->judged;
    kymo_err err = kymo_elf_target_read(fd, &t, &detail);
    if (err != KYMO_OK) {
        say(out, KYMO_PRECHECK_NOT_EXECUTABLE, "%.250s: not a program that can run: %s", path,
            detail.message);
        return;
    }
    struct stat loader;
    int is_go = kymo_elf_target_is_go(fd);
    if (t.elf_class != ELFCLASS64 || t.big_endian)
        say(out, KYMO_PRECHECK_NOT_RECORDABLE,
            "%.250s cannot be recorded: it is a %s program, and only 64-bit " KYMO_ARCH_NAME
            " ones can",
            path, t.elf_class == ELFCLASS64 ? "big-endian" : "32-bit");
    else if (t.machine != KYMO_ELF_MACHINE)
        say(out, KYMO_PRECHECK_NOT_RECORDABLE,
            "%.250s cannot be recorded: it is for %s, not for " KYMO_ARCH_NAME, path,
            machine_name(t.machine));
    else if (t.type != ET_EXEC && t.type != ET_DYN)
        say(out, KYMO_PRECHECK_NOT_EXECUTABLE, "%.250s: an object file, not a program", path);
    else if (judge_privilege(st, out))
        return;
    else if (!t.has_interp && !same_file(KYMO_ARCH_LOADER, st))
        say_outside(out, is_go, "it is statically linked, so nothing can be preloaded");
    else if (t.has_interp &&
             (stat(KYMO_ARCH_LOADER, &loader) != 0 || !same_file(t.interpreter, &loader)))
        say_outside(out, is_go,
                    "its loader is %.100s, not this system's glibc (" KYMO_ARCH_LOADER ")",
                    t.interpreter);
    else if (t.has_asan)
        say_outside(out, is_go,
                    "it is built with AddressSanitizer, whose runtime must be loaded first");
    else if (t.has_tsan)
        say_outside(
            out, is_go,
            "it is built with ThreadSanitizer, which puts off signals and has stacks of its "
            "own");
    else if (t.has_interp && !t.needs_libc)
        say_outside(out, is_go,
                    "it does not use the C library (as Go programs without cgo), so its threads "
                    "have no place for what Kymo keeps of them");
    else if (is_go)
        warn_of_go(out);
}

/* Judges one file. Returns 1 and the next file to judge, with its search, if this one is a script;
 * 0 if out is final. */
static int judge(kymo_precheck *out, char next[PATH_MAX], int depth)
{
    char head[SCRIPT_LINE];
    char line[SCRIPT_LINE];
    struct stat st;
    int follow = 0;
    int fd = open(out->judged, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        /* Executable but not readable: it runs, and there is nothing else to judge by. */
        if (stat(out->judged, &st) == 0)
            judge_privilege(&st, out);
        return 0;
    }
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    if (n < 0 || fstat(fd, &st) != 0) {
        close(fd);
        return 0;
    }
    if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
        judge_elf(fd, &st, out);
    } else if (script_line(head, (size_t)n, line)) {
        char *argument = line + strcspn(line, " \t");
        if (*argument) {
            *argument++ = '\0';
            argument += strspn(argument, " \t");
        }
        int plain = 0;
        char *program = is_env(line) ? env_program(argument, &plain) : NULL;
        if (program && plain && depth == 0)
            snprintf(out->env_interpreter, sizeof out->env_interpreter, "%s", program);
        /* env searches for the name, the kernel takes it as a path. */
        snprintf(next, PATH_MAX, "%s%s", program || strchr(line, '/') ? "" : "./",
                 program ? program : line);
        follow = 1;
        if (line[0] == '\0') {
            say(out, KYMO_PRECHECK_NOT_EXECUTABLE, "%.250s: names no interpreter after #!",
                out->judged);
            follow = 0;
        }
    } else if (memchr(head, '\0', (size_t)n)) {
        say(out, KYMO_PRECHECK_NOT_EXECUTABLE,
            "%.250s: not a program for this machine (exec format)", out->judged);
    } else {
        snprintf(next, PATH_MAX, "/bin/sh"); /* what execvp makes of text without #! */
        follow = 1;
    }
    close(fd);
    return follow;
}

void kymo_precheck_program(const char *name, const char *search_path, kymo_precheck *out)
{
    char next[PATH_MAX];
    memset(out, 0, sizeof *out);
    int err = resolve(name, search_path, out->path);
    if (err != 0) {
        say(out,
            err == ENOENT || err == ENOTDIR ? KYMO_PRECHECK_NOT_FOUND
                                            : KYMO_PRECHECK_NOT_EXECUTABLE,
            "%.250s: %s", name,
            err == ENOENT && !strchr(name, '/') ? "not found in PATH" : strerror(err));
        return;
    }
    memcpy(out->judged, out->path, sizeof out->judged);
    for (int depth = 0; judge(out, next, depth); depth++) {
        if (depth >= SCRIPTS_MAX) {
            say(out, KYMO_PRECHECK_NOT_EXECUTABLE,
                "%.250s: its interpreters are scripts, too many of them", name);
            return;
        }
        char script[PATH_MAX];
        memcpy(script, out->judged, sizeof script);
        err = resolve(next, search_path, out->judged);
        if (err != 0) {
            say(out,
                err == ENOENT || err == ENOTDIR ? KYMO_PRECHECK_NOT_FOUND
                                                : KYMO_PRECHECK_NOT_EXECUTABLE,
                "%.200s: its interpreter %.150s: %s", script, next,
                err == ENOENT && !strchr(next, '/') ? "not found in PATH" : strerror(err));
            return;
        }
    }
}
