/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that this process maps, and what the recorder has of their unwind information.
 */
#include "observe/remote_frames.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "empty_folder.h"
#include "sys/proc_maps.h"
#include "unit.h"

#define PAGE 4096
#define BUILD_ID 512 /* its note */
#define CODE 65536

/* .eh_frame: one CIE, one FDE. */
struct __attribute__((packed)) frames {
    uint32_t cie_bytes, cie_id;
    uint8_t version, augmentation[3], code_align, data_align, return_register, data_bytes, encoding,
        rules[5], padding[2];
    uint32_t fde_bytes, fde_cie;
    int32_t code;
    uint32_t code_bytes;
    uint8_t no_data, nothing[3];
};

struct __attribute__((packed)) frames_hdr {
    uint8_t version, frames_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t count;
    int32_t code, fde;
};

/* Where they are in a file of so many bytes. */
#define FRAMES(bytes) ((bytes)-PAGE)
#define FRAMES_HDR(bytes) (FRAMES(bytes) + 256)

static kymo_remote_store *store;

/* Writes a library of one segment in which .eh_frame_hdr is the last, as gold makes them. Its one
 * function begins at CODE. */
static void write_library(int fd, int32_t bytes, uint32_t code_bytes)
{
    const struct frames frames = {
        .cie_bytes = offsetof(struct frames, fde_bytes) - 4,
        .version = 1,
        .augmentation = "zR",
        .code_align = 1,
        .data_align = 0x78, /* -8 */
        .return_register = KYMO_REG_RA,
        .data_bytes = 1,
        .encoding = 0x1b,
        .rules = {0x0c, KYMO_REG_SP, 8, 0x80 | KYMO_REG_RA, 1},
        .fde_bytes = sizeof frames - offsetof(struct frames, fde_cie),
        .fde_cie = offsetof(struct frames, fde_cie),
        .code = CODE - (FRAMES(bytes) + (int32_t)offsetof(struct frames, code)),
        .code_bytes = code_bytes,
    };
    const struct frames_hdr hdr = {
        .version = 1,
        .frames_encoding = 0x1b,
        .count_encoding = 0x03,
        .table_encoding = 0x3b,
        .frames = FRAMES(bytes) - (FRAMES_HDR(bytes) + 4),
        .count = 1,
        .code = CODE - FRAMES_HDR(bytes),
        .fde = FRAMES(bytes) + (int32_t)offsetof(struct frames, fde_bytes) - FRAMES_HDR(bytes),
    };
    const struct {
        Elf64_Nhdr head;
        char name[4];
        uint8_t id[20];
    } note = {{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3}};
    Elf64_Ehdr eh = {.e_phoff = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3};
    const Elf64_Phdr ph[3] = {
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_X,
         .p_filesz = (uint32_t)bytes,
         .p_memsz = (uint32_t)bytes},
        {.p_type = PT_NOTE, .p_vaddr = BUILD_ID, .p_memsz = sizeof note},
        {.p_type = PT_GNU_EH_FRAME, .p_vaddr = (uint32_t)FRAMES_HDR(bytes), .p_memsz = sizeof hdr},
    };
    memcpy(eh.e_ident, ELFMAG, SELFMAG);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(pwrite(fd, &eh, sizeof eh, 0), sizeof eh);
    assert_int_equal(pwrite(fd, ph, sizeof ph, sizeof eh), sizeof ph);
    assert_int_equal(pwrite(fd, &note, sizeof note, BUILD_ID), sizeof note);
    assert_int_equal(pwrite(fd, &frames, sizeof frames, FRAMES(bytes)), sizeof frames);
    assert_int_equal(pwrite(fd, &hdr, sizeof hdr, FRAMES_HDR(bytes)), sizeof hdr);
}

static int make_library(const char *path, int32_t bytes, uint32_t code_bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    write_library(fd, bytes, code_bytes);
    return fd;
}

/* At an address, or (NULL) anywhere. */
static unsigned char *map_library(void *at, int fd, size_t bytes)
{
    void *map = mmap(at, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
    assert_true(map != MAP_FAILED);
    return map;
}

/* Whether there is a row in the library's function, so many bytes from its begin. */
static int has_row(kymo_remote *remote, const unsigned char *library, uint32_t at)
{
    uint64_t word, function;
    const uint64_t code = (uint64_t)(uintptr_t)library + CODE;
    if (!kymo_remote_row(remote, code + at, &word, &function))
        return 0;
    assert_int_equal(function, code);
    return 1;
}

/* Some file systems have a number for a file's device in /proc/PID/maps, and another one for stat:
 * there it cannot be told whether a file is the one that is mapped. */
static int is_told_apart(const unsigned char *library, int fd)
{
    char *line = NULL;
    size_t cap = 0;
    struct stat st;
    struct kymo_proc_mapping m;
    int is_same = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    assert_int_equal(fstat(fd, &st), 0);
    while (getline(&line, &cap, maps) > 0)
        if (kymo_proc_mapping_parse(line, &m) && m.start == (uint64_t)(uintptr_t)library)
            is_same = m.inode == st.st_ino && m.device_major == major(st.st_dev) &&
                      m.device_minor == minor(st.st_dev);
    free(line);
    fclose(maps);
    if (!is_same)
        print_message("not checked: that the file is read; this file system's devices have two "
                      "numbers\n");
    return is_same;
}

/* Whether the process has the page in its memory. */
static int is_mapped_in(pid_t pid, const unsigned char *page)
{
    uint64_t entry = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)page / PAGE * 8)), 8);
    close(fd);
    return (int)(entry >> 63);
}

static int begin(void **state)
{
    return enter(state) || kymo_remote_store_create(&store) != KYMO_OK;
}

