/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard_process.c - what a program does to itself as a process: limits, forks, identities. Where a
 * profiler left a descriptor, a thread or a mapping behind, the program notices it here.
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hazards.h"
#include "workload.h"

DEFINE_BURN(burn_in_daemon, 53)
DEFINE_BURN(burn_as_nobody, 59)
DEFINE_BURN(burn_in_namespace, 61)
DEFINE_BURN(burn_under_limit, 67)
DEFINE_BURN(burn_in_child, 71)
DEFINE_BURN(burn_in_parent, 73)

enum { BURN_NS = 150000000, NOBODY = 65534 };

static long open_descriptors(void)
{
    long count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

int hazard_daemon(int argc, char **argv)
{
    must(argc > 1, "usage: hazards daemon RESULT_FILE");
    burn_ns(burn_in_daemon, BURN_NS / 3);
    fflush(NULL);
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child > 0)
        _exit(0);
    setsid();
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    must(chdir("/") == 0, "chdir");
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    close(null);
    burn_ns(burn_in_daemon, BURN_NS);
    /* The lowest free number is the next one: none was taken since. */
    int result = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dprintf(result, "the daemon worked, its file is descriptor %d, %ld are open\n", result,
            open_descriptors());
    close(result);
    _exit(0);
}

int hazard_privdrop(int argc, char **argv)
{
    (void)argc, (void)argv;
    burn_ns(burn_as_nobody, BURN_NS / 3);
    if (geteuid() != 0) {
        puts("not root: nothing to drop");
        return 0;
    }
    must(setgroups(0, NULL) == 0, "setgroups");
    must(setresgid(NOBODY, NOBODY, NOBODY) == 0, "setresgid");
    must(setresuid(NOBODY, NOBODY, NOBODY) == 0, "setresuid");
    burn_ns(burn_as_nobody, BURN_NS);
    int back = setuid(0);
    printf("now user %d, group %d; back to root: %s\n", (int)getuid(), (int)getgid(),
           back == 0 ? "yes" : strerror(errno));
    return back == 0;
}

int hazard_unshare(int argc, char **argv)
{
    (void)argc, (void)argv;
    burn_ns(burn_in_namespace, BURN_NS / 3);
    /* EINVAL for a process of more than one thread. A container may forbid it to everybody. */
    if (unshare(CLONE_NEWUSER) == 0)
        puts("in a user namespace of its own");
    else
        printf("no user namespace: %s\n", strerror(errno));
    burn_ns(burn_in_namespace, BURN_NS);
    return 0;
}

int hazard_fsize(int argc, char **argv)
{
    (void)argc, (void)argv;
    char name[] = "/tmp/kymo-fsize-XXXXXX";
    int fd = mkstemp(name);
    must(fd >= 0, "mkstemp");
    unlink(name);
    const struct rlimit one_byte = {1, RLIM_INFINITY}, any_size = {RLIM_INFINITY, RLIM_INFINITY};
    must(setrlimit(RLIMIT_FSIZE, &one_byte) == 0, "setrlimit");
    burn_ns(burn_under_limit, BURN_NS);
    must(write(fd, "a", 1) == 1, "write");
    signal(SIGXFSZ,
           SIG_IGN); /* from here on; before, a write of anybody's would have been deadly */
    ssize_t second = write(fd, "b", 1);
    const char *outcome = second == 1 ? "written" : strerror(errno);
    setrlimit(RLIMIT_FSIZE, &any_size); /* standard output may be a file, too */
    printf("first byte written, second: %s\n", outcome);
    return second == 1;
}

static void *work_beside(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        burn_in_parent(SLICE);
    return NULL;
}

int hazard_fork(int argc, char **argv)
{
    (void)argc, (void)argv;
    enum { CHILDREN = 25 };
    int stop = 0, wrong = 0;
    pthread_t beside;
    must(pthread_create(&beside, NULL, work_beside, &stop) == 0, "pthread_create");
    for (int i = 0; i < CHILDREN; i++) {
        burn_in_parent(SLICE);
        fflush(NULL);
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            burn_ns(burn_in_child, 5000000);
            free(malloc(100));
            exit(i % 7);
        }
        int status;
        must(waitpid(child, &status, 0) == child, "waitpid");
        wrong += !WIFEXITED(status) || WEXITSTATUS(status) != i % 7;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(beside, NULL);
    printf("%d children, %d ended wrongly\n", CHILDREN, wrong);
    return wrong != 0;
}

static void *malloc_beside(void *stop)
{
    void *blocks[64] = {0};
    for (unsigned i = 0; !__atomic_load_n((int *)stop, __ATOMIC_RELAXED); i++) {
        free(blocks[i % 64]);
        blocks[i % 64] = malloc(16 + i * 37 % 5000);
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
    return NULL;
}

/* For a child: what it does as a process of its own, with a thread and memory. */
static int work_in_child(void)
{
    int stop = 0;
    pthread_t beside;
    if (pthread_create(&beside, NULL, malloc_beside, &stop) != 0)
        return 1;
    burn_ns(burn_in_child, 5000000);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(beside, NULL);
    return 0;
}

int hazard_forkmalloc(int argc, char **argv)
{
    (void)argc, (void)argv;
    enum { CHILDREN = 10, THREADS = 3 };
    int stop = 0, wrong = 0;
    pthread_t beside[THREADS];
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&beside[i], NULL, malloc_beside, &stop) == 0, "pthread_create");
    for (int i = 0; i < CHILDREN; i++) {
        fflush(NULL);
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0)
            exit(work_in_child());
        int status;
        must(waitpid(child, &status, 0) == child, "waitpid");
        wrong += status != 0;
        burn_ns(burn_in_parent, 2000000);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(beside[i], NULL);
    printf("%d children of a process in malloc, %d ended wrongly\n", CHILDREN, wrong);
    return wrong != 0;
}

int hazard_lowmem(int argc, char **argv)
{
    (void)argc, (void)argv;
    /* What is mapped by now, ours included, is no business of the program's; growth is. */
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    must(statm && fscanf(statm, "%ld", &pages) == 1, "/proc/self/statm");
    fclose(statm);
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20);
    struct rlimit limit = {most, most};
    must(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    burn_ns(burn_under_limit, BURN_NS);
    void *half = malloc(8 << 20), *too_much = malloc(64 << 20);
    printf("8 MiB: %s, 64 MiB: %s\n", half ? "there" : "refused", too_much ? "there" : "refused");
    free(half);
    free(too_much);
    return !half;
}

int hazard_space(int argc, char **argv)
{
    const size_t bytes = (size_t)number_argument(argc, argv, 1, 200) << 20;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    printf("%zu MiB of address space: %s\n", bytes >> 20,
           memory != MAP_FAILED ? "there" : "refused");
    burn_ns(burn_under_limit, BURN_NS);
    return memory == MAP_FAILED;
}
