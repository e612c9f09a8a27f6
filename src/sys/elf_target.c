/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file may be anything: every offset and size is compared with what pread gives back, and every
 * count has a bound of its own. What is not understood beyond the headers (a dynamic section whose
 * strings lie outside the file) is taken as absent: the kernel and the loader judge it then.
 */
#include "sys/elf_target.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sys/raw.h"

enum {
    NOTES_MAX = 64,
    PHDRS_MAX = 512,       /* real files have below 20 */
    DYNAMIC_MAX = 4096,    /* entries; real files have below 100 */
    STRINGS_MAX = 1 << 28, /* bytes of dynamic strings that are searched */
};

struct segment {
    uint64_t vaddr;
    uint64_t offset;
    uint64_t file_size;
};

/* Not libc's, which is a cancellation point: a hook that looks at a program must not be one. */
static long read_once(int fd, void *data, size_t len, uint64_t offset)
{
    return kymo_syscall4(SYS_pread64, fd, (long)(intptr_t)data, (long)len, (long)offset);
}

/* All of len bytes, or KYMO_E_CORRUPT where the file ends earlier. */
static kymo_err read_at(int fd, void *data, size_t len, uint64_t offset)
{
    char *to = data;
    while (len > 0) {
        if (offset > INT64_MAX)
            return KYMO_E_CORRUPT;
        long n = read_once(fd, to, len, offset);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return kymo_err_from_errno((int)-n);
        if (n == 0)
            return KYMO_E_CORRUPT;
        to += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return KYMO_OK;
}

/* The file offset of an address, UINT64_MAX if no segment has it. */
static uint64_t offset_of(int fd, const Elf64_Ehdr *ehdr, uint64_t vaddr)
{
    for (unsigned i = 0; i < ehdr->e_phnum && i < PHDRS_MAX; i++) {
        Elf64_Phdr ph;
        if (read_at(fd, &ph, sizeof ph, ehdr->e_phoff + i * sizeof ph) != KYMO_OK)
            break;
        if (ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz)
            return ph.p_offset + (vaddr - ph.p_vaddr);
    }
    return UINT64_MAX;
}

/* Whether the string at strings + at begins with one of the runtime's names. */
static int needs_asan(int fd, uint64_t at)
{
    static const char *const names[] = {"libasan.so", "libclang_rt.asan"};
    char text[32] = {0};
    long n = at <= INT64_MAX ? read_once(fd, text, sizeof text - 1, at) : -1;
    for (size_t i = 0; n > 0 && i < KYMO_ARRAY_LEN(names); i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

#define ASAN_INIT_HASH 0x5fd16099u /* of "__asan_init", as DT_GNU_HASH has it */

/* Whether the file may export the runtime's entry, by the filter in front of its hash table, which
 * spares most files the search below: a large one's takes a millisecond. 1 where there is none. */
static int may_export_asan(int fd, uint64_t table)
{
    struct {
        uint32_t buckets, first_symbol, filter_words, shift;
    } head;
    uint64_t word;
    if (table > INT64_MAX / 2 || read_at(fd, &head, sizeof head, table) != KYMO_OK ||
        head.filter_words == 0 || head.shift > 31)
        return 1;
    uint64_t at =
        table + sizeof head + (uint64_t)(ASAN_INIT_HASH / 64 % head.filter_words) * sizeof word;
    if (read_at(fd, &word, sizeof word, at) != KYMO_OK)
        return 1;
    return (word >> ASAN_INIT_HASH % 64 & word >> (ASAN_INIT_HASH >> head.shift) % 64 & 1) != 0;
}

/* Searches the dynamic strings for the runtime's entry, which clang links into the executable and
 * exports. The pieces overlap by the length of the name. */
static int contains_asan(int fd, uint64_t strings, uint64_t size)
{
    static const char name[] = "\0__asan_init"; /* with the NULs on both sides */
    char piece[2048];
    uint64_t at = 0;
    if (size > STRINGS_MAX)
        size = STRINGS_MAX;
    while (at < size && strings <= INT64_MAX - at) {
        size_t want = size - at < sizeof piece ? (size_t)(size - at) : sizeof piece;
        long n = read_once(fd, piece, want, strings + at);
        if (n < (long)sizeof name)
            return 0;
        if (memmem(piece, (size_t)n, name, sizeof name))
            return 1;
        at += (uint64_t)n - (sizeof name - 1);
    }
    return 0;
}

static int has_asan(int fd, const Elf64_Ehdr *ehdr, const struct segment *dynamic)
{
    uint64_t strings_vaddr = 0;
    uint64_t strings_size = 0;
    uint64_t hash_vaddr = 0;
    uint64_t n = dynamic->file_size / sizeof(Elf64_Dyn);
    if (n > DYNAMIC_MAX)
        n = DYNAMIC_MAX;

    /* The strings may be named after what refers to them: first where, then what. */
    for (int pass = 0; pass < 2; pass++) {
        uint64_t strings = pass ? offset_of(fd, ehdr, strings_vaddr) : UINT64_MAX;
        if (pass && strings == UINT64_MAX)
            return 0;
        for (uint64_t i = 0; i < n; i++) {
            Elf64_Dyn dyn;
            if (read_at(fd, &dyn, sizeof dyn, dynamic->offset + i * sizeof dyn) != KYMO_OK ||
                dyn.d_tag == DT_NULL)
                break;
            if (dyn.d_tag == DT_STRTAB)
                strings_vaddr = dyn.d_un.d_ptr;
            else if (dyn.d_tag == DT_STRSZ)
                strings_size = dyn.d_un.d_val;
            else if (dyn.d_tag == DT_GNU_HASH)
                hash_vaddr = dyn.d_un.d_ptr;
            else if (pass && dyn.d_tag == DT_NEEDED && dyn.d_un.d_val < strings_size &&
                     needs_asan(fd, strings + dyn.d_un.d_val))
                return 1;
        }
        if (pass)
            return (!hash_vaddr || may_export_asan(fd, offset_of(fd, ehdr, hash_vaddr))) &&
                   contains_asan(fd, strings, strings_size);
    }
    return 0;
}

static kymo_err read_interpreter(int fd, const Elf64_Phdr *ph, char out[256], kymo_error *detail)
{
    if (ph->p_filesz < 2 || ph->p_filesz > 255)
        return kymo_error_set(detail, KYMO_E_CORRUPT, ph->p_offset,
                              "the name of its loader has %llu bytes",
                              (unsigned long long)ph->p_filesz);
    if (read_at(fd, out, (size_t)ph->p_filesz, ph->p_offset) != KYMO_OK ||
        out[ph->p_filesz - 1] != '\0')
        return kymo_error_set(detail, KYMO_E_CORRUPT, ph->p_offset,
                              "the name of its loader lies outside the file");
    return KYMO_OK;
}

kymo_err kymo_elf_target_read(int fd, kymo_elf_target *out, kymo_error *detail)
{
    Elf64_Ehdr ehdr;
    kymo_elf_target t = {0};
    struct segment dynamic = {0};

    kymo_err err = read_at(fd, &ehdr, EI_NIDENT, 0);
    if (err != KYMO_OK && err != KYMO_E_CORRUPT)
        return kymo_error_set(detail, err, 0, "it cannot be read: %s", kymo_err_text(err));
    if (err != KYMO_OK || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0)
        return kymo_error_set(detail, KYMO_E_UNSUPPORTED, 0, "not an ELF file");
    t.elf_class = ehdr.e_ident[EI_CLASS];
    t.big_endian = ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
    if (t.elf_class != ELFCLASS64 || t.big_endian) {
        *out = t;
        return KYMO_OK;
    }
    if (read_at(fd, &ehdr, sizeof ehdr, 0) != KYMO_OK)
        return kymo_error_set(detail, KYMO_E_CORRUPT, 0, "the file ends in its ELF header");
    t.machine = ehdr.e_machine;
    t.type = ehdr.e_type;
    if (ehdr.e_phentsize != sizeof(Elf64_Phdr) || ehdr.e_phnum == 0 || ehdr.e_phnum > PHDRS_MAX ||
        ehdr.e_phoff > INT64_MAX / 2)
        return kymo_error_set(detail, KYMO_E_CORRUPT, offsetof(Elf64_Ehdr, e_phoff),
                              "its program headers (%u of %u bytes) are not those of a program",
                              ehdr.e_phnum, ehdr.e_phentsize);
    for (unsigned i = 0; i < ehdr.e_phnum; i++) {
        Elf64_Phdr ph;
        uint64_t at = ehdr.e_phoff + i * sizeof ph;
        if (read_at(fd, &ph, sizeof ph, at) != KYMO_OK)
            return kymo_error_set(detail, KYMO_E_CORRUPT, at,
                                  "the file ends in its program headers");
        if (ph.p_type == PT_INTERP && !t.has_interp) {
            KYMO_TRY(read_interpreter(fd, &ph, t.interpreter, detail));
            t.has_interp = 1;
        } else if (ph.p_type == PT_DYNAMIC && ph.p_offset <= INT64_MAX / 2) {
            dynamic = (struct segment){ph.p_vaddr, ph.p_offset, ph.p_filesz};
        }
    }
    t.has_asan = (uint8_t)has_asan(fd, &ehdr, &dynamic);
    *out = t;
    return KYMO_OK;
}

/* Looks for it in one segment of notes. */
static kymo_err build_id_in(int fd, const Elf64_Phdr *ph, uint8_t out[64], size_t *len)
{
    uint64_t at = 0;
    for (int notes = 0; notes < NOTES_MAX && at < ph->p_filesz; notes++) {
        Elf64_Nhdr note;
        char name[4];
        if (ph->p_offset > INT64_MAX / 2 ||
            read_at(fd, &note, sizeof note, ph->p_offset + at) != KYMO_OK)
            break;
        uint64_t name_at = ph->p_offset + at + sizeof note;
        uint64_t name_size = ((uint64_t)note.n_namesz + 3) & ~3ull;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name && note.n_descsz > 0 &&
            note.n_descsz <= 64 && read_at(fd, name, sizeof name, name_at) == KYMO_OK &&
            memcmp(name, "GNU", sizeof name) == 0 &&
            read_at(fd, out, note.n_descsz, name_at + name_size) == KYMO_OK) {
            *len = note.n_descsz;
            return KYMO_OK;
        }
        at += sizeof note + name_size + (((uint64_t)note.n_descsz + 3) & ~3ull);
    }
    return KYMO_E_NOT_FOUND;
}

kymo_err kymo_elf_target_build_id(int fd, uint8_t out[64], size_t *len)
{
    Elf64_Ehdr ehdr;
    if (read_at(fd, &ehdr, sizeof ehdr, 0) != KYMO_OK ||
        memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
        ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
        ehdr.e_phoff > INT64_MAX / 2)
        return KYMO_E_UNSUPPORTED;
    for (unsigned i = 0; i < ehdr.e_phnum && i < PHDRS_MAX; i++) {
        Elf64_Phdr ph;
        if (read_at(fd, &ph, sizeof ph, ehdr.e_phoff + i * sizeof ph) != KYMO_OK)
            break;
        if (ph.p_type == PT_NOTE && build_id_in(fd, &ph, out, len) == KYMO_OK)
            return KYMO_OK;
    }
    return KYMO_E_NOT_FOUND;
}
