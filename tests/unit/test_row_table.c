/* SPDX-License-Identifier: Apache-2.0 */
/* Row tables of real files hold what the interpreter finds at every pc; broken files and tables
 * fail. */
#include "arch/context.h"
#include "unit.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/row.h"
#include "unwind/module.h"
#include "unwind/row_table.h"
#include "unwind_help.h"

struct file {
    unsigned char *data;
    size_t size;
};

static struct file map_file(const char *path)
{
    struct file file = {0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    file.size = (size_t)st.st_size;
    /* Private and writable: tests break the copy. */
    file.data = mmap(NULL, file.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    assert_true(file.data != MAP_FAILED);
    close(fd);
    return file;
}

static kymo_err build(const struct file *file, kymo_bytes *bytes,
                      struct kymo_row_table_stats *stats)
{
    kymo_bytes_init(bytes, 1u << 30);
    return kymo_row_table_build(file->data, file->size, &bytes->sink, stats, NULL);
}

struct loaded {
    char path[4096];
    uint64_t bias;
    uint64_t text_lo;
    uint64_t text_hi;
    const char *want;
};

static int on_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct loaded *loaded = data;
    (void)size;
    const char *name = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    if (!strstr(name, loaded->want))
        return 0;
    snprintf(loaded->path, sizeof loaded->path, "%s", name);
    loaded->bias = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
            loaded->text_lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            loaded->text_hi = loaded->text_lo + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

/* What the handler's interpreter says. */
static uint64_t interpreted_row(uint64_t pc)
{
    struct kymo_unwind_module module;
    struct kymo_cfi_row row;
    struct kymo_cfi_image image;
    bool signal_frame;
    uint64_t word = 0;
    assert_true(kymo_module_find(NULL, pc, &module));
    switch (kymo_module_row(&module, pc, &word, &row, &signal_frame, &image)) {
    case KYMO_CFI_FOUND:
        return word;
    case KYMO_CFI_NOT_FOUND:
        return KYMO_ROW_GAP;
    default:
        return KYMO_ROW_INTERPRET;
    }
}

static void same_everywhere(const char *want)
{
    static struct loaded loaded;
    struct kymo_row_table_stats stats;
    kymo_bytes bytes;
    size_t rows = 0;
    loaded.want = want;
    assert_int_equal(dl_iterate_phdr(on_module, &loaded), 1);
    struct file file = map_file(loaded.path);
    assert_int_equal(build(&file, &bytes, &stats), KYMO_OK);
    assert_int_equal(kymo_row_table_check(bytes.data, bytes.len), KYMO_OK);
    assert_int_equal(stats.broken, 0);
    uint64_t base = loaded.bias + kymo_row_table_base(bytes.data);
    for (uint64_t pc = loaded.text_lo; pc < loaded.text_hi; pc += 3) {
        uint64_t expected = interpreted_row(pc);
        uint64_t found = kymo_row_table_find(bytes.data, bytes.len, pc - base);
        if (found == KYMO_ROW_NONE)
            found = KYMO_ROW_GAP; /* outside the table, nothing is said either */
        rows += found != KYMO_ROW_GAP;
        if (found != expected)
            fprintf(stderr, "%s+%llx: table %llx, interpreter %llx\n", want,
                    (unsigned long long)(pc - loaded.bias), (unsigned long long)found,
                    (unsigned long long)expected);
        assert_int_equal(found, expected);
    }
    fprintf(stderr,
            "%s: %zu KiB file, %llu FDEs, %llu rows, %llu rules, %llu interpreted, %llu KiB\n",
            want, file.size >> 10, (unsigned long long)stats.fdes, (unsigned long long)stats.rows,
            (unsigned long long)stats.rules, (unsigned long long)stats.interpreted,
            (unsigned long long)stats.size_bytes >> 10);
    assert_true(rows > 1000);
    kymo_bytes_deinit(&bytes);
    munmap(file.data, file.size);
}

static void table_equals_interpreter(void **state)
{
    (void)state;
    same_everywhere("/proc/self/exe");
    same_everywhere("libc.so");
    same_everywhere("ld-linux");
}

/* A walk that is only given tables gives what the interpreter gives, and interprets nothing. */
static void walk_by_tables(void **state)
{
    static const char *const modules[] = {"/proc/self/exe", "libc.so", "libcmocka"};
    static struct loaded loaded;
    kymo_bytes bytes[3];
    uint64_t expected[64];
    uint64_t pcs[64];
    struct kymo_walk_result result;
    struct kymo_stack_bounds bounds = help_bounds();
    struct kymo_regs regs;
    (void)state;
    kymo_regs_here(&regs);
    struct kymo_regs again = regs;
    assert_int_equal(kymo_walker_init(&help_walker, NULL, 0), KYMO_OK);
    size_t n = kymo_unwind_walk(&help_walker, &regs, &bounds, expected, 64, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_true(result.notes & KYMO_WALK_BY_INTERPRETER);
    assert_true(n >= 4);
    for (int i = 0; i < 3; i++) {
        loaded.want = modules[i];
        assert_int_equal(dl_iterate_phdr(on_module, &loaded), 1);
        struct file file = map_file(loaded.path);
        assert_int_equal(build(&file, &bytes[i], NULL), KYMO_OK);
        munmap(file.data, file.size);
        struct kymo_address_range range = {loaded.text_lo, loaded.text_hi};
        assert_int_equal(kymo_walker_table_add(&help_walker, range,
                                               loaded.bias + kymo_row_table_base(bytes[i].data),
                                               bytes[i].data, bytes[i].len),
                         KYMO_OK);
    }
    regs = again;
    size_t m = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 64, 0, &result);
    assert_int_equal(result.end, KYMO_WALK_COMPLETE);
    assert_int_equal(result.notes, 0);
    assert_int_equal(m, n);
    assert_memory_equal(pcs, expected, n * sizeof *pcs);
    kymo_walker_table_drop(&help_walker, (struct kymo_address_range){0, UINT64_MAX});
    regs = again;
    m = kymo_unwind_walk(&help_walker, &regs, &bounds, pcs, 64, 0, &result);
    assert_int_equal(m, n);
    assert_true(result.notes & KYMO_WALK_BY_INTERPRETER);
    for (int i = 0; i < 3; i++)
        kymo_bytes_deinit(&bytes[i]);
}

static void table_slots_run_out(void **state)
{
    struct file file = map_file("/proc/self/exe");
    kymo_bytes bytes;
    struct kymo_address_range range = {1, 2};
    (void)state;
    assert_int_equal(build(&file, &bytes, NULL), KYMO_OK);
    assert_int_equal(kymo_walker_init(&help_walker, NULL, 0), KYMO_OK);
    for (unsigned i = 0; i < KYMO_WALKER_TABLES_MAX; i++)
        assert_int_equal(kymo_walker_table_add(&help_walker, range, 0, bytes.data, bytes.len),
                         KYMO_OK);
    assert_int_equal(kymo_walker_table_add(&help_walker, range, 0, bytes.data, bytes.len),
                     KYMO_E_TOO_BIG);
    kymo_walker_table_drop(&help_walker, range);
    assert_int_equal(kymo_walker_table_add(&help_walker, range, 0, bytes.data, bytes.len), KYMO_OK);
    assert_int_equal(kymo_walker_table_add(&help_walker, range, 0, bytes.data, bytes.len - 8),
                     KYMO_E_CORRUPT);
    kymo_bytes_deinit(&bytes);
    munmap(file.data, file.size);
}

static uint64_t random_state = 0x2545f4914f6cdd1dull;

static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Lookups in a table that is written over stay in it (a guard page follows it; ASan sees the rest).
 */
static void corrupt_table_is_bounded(void **state)
{
    struct file file = map_file("/proc/self/exe");
    kymo_bytes bytes;
    (void)state;
    assert_int_equal(build(&file, &bytes, NULL), KYMO_OK);
    size_t pages = (bytes.len + 4095) & ~(size_t)4095;
    char *area =
        mmap(NULL, pages + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    assert_int_equal(mprotect(area + pages, 4096, PROT_NONE), 0);
    unsigned char *table = (unsigned char *)area + ((pages - bytes.len) & ~(size_t)7);
    size_t answers = 0;
    for (int round = 0; round < 200; round++) {
        memcpy(table, bytes.data, bytes.len);
        for (int i = 0; i < 40; i++) {
            /* Half of the damage goes to the head, where all sizes are. */
            size_t at = random_word() % (i % 2 ? bytes.len : 256);
            table[at] = (unsigned char)random_word();
        }
        for (int i = 0; i < 500; i++)
            answers +=
                kymo_row_table_find(table, bytes.len, random_word() & 0xfffff) != KYMO_ROW_NONE;
        memcpy(table, bytes.data, 8); /* sizes that pass, beyond the first check */
        struct kymo_row_table_header header;
        memcpy(&header, bytes.data, sizeof header);
        memcpy(table, &header, sizeof header);
        for (int i = 0; i < 500; i++)
            answers +=
                kymo_row_table_find(table, bytes.len, random_word() & 0xfffff) != KYMO_ROW_NONE;
    }
    assert_true(answers > 0);
    munmap(area, pages + 4096);
    kymo_bytes_deinit(&bytes);
    munmap(file.data, file.size);
}

/* Files with random damage give a table or an error. */
static void broken_files(void **state)
{
    struct file file = map_file("/proc/self/exe");
    unsigned char *copy = malloc(file.size);
    struct file broken = {copy, file.size};
    kymo_bytes bytes;
    size_t errors = 0;
    (void)state;
    assert_non_null(copy);
    for (int round = 0; round < 60; round++) {
        memcpy(copy, file.data, file.size);
        broken.size = round % 3 ? file.size : random_word() % file.size;
        for (int i = 0; i < 20; i++)
            copy[random_word() % (round % 2 ? 1024 : file.size)] = (unsigned char)random_word();
        kymo_err err = build(&broken, &bytes, NULL);
        if (err == KYMO_OK)
            assert_int_equal(kymo_row_table_check(bytes.data, bytes.len), KYMO_OK);
        errors += err != KYMO_OK;
        kymo_bytes_deinit(&bytes);
    }
    assert_true(errors > 0);
    free(copy);
    munmap(file.data, file.size);
}

static void not_elf(void **state)
{
    static unsigned char text[] =
        "#!/bin/sh\necho this is not an ELF file, but long enough to be\n";
    struct file file = {text, sizeof text};
    kymo_bytes bytes;
    kymo_error detail;
    (void)state;
    assert_int_equal(build(&file, &bytes, NULL), KYMO_E_CORRUPT);
    kymo_bytes_deinit(&bytes);
    kymo_bytes_init(&bytes, 100);
    assert_int_equal(kymo_row_table_build(text, 3, &bytes.sink, NULL, &detail), KYMO_E_CORRUPT);
    assert_string_equal(detail.message, "not an ELF file: too short");
    struct file self = map_file("/proc/self/exe");
    assert_int_equal(kymo_row_table_build(self.data, self.size, &bytes.sink, NULL, NULL),
                     KYMO_E_TOO_BIG); /* the sink's limit */
    munmap(self.data, self.size);
    kymo_bytes_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_equals_interpreter),
        cmocka_unit_test(walk_by_tables),
        cmocka_unit_test(table_slots_run_out),
        cmocka_unit_test(corrupt_table_is_bounded),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(not_elf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
