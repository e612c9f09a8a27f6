/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdt_bench.c [--attach] ... - SystemTap's static probes in the loops of marker_loop.h. A bare
 * probe is a nop. With --attach the kernel puts a breakpoint there, and records each hit with the
 * time and the registers that may have arguments into a perf buffer that is written over; `off`
 * stays bare.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sys/sdt.h>

#include "marker_loop.h"

enum { BUFFER_BYTES = 4 << 20, SIX_REGISTERS = 0x3f };

LOOP_OPERATION(disabled, STAP_PROBE2(kymo_bench, off, i, 2))
LOOP_OPERATION(instant32, STAP_PROBE2(kymo_bench, two_words, i, 2))
LOOP_OPERATION(numbers_text, STAP_PROBE3(kymo_bench, numbers_text, (uint32_t)i, 2, loop_text))

static const struct loop_kind kinds[] = {LOOP_KIND(disabled), LOOP_KIND(instant32),
                                         LOOP_KIND(numbers_text)};

static const char self[] = "/proc/self/exe";

static int attach(uint64_t offset)
{
    uint32_t type = 0;
    FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
    if (!f || fscanf(f, "%u", &type) != 1)
        return -1;
    fclose(f);
    struct perf_event_attr attr = {.type = type, .size = sizeof attr};
    attr.config1 = (uint64_t)(uintptr_t)self;
    attr.config2 = offset;
    attr.sample_period = 1;
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
    attr.sample_regs_user = SIX_REGISTERS;
    attr.write_backward = 1;
    attr.wakeup_watermark = 1;
    attr.wakeup_events = BUFFER_BYTES;
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return -1;
    void *buffer = mmap(NULL, BUFFER_BYTES + 4096, PROT_READ, MAP_SHARED, fd, 0);
    return buffer == MAP_FAILED ? -1 : 0;
}

static const Elf64_Shdr *section(const char *file, const char *name)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + elf->e_shoff);
    const char *names = file + sections[elf->e_shstrndx].sh_offset;
    for (uint32_t i = 0; i < elf->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, name) == 0)
            return &sections[i];
    }
    exit(1);
}

static uint64_t to_offset(const char *file, uint64_t address)
{
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(file + elf->e_phoff);
    for (uint32_t i = 0; i < elf->e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && address - p[i].p_vaddr < p[i].p_filesz)
            return address - p[i].p_vaddr + p[i].p_offset;
    }
    exit(1);
}

/* A note is a probe: its address, the base section's, a semaphore's; provider, name, arguments. */
static int attach_all(void)
{
    struct stat st;
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    const char *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return -1;
    uint64_t base = section(file, ".stapsdt.base")->sh_addr;
    const Elf64_Shdr *notes = section(file, ".note.stapsdt");
    for (uint64_t at = 0; at < notes->sh_size;) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(file + notes->sh_offset + at);
        const char *content = (const char *)(note + 1) + ((note->n_namesz + 3) & ~3u);
        const uint64_t *words = (const uint64_t *)content;
        const char *name = content + 24;
        name += strlen(name) + 1;
        if (strcmp(name, "off") != 0 && attach(to_offset(file, words[0] - words[1] + base)) != 0)
            return -1;
        at += sizeof *note + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct loop_program program = {"sdt", kinds, 3, NULL};
    if (argc > 1 && strcmp(argv[1], "--attach") == 0) {
        program.name = "sdt-attached";
        if (attach_all() != 0) {
            perror("sdt_bench: uprobe");
            return 1;
        }
        argc--;
        argv++;
    }
    return loop_main(&program, argc, argv);
}
