/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement errs on one side: what cannot be looked at runs without us. A wrong "yes" can hurt
 * the program: AddressSanitizer's runtime ends a program into which another library was loaded
 * first, and the loader ends one whose C library is too old for ours.
 *
 * The search in PATH is the one that libc is going to do: it decides only which file is looked at,
 * never which one runs.
 */
#include "arch/system.h"
#include "capture/exec_pass.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "capture/family.h"
#include "sys/elf_target.h"
#include "sys/network.h"
#include "sys/raw.h"

#define SHELL "/bin/sh"
#define DEFAULT_PATH "/bin:/usr/bin" /* libc's, when PATH is not set */

enum {
    HEAD_BYTES = 256,     /* what the kernel reads of a script's first line */
    CANDIDATE_MAX = 1024, /* bytes of a path in PATH that is looked at: stacks may be small */
    SCRIPTS_MAX = 5, /* interpreters that are scripts themselves, as many as the kernel follows */
};

/* What one file says. */
enum step { RECORDABLE, REFUSED, WILL_FAIL, IS_SCRIPT, IS_TEXT };

static int is_executable(const char *path)
{
    struct stat st;
    if (kymo_syscall4(SYS_newfstatat, AT_FDCWD, (long)(intptr_t)path, (long)(intptr_t)&st, 0) !=
            0 ||
        !S_ISREG(st.st_mode))
        return 0;
    long result = kymo_syscall4(SYS_faccessat2, AT_FDCWD, (long)(intptr_t)path, X_OK, AT_EACCESS);
    if (result == -ENOSYS)
        result = kymo_syscall4(SYS_faccessat, AT_FDCWD, (long)(intptr_t)path, X_OK, 0);
    return result == 0;
}

static int is_same(const struct kymo_file_id *a, const struct kymo_file_id *b)
{
    return a->device == b->device && a->inode == b->inode;
}

static int is_id(const struct stat *st, const struct kymo_file_id *id)
{
    return st->st_dev == id->device && st->st_ino == id->inode;
}

/* The kernel's rule for AT_SECURE, with which the loader ignores LD_PRELOAD: the effective user or
 * group after the exec is not the real one, or capabilities are gained. */