static int end(void **state)
{
    kymo_remote_store_destroy(store);
    return leave(state);
}

/* ---- the tests ---- */

/* All of the segment would be more than is read of a module. It has no name to be opened by. */
static void frames_before_their_index_are_read(void **state)
{
    (void)state;
    enum { BYTES = 80 << 20 };
    kymo_remote *remote;
    int fd = (int)syscall(SYS_memfd_create, "large", 1u); /* MFD_CLOEXEC */
    write_library(fd, BYTES, 256);
    unsigned char *library = map_library(NULL, fd, BYTES);
    assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
    assert_true(has_row(remote, library, 100));
    assert_false(has_row(remote, library, 256));
    kymo_remote_destroy(remote);
    munmap(library, BYTES);
    close(fd);
}

/* The process needs no memory for what only the recorder reads. */
static void a_file_is_read_and_not_the_pages_of_the_process(void **state)
{
    (void)state;
    enum { BYTES = 4 << 20 };
    kymo_remote *remote;
    int fd = make_library("library", BYTES, 256);
    unsigned char *library = map_library(NULL, fd, BYTES);
    int is_known = is_told_apart(library, fd);
    if (is_known) {
        assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
        assert_true(has_row(remote, library, 100));
        assert_true(is_mapped_in(getpid(), library));
        assert_false(is_mapped_in(getpid(), library + FRAMES(BYTES)));
        kymo_remote_destroy(remote);
    }
    munmap(library, BYTES);
    close(fd);
    if (!is_known)
        skip();
}

/* What the process of the next test does: it maps a library of a file system that it alone sees,
 * says where, and waits until it is told to end. Returns only if that is not permitted. */
static void be_contained(int to_parent, int from_parent)
{
    enum { BYTES = 1 << 20 };
    char byte;
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdir("inside", 0700) != 0 || mount("none", "inside", "tmpfs", 0, NULL) != 0)
        return;
    int fd = open("inside/library", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    write_library(fd, BYTES, 256);
    const unsigned char *library = map_library(NULL, fd, BYTES);
    (void)!write(to_parent, &library, sizeof library);
    (void)!read(from_parent, &byte, 1);
    _exit(0);
}

/* Its paths lead elsewhere here, or nowhere. */
static void files_of_a_container_are_read_there(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    kymo_remote *remote;
    int up[2], down[2], status;
    const unsigned char *library;
    assert_int_equal(pipe(up) | pipe(down), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(down[1]);
        be_contained(up[1], down[0]);
        _exit(0);
    }
    assert_true(pid > 0);
    close(up[1]);
    close(down[0]);
    int is_contained = read(up[0], &library, sizeof library) == (ssize_t)sizeof library;
    if (is_contained) {
        assert_int_equal(kymo_remote_create(store, pid, &remote), KYMO_OK);
        assert_true(has_row(remote, library, 100));
        assert_false(is_mapped_in(pid, library + FRAMES(BYTES)));
        kymo_remote_destroy(remote);
    }
    close(up[0]);
    close(down[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!is_contained) {
        print_message("not checked: files of a container; none can be made here\n");
        skip();
    }
}

/* Two processes, as it were, of which one has written to its copy: to its frames, and to its
 * headers where these are not to be taken for the file's. */
static void what_a_process_writes_is_not_for_others(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    kymo_remote *remote;
    for (int headers_too = 0; headers_too < 2; headers_too++) {
        char name[16];
        snprintf(name, sizeof name, "library%d", headers_too);
        int fd = make_library(name, BYTES, 256);
        void *room = mmap(NULL, 2u * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(room != MAP_FAILED);
        unsigned char *written = map_library(room, fd, BYTES);
        unsigned char *clean = map_library(written + BYTES, fd, BYTES);
        int is_known = is_told_apart(clean, fd);
        assert_int_equal(mprotect(written, BYTES, PROT_READ | PROT_WRITE), 0);
        struct frames *frames = (struct frames *)(void *)(written + FRAMES(BYTES));
        frames->code_bytes = 1;
        if (headers_too)
            ((Elf64_Ehdr *)(void *)written)->e_flags = 1;
        assert_int_equal(mprotect(written, BYTES, PROT_READ | PROT_EXEC), 0);
        assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
        if (headers_too)
            assert_false(has_row(remote, written, 100));
        if (headers_too || is_known)
            assert_true(has_row(remote, clean, 100));
        kymo_remote_destroy(remote);
        munmap(room, 2u * BYTES);
        close(fd);
    }
}

/* A build-id is what a file says of itself. */
static void files_of_one_build_id_are_told_apart(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    kymo_remote *remote;
    unsigned char *library[2];
    int fd[2];
    for (int i = 0; i < 2; i++) {
        fd[i] = make_library(i ? "liar" : "library", BYTES, i ? 1 : 256);
        library[i] = map_library(NULL, fd[i], BYTES);
    }
    assert_int_equal(kymo_remote_create(store, getpid(), &remote), KYMO_OK);
    assert_true(has_row(remote, library[0], 100));
    assert_false(has_row(remote, library[1], 100));
    kymo_remote_destroy(remote);
    for (int i = 0; i < 2; i++) {
        munmap(library[i], BYTES);
        close(fd[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_before_their_index_are_read, begin, end),
        cmocka_unit_test_setup_teardown(a_file_is_read_and_not_the_pages_of_the_process, begin,
                                        end),
        cmocka_unit_test_setup_teardown(files_of_a_container_are_read_there, begin, end),
        cmocka_unit_test_setup_teardown(what_a_process_writes_is_not_for_others, begin, end),
        cmocka_unit_test_setup_teardown(files_of_one_build_id_are_told_apart, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
