/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/task.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "observe/remote.h"
#include "sys/auxv_hash.h"
#include "sys/proc_file.h"
#include "sys/proc_maps.h"

#define TASK_PATH_MAX 64
#define TIMES_BYTES 96u /* three numbers */

static void task_path(char path[TASK_PATH_MAX], pid_t pid, pid_t tid, const char *file)
{
    /* Of the main thread these say the same (stat: but its times, which are not read), and the
     * kernel need not make two more folders, which it does for each look at a new process. */
    if (tid == pid)
        snprintf(path, TASK_PATH_MAX, "/proc/%d/%s", (int)pid, file);
    else
        snprintf(path, TASK_PATH_MAX, "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
}

static size_t read_task(pid_t pid, pid_t tid, const char *file, char *out, size_t cap)
{
    char path[TASK_PATH_MAX];
    task_path(path, pid, tid, file);
    return kymo_proc_file_read(out, cap, "%s", path);
}

int kymo_task_name(pid_t pid, pid_t tid, char name[16])
{
    char text[32];
    if (!read_task(pid, tid, "comm", text, sizeof text))
        return 0;
    size_t len = strcspn(text, "\n");
    if (len > 15)
        len = 15;
    memcpy(name, text, len);
    name[len] = '\0';
    return 1;
}

/* The value of a line of `status`, 0 where there is none. */
static uint64_t number_of(const char *text, const char *key, int base)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

int kymo_task_read_status(pid_t pid, pid_t tid, struct kymo_task_status *status)
{
    char text[4096];
    if (!read_task(pid, tid, "status", text, sizeof text))
        return 0;
    const char *state = strstr(text, "\nState:\t");
    status->is_dead = !state || state[8] == 'Z' || state[8] == 'X';
    status->caught = number_of(text, "\nSigCgt:", 16);
    status->filters = (uint32_t)(number_of(text, "\nSeccomp:", 10) << KYMO_TASK_SECCOMP_SHIFT) +
                      (uint32_t)number_of(text, "\nSeccomp_filters:", 10);
    status->voluntary_switches = number_of(text, "\nvoluntary_ctxt_switches:", 10);
    return 1;
}

static void parse_times(const char *text, struct kymo_task_times *times)
{
    const char *last = strrchr(text, ' ');
    times->cpu_ns = strtoull(text, NULL, 10);
    times->runs = last ? strtoull(last, NULL, 10) : 0;
}

int kymo_task_read_times(pid_t pid, pid_t tid, struct kymo_task_times *times)
{
    char text[TIMES_BYTES];
    if (!read_task(pid, tid, "schedstat", text, sizeof text))
        return 0;
    parse_times(text, times);
    return 1;
}

int kymo_task_open_times(pid_t pid, pid_t tid)
{
    char path[TASK_PATH_MAX];
    task_path(path, pid, tid, "schedstat");
    return open(path, O_RDONLY | O_CLOEXEC);
}

int kymo_task_read_open_times(int fd, struct kymo_task_times *times)
{
    char text[TIMES_BYTES];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    parse_times(text, times);
    return 1;
}

int kymo_task_cpu_ns(pid_t pid, pid_t tid, uint64_t *cpu_ns)
{
    struct kymo_task_times times;
    if (!kymo_task_read_times(pid, tid, &times))
        return 0;
    *cpu_ns = times.cpu_ns;
    return 1;
}

int kymo_task_process_clock(pid_t pid, uint64_t *cpu_ns)
{
    /* As clock_getcpuclockid makes it, without asking the kernel twice. */
    clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2u);
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    *cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return 1;
}

int kymo_task_process_cpu_ns(pid_t pid, uint64_t *user_ns, uint64_t *system_ns)
{
    uint64_t sum_ns;
    if (!kymo_task_process_clock(pid, &sum_ns))
        return 0;

    char text[1024];
    uint64_t user, system;
    (void)kymo_proc_file_read(text, sizeof text, "/proc/%d/stat", (int)pid);
    if (!kymo_proc_stat_field(text, 14, &user) || !kymo_proc_stat_field(text, 15, &system))
        return 0;
    double share = user + system ? (double)system / (double)(user + system) : 0;
    *system_ns = (uint64_t)((double)sum_ns * share);
    *user_ns = sum_ns - *system_ns;
    return 1;
}