static int gains_privileges(int fd, const struct stat *st)
{
    struct statfs fs;
    uint32_t capability[6] = {0}; /* magic and flags, then pairs of permitted and inheritable */
    long uid = kymo_syscall3(SYS_getuid, 0, 0, 0);
    long gid = kymo_syscall3(SYS_getgid, 0, 0, 0);
    long euid = kymo_syscall3(SYS_geteuid, 0, 0, 0);
    long egid = kymo_syscall3(SYS_getegid, 0, 0, 0);
    int by_file = !((kymo_syscall3(SYS_fstatfs, fd, (long)(intptr_t)&fs, 0) == 0 &&
                     (unsigned long)fs.f_flags & ST_NOSUID) ||
                    kymo_syscall6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1);
    if (by_file && st->st_mode & S_ISUID)
        euid = (long)st->st_uid;
    if (by_file && (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        egid = (long)st->st_gid;
    if (euid != uid || egid != gid)
        return 1;
    if (!by_file || uid == 0)
        return 0;
    long n = kymo_syscall4(SYS_fgetxattr, fd, (long)(intptr_t) "security.capability",
                           (long)(intptr_t)capability, sizeof capability);
    return n >= 12 && (capability[0] & 1u || capability[1] || (n >= 20 && capability[3]));
}

static enum step refuse(enum kymo_refusal_reason why, enum kymo_refusal_reason *reason)
{
    *reason = why;
    return REFUSED;
}

static enum step judge_elf(int fd, const struct stat *st, enum kymo_refusal_reason *reason)
{
    kymo_elf_target t;
    struct kymo_file_id loader;
    if (kymo_elf_target_read(fd, &t, NULL) != KYMO_OK)
        return WILL_FAIL;
    if (t.elf_class != ELFCLASS64 || t.big_endian || t.machine != KYMO_ELF_MACHINE)
        return refuse(KYMO_REFUSAL_MACHINE, reason);
    if (t.type != ET_EXEC && t.type != ET_DYN)
        return WILL_FAIL;
    if (gains_privileges(fd, st))
        return refuse(KYMO_REFUSAL_PRIVILEGES, reason);
    if (!t.has_interp && !is_id(st, &kymo_family.loader_file))
        return refuse(KYMO_REFUSAL_STATIC, reason);
    if (t.has_interp && !kymo_file_identify(t.interpreter, &loader))
        return WILL_FAIL;
    if (t.has_interp && !is_same(&loader, &kymo_family.loader_file))
        return refuse(KYMO_REFUSAL_LOADER, reason);
    if (t.has_asan)
        return refuse(KYMO_REFUSAL_ASAN, reason);
    if (t.has_tsan)
        return refuse(KYMO_REFUSAL_TSAN, reason);
    /* Its threads may be none of libc's, and have thread-local storage of their own. */
    if (t.has_interp && !t.needs_libc)
        return refuse(KYMO_REFUSAL_NO_LIBC, reason);
    return RECORDABLE;
}

/* The interpreter's path out of "#! /path argument", or an empty one. */
static void read_interpreter(const char *head, size_t len, char interpreter[HEAD_BYTES])
{
    size_t at = 2;
    size_t n = 0;
    while (at < len && (head[at] == ' ' || head[at] == '\t'))
        at++;
    while (at < len && n < HEAD_BYTES - 1 && head[at] && !strchr(" \t\n", head[at]))
        interpreter[n++] = head[at++];
    interpreter[n] = '\0';
}

/* Judges one file; next is the interpreter of one that IS_SCRIPT. */
static enum step judge_file(const char *path, char next[HEAD_BYTES],
                            enum kymo_refusal_reason *reason)
{
    struct stat st;
    char head[HEAD_BYTES];
    /* A device or a pipe would notice that it is opened. */
    if (!is_executable(path))
        return WILL_FAIL;
    long fd = kymo_syscall4(SYS_openat, AT_FDCWD, (long)(intptr_t)path,
                            O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return refuse(KYMO_REFUSAL_UNREADABLE, reason);
    long n = kymo_syscall4(SYS_pread64, fd, (long)(intptr_t)head, HEAD_BYTES - 1, 0);
    enum step step = WILL_FAIL;
    if (n < 0 || kymo_syscall3(SYS_fstat, fd, (long)(intptr_t)&st, 0) != 0) {
        step = refuse(KYMO_REFUSAL_UNREADABLE, reason);
    } else if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
        step = judge_elf((int)fd, &st, reason);
    } else if (n >= 2 && head[0] == '#' && head[1] == '!') {
        read_interpreter(head, (size_t)n, next);
        step = IS_SCRIPT;
    } else {
        step = IS_TEXT;
    }
    (void)kymo_syscall3(SYS_close, fd, 0, 0);
    return step;
}

/* Where neither the kernel nor /proc tells, it may be the recorder's. */
static int is_other_network(void)
{
    struct kymo_file_id id;
    uint64_t cookie = kymo_family.network_cookie ? kymo_network_cookie() : 0;
    if (cookie)
        return cookie != kymo_family.network_cookie;
    return kymo_family.network.inode && kymo_file_identify(KYMO_NETWORK_NAMESPACE, &id) &&
           !is_same(&id, &kymo_family.network);
}

/* Where the program starts, our own file must be what it is here, and so must be the network: the
 * recorder's socket has a name in that. */
static enum kymo_exec_verdict judge_surroundings(enum kymo_refusal_reason *reason)
{
    struct kymo_file_id id;
    if (is_other_network()) {
        *reason = KYMO_REFUSAL_RECORDER;
        return KYMO_EXEC_REFUSED;
    }
    if (kymo_file_identify(kymo_family.library, &id) && is_same(&id, &kymo_family.library_file) &&
        kymo_syscall4(SYS_faccessat, AT_FDCWD, (long)(intptr_t)kymo_family.library, R_OK, 0) == 0)
        return KYMO_EXEC_RECORDABLE;
    *reason = KYMO_REFUSAL_LIBRARY;
    return KYMO_EXEC_REFUSED;
}

static enum kymo_exec_verdict judge_path(const char *path, int shell_reads_text,
                                         enum kymo_refusal_reason *reason)
{
    char interpreter[HEAD_BYTES];
    for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
        switch (judge_file(path, interpreter, reason)) {
        case RECORDABLE:
            return judge_surroundings(reason);
        case REFUSED:
            return KYMO_EXEC_REFUSED;
        case WILL_FAIL:
            return KYMO_EXEC_UNKNOWN;
        case IS_SCRIPT:
            path = interpreter;
            break;
        case IS_TEXT:
            if (!shell_reads_text)
                return KYMO_EXEC_UNKNOWN;
            path = SHELL;
            break;
        }
        shell_reads_text = 0;
    }
    return KYMO_EXEC_UNKNOWN;
}

/* Not by getenv, which a program may have one of its own of: shells do. */
static const char *search_path(void)
{
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, "PATH=", 5) == 0)
            return *e + 5;
    return DEFAULT_PATH;
}

