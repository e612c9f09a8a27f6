/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restrict.c [--open] [--container] COMMAND [ARGUMENT...] - runs a command as an unprivileged
 * container does: as nobody, without capabilities and with no way to new ones, under a filter that
 * denies what Docker's default profile denies to a container without capabilities.
 *
 * --open       leaves the filter out: an ordinary user of the machine
 * --container  in a user, pid and mount namespace of its own, with a /proc of its own. The command
 *              is process 1 there, as the entry point of a container is; its status is passed on.
 *
 * The status is 77 where this machine does not let us make such a place.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NOBODY = 65534,
    NOT_HERE = 77,
    LAST_CAPABILITY = 63,
    NEWEST_KNOWN = SYS_futex_waitv, /* what came later is not in the profile: ENOSYS */
    X32_BIT = 0x40000000,
    NAMESPACES = 0x7e020000, /* the flags of clone that make one, as the profile has them */
};

static const int denied[] = {
    /* looks into the machine or into other processes; ptrace and process_vm_readv are allowed */
    SYS_perf_event_open, SYS_bpf, SYS_userfaultfd, SYS_pidfd_getfd, SYS_kcmp, SYS_process_madvise,
    SYS_lookup_dcookie, SYS_syslog, SYS_fanotify_init, SYS_open_by_handle_at,
    /* namespaces and mounts */
    SYS_setns, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree,
    SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
    /* keys */
    SYS_add_key, SYS_request_key, SYS_keyctl,
    /* memory of several nodes */
    SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_migrate_pages, SYS_move_pages,
    /* io_uring, since 2023 */
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    /* the machine itself */
    SYS_acct, SYS_quotactl, SYS_quotactl_fd, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_sethostname,
    SYS_setdomainname, SYS_settimeofday, SYS_clock_settime, SYS_vhangup, SYS_iopl, SYS_ioperm,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
    SYS_create_module, SYS_get_kernel_syms, SYS_query_module, SYS_nfsservctl, SYS__sysctl,
    SYS_sysfs, SYS_uselib, SYS_ustat, SYS_personality,
    /* older profiles do not know it */
    SYS_epoll_pwait2};

enum { DENIED = sizeof(denied) / sizeof(denied[0]) };

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "restrict: %s: %s\n", what, strerror(errno));
        exit(NOT_HERE);
    }
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
    close(fd);
}

#define LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (unsigned)(what))
#define ERROR(number) ANSWER(SECCOMP_RET_ERRNO | (number))
/* The next instruction is for this case, else the one behind it comes. */
#define WHEN(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), 0, 1)
#define UNLESS(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), 1, 0)

static void filter_calls(void)
{
    struct sock_filter code[2 * DENIED + 32];
    unsigned short n = 0;
    const struct sock_filter head[] = {
        LOAD(arch), UNLESS(BPF_JEQ, AUDIT_ARCH_X86_64), ERROR(EPERM), LOAD(nr),
        WHEN(BPF_JGE, X32_BIT), ERROR(EPERM), WHEN(BPF_JGT, NEWEST_KNOWN), ERROR(ENOSYS),
        /* So that libc falls back on clone, whose flags a filter can see. */
        WHEN(BPF_JEQ, SYS_clone3), ERROR(ENOSYS)};
    const struct sock_filter tail[] = {BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
                                       LOAD(args[0]),
                                       WHEN(BPF_JSET, NAMESPACES),
                                       ERROR(EPERM),
                                       ANSWER(SECCOMP_RET_ALLOW),
                                       ANSWER(SECCOMP_RET_ALLOW)};
    memcpy(code, head, sizeof(head));
    n = sizeof(head) / sizeof(head[0]);
    for (int i = 0; i < DENIED; i++) {
        const struct sock_filter one[] = {WHEN(BPF_JEQ, denied[i]), ERROR(EPERM)};
        memcpy(code + n, one, sizeof(one));
        n += 2;
    }
    memcpy(code + n, tail, sizeof(tail));
    n += sizeof(tail) / sizeof(tail[0]);
    const struct sock_fprog program = {.len = n, .filter = code};
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "PR_SET_SECCOMP");
}

static void become_nobody(void)
{
    for (int capability = 0; capability <= LAST_CAPABILITY; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* there are fewer than 64 */
    if (geteuid() == 0) {
        must(setgroups(0, NULL) == 0, "setgroups");
        must(setresgid(NOBODY, NOBODY, NOBODY) == 0, "setresgid");
        must(setresuid(NOBODY, NOBODY, NOBODY) == 0, "setresuid");
    }
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
}

/* Makes the namespaces; returns in process 1 of the new one, while the caller's process waits for
 * it and ends as it ended. */
static void enter_container(void)
{
    const int root = geteuid() == 0;
    char map[64];
    const unsigned uid = getuid(), gid = getgid();
    int ready[2];
    must(pipe2(ready, O_CLOEXEC) == 0, "pipe");
    const pid_t mapper = root ? fork() : -1;
    if (mapper == 0) {
        /* Only a process outside may map two users: root, to set up with, and nobody. */
        char path[64], byte;
        close(ready[1]);
        must(read(ready[0], &byte, 1) == 1, "pipe");
        snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)getppid());
        write_file(path, "0 0 1\n65534 65534 1\n");
        snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)getppid());
        write_file(path, "0 0 1\n65534 65534 1\n");
        _exit(0);
    }
    must(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0, "unshare");
    if (root) {
        int status;
        must(write(ready[1], "k", 1) == 1, "pipe");
        must(waitpid(mapper, &status, 0) == mapper && status == 0, "mapping users");
    } else {
        write_file("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
        write_file("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
        write_file("/proc/self/gid_map", map);
    }
    close(ready[0]);
    close(ready[1]);
    const pid_t first = fork();
    must(first >= 0, "fork");
    if (first > 0) {
        int status;
        must(waitpid(first, &status, 0) == first, "waitpid");
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount");
    must(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0,
         "mounting /proc");
}

int main(int argc, char **argv)
{
    int filtered = 1, container = 0, at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--open") == 0)
            filtered = 0;
        else if (strcmp(argv[at], "--container") == 0)
            container = 1;
        else
            break;
    }
    if (at >= argc || strncmp(argv[at], "--", 2) == 0) {
        fprintf(stderr, "usage: restrict [--open] [--container] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    if (container)
        enter_container();
    become_nobody();
    if (filtered)
        filter_calls();
    execvp(argv[at], argv + at);
    fprintf(stderr, "restrict: %s: %s\n", argv[at], strerror(errno));
    return 127;
}