uint64_t kymo_task_start_ticks(pid_t pid)
{
    return kymo_proc_stat(pid, 22);
}

uint64_t kymo_task_start_stack(pid_t pid)
{
    return kymo_proc_stat(pid, 28);
}

int kymo_task_executable(pid_t pid, struct kymo_task_exe *exe, char *path, size_t cap)
{
    char link[64];
    struct stat st;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    if (stat(link, &st) != 0)
        return 0;
    exe->device = st.st_dev;
    exe->inode = st.st_ino;
    ssize_t n = readlink(link, path, cap - 1);
    path[n > 0 ? n : 0] = '\0';
    return 1;
}

int kymo_task_executable_at(const char *name, struct kymo_task_exe *exe, char *path, size_t cap)
{
    struct stat st;
    if (name[0] != '/' || cap < PATH_MAX || !realpath(name, path) || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    exe->device = st.st_dev;
    exe->inode = st.st_ino;
    return 1;
}

uint64_t kymo_task_auxv_hash(pid_t pid)
{
    /* What the kernel told the image at its start: where the random bytes, the loader and the vDSO
     * are. */
    uint64_t auxv[2 * KYMO_AUXV_MAX + 2];
    size_t len = read_task(pid, pid, "auxv", (char *)auxv, sizeof auxv);
    return len < sizeof auxv - 1 ? kymo_auxv_hash(auxv, len / sizeof auxv[0]) : 0;
}

int kymo_task_open_image(pid_t pid, int may_be_empty)
{
    /* Of the process's memory, this one is short to read, and empty once the memory is gone. */
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int image = open(path, O_RDONLY | O_CLOEXEC);
    if (!may_be_empty || kymo_task_image_lives(image))
        return image;
    close(image);
    return -1;
}

int kymo_task_image_lives(int image)
{
    /* The file is of the memory that was the process's when it was opened. */
    char first;
    return image < 0 || pread(image, &first, 1, 0) != 0;
}

void kymo_task_entries(pid_t pid, uint64_t *program, uint64_t *loader)
{
    char auxv[1024];
    size_t len = read_task(pid, pid, "auxv", auxv, sizeof auxv);
    *program = *loader = 0;
    for (size_t i = 0; i + 2 * sizeof(uint64_t) <= len; i += 2 * sizeof(uint64_t)) {
        uint64_t pair[2];
        memcpy(pair, auxv + i, sizeof pair);
        if (pair[0] == AT_ENTRY)
            *program = pair[1];
        else if (pair[0] == AT_BASE)
            *loader = pair[1];
    }
}

int kymo_task_is_kernel_made(pid_t pid, pid_t tid)
{
    enum { IO_WORKER = 0x10, USER_WORKER = 0x4000, KERNEL_THREAD = 0x200000 };
    char text[1024];
    uint64_t flags;
    return read_task(pid, tid, "stat", text, sizeof text) &&
           kymo_proc_stat_field(text, 9, &flags) &&
           (flags & (IO_WORKER | USER_WORKER | KERNEL_THREAD)) != 0;
}

int kymo_task_mapped_file(pid_t pid, uint64_t address, char *path, size_t cap)
{
    char line[5000];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(line, "re");
    if (!f)
        return 0;
    int found = 0;
    while (!found && fgets(line, sizeof line, f)) {
        struct kymo_proc_mapping mapping;
        if (!kymo_proc_mapping_parse(line, &mapping) || address < mapping.start ||
            address >= mapping.end)
            continue;
        if (mapping.path_len == 0 || mapping.path_len >= cap)
            break;
        memcpy(path, mapping.path, mapping.path_len);
        path[mapping.path_len] = '\0';
        found = 1;
    }
    fclose(f);
    return found;
}

const void *kymo_task_vdso(uint32_t *len)
{
    const Elf64_Ehdr *eh = (const void *)getauxval(AT_SYSINFO_EHDR);
    if (!eh)
        return NULL;
    /* Its section headers lie at its end, and are mapped with it. */
    uint64_t end = eh->e_shoff + (uint64_t)eh->e_shnum * eh->e_shentsize;
    if (end < sizeof *eh || end > 1u << 20)
        return NULL;
    *len = (uint32_t)end;
    return eh;
}