/* Whether some of it lie below the current folder, whichever that is. */
static int search_is_relative(void)
{
    for (const char *dir = search_path();; dir++) {
        if (*dir != '/')
            return 1;
        dir = strchrnul(dir, ':');
        if (*dir == '\0')
            return 0;
    }
}

static enum kymo_exec_verdict judge_in_path(const char *file, int shell_reads_text,
                                            enum kymo_refusal_reason *reason)
{
    char candidate[CANDIDATE_MAX];
    size_t file_len = strlen(file);
    const char *dirs = search_path();
    for (const char *dir = dirs;; dir++) {
        const char *end = strchrnul(dir, ':');
        size_t len = (size_t)(end - dir);
        /* It may be there; then what a later folder has says nothing of it. */
        if (len + 1 + file_len >= sizeof candidate)
            return KYMO_EXEC_UNKNOWN;
        if (file_len > 0) {
            /* An empty element is the current folder. */
            memcpy(candidate, dir, len);
            candidate[len] = '/';
            memcpy(candidate + len + (len > 0), file, file_len + 1);
            enum kymo_exec_verdict verdict = judge_path(candidate, shell_reads_text, reason);
            /* Otherwise exec fails with it, and goes on to the next. */
            if (verdict != KYMO_EXEC_UNKNOWN)
                return verdict;
        }
        dir = end;
        if (*dir == '\0')
            return KYMO_EXEC_UNKNOWN;
    }
}

enum kymo_exec_verdict kymo_exec_judge(const char *file, enum kymo_exec_lookup lookup,
                                       enum kymo_refusal_reason *reason)
{
    int shell = lookup == KYMO_EXEC_PATH_SHELL || lookup == KYMO_EXEC_SEARCH_SHELL;
    int is_elsewhere = lookup == KYMO_EXEC_PATH_ELSEWHERE || lookup == KYMO_EXEC_SEARCH_ELSEWHERE;
    int searches = (lookup == KYMO_EXEC_SEARCH || lookup == KYMO_EXEC_SEARCH_SHELL ||
                    lookup == KYMO_EXEC_SEARCH_ELSEWHERE) &&
                   !strchr(file, '/');
    if (is_elsewhere && (searches ? search_is_relative() : file[0] != '/')) {
        *reason = KYMO_REFUSAL_FOLDER;
        return KYMO_EXEC_REFUSED;
    }
    if (searches)
        return judge_in_path(file, shell, reason);
    return judge_path(file, shell, reason);
}
