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

/* The piece of the file that was read last. What decides lies close together: the program headers
 * behind the header, the dynamic section, and mostly all that is asked of the strings. Read one by
 * one they are some 75 system calls in front of each exec. */
struct window {
    int fd;
    size_t len; /* bytes that are there; 0 at first */
    uint64_t at;
    unsigned char bytes[2048];
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

/* Moves the window to an offset. Returns how many bytes it has then, or -errno. */
static long move_window(struct window *w, uint64_t offset)
{
    long n;
    do {
        n = read_once(w->fd, w->bytes, sizeof w->bytes, offset);
    } while (n == -EINTR);
    w->at = offset;
    w->len = n > 0 ? (size_t)n : 0;
    return n;
}

/* All of len bytes, or KYMO_E_CORRUPT where the file ends earlier. */
static kymo_err read_at(struct window *w, void *data, size_t len, uint64_t offset)
{
    char *to = data;
    while (len > 0) {
        if (offset > INT64_MAX)
            return KYMO_E_CORRUPT;
        if (offset < w->at || offset - w->at >= w->len) {
            long n = move_window(w, offset);
            if (n <= 0)
                return n < 0 ? kymo_err_from_errno((int)-n) : KYMO_E_CORRUPT;
        }
        size_t from = (size_t)(offset - w->at);
        size_t n = w->len - from < len ? w->len - from : len;
        memcpy(to, w->bytes + from, n);
        to += n;
        len -= n;
        offset += n;
    }
    return KYMO_OK;
}

/* The file offset of an address, UINT64_MAX if no segment has it. */
static uint64_t offset_of(struct window *w, const Elf64_Ehdr *ehdr, uint64_t vaddr)
{
    for (unsigned i = 0; i < ehdr->e_phnum && i < PHDRS_MAX; i++) {
        Elf64_Phdr ph;
        if (read_at(w, &ph, sizeof ph, ehdr->e_phoff + i * sizeof ph) != KYMO_OK)
            break;
        if (ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz)
            return ph.p_offset + (vaddr - ph.p_vaddr);
    }
    return UINT64_MAX;
}

static int begins_with(const char *text, const char *name)
{
    return strncmp(text, name, strlen(name)) == 0;
}

/* What the library whose name begins there says of the file that needs it. The window stays at the
 * dynamic section. */
static void note_needed(const struct window *w, uint64_t at, kymo_elf_target *t)
{
    char text[32] = {0};
    if (at > INT64_MAX || read_once(w->fd, text, sizeof text - 1, at) <= 0)
        return;
    if (begins_with(text, "libasan.so") || begins_with(text, "libclang_rt.asan"))
        t->has_asan = 1;
    if (begins_with(text, "libtsan.so") || begins_with(text, "libclang_rt.tsan"))
        t->has_tsan = 1;
    if (begins_with(text, "libc.so."))
        t->needs_libc = 1;
}

/* A sanitizer's entry, which clang links into the executable and exports. */
struct entry {
    uint32_t hash;                     /* as DT_GNU_HASH has it */
    char name[sizeof "\0__asan_init"]; /* with the NULs on both sides */
};

static const struct entry asan_entry = {0x5fd16099u, "\0__asan_init"};
static const struct entry tsan_entry = {0x50dc3acu, "\0__tsan_init"};

/* Whether the file may export the entry, by the filter in front of its hash table, which
 * spares most files the search below: a large one's takes a millisecond. 1 where there is none. */
static int may_export(struct window *w, uint64_t table, const struct entry *entry)
{
    struct {
        uint32_t buckets, first_symbol, filter_words, shift;
    } head;
    uint64_t word;
    if (table > INT64_MAX / 2 || read_at(w, &head, sizeof head, table) != KYMO_OK ||
        head.filter_words == 0 || head.shift > 31)
        return 1;
    uint64_t at =
        table + sizeof head + (uint64_t)(entry->hash / 64 % head.filter_words) * sizeof word;
    if (read_at(w, &word, sizeof word, at) != KYMO_OK)
        return 1;
    return (word >> entry->hash % 64 & word >> (entry->hash >> head.shift) % 64 & 1) != 0;
}

/* Searches the dynamic strings for the entry. The pieces overlap by the length of the name. */
static int contains(struct window *w, uint64_t strings, uint64_t size, const struct entry *entry)
{
    uint64_t at = 0;
    if (size > STRINGS_MAX)
        size = STRINGS_MAX;
    while (at < size && strings <= INT64_MAX - at) {
        long n = move_window(w, strings + at);
        if (n > (long)(size - at))
            n = (long)(size - at);
        if (n < (long)sizeof entry->name)
            return 0;
        if (memmem(w->bytes, (size_t)n, entry->name, sizeof entry->name))
            return 1;
        at += (uint64_t)n - (sizeof entry->name - 1);
    }
    return 0;
}

static void read_dynamic(struct window *w, const Elf64_Ehdr *ehdr, const struct segment *dynamic,
                         kymo_elf_target *t)
{
    uint64_t strings_vaddr = 0;
    uint64_t strings_size = 0;
    uint64_t hash_vaddr = 0;
    uint64_t n = dynamic->file_size / sizeof(Elf64_Dyn);
    if (n > DYNAMIC_MAX)
        n = DYNAMIC_MAX;

    /* The strings may be named after what refers to them: first where, then what. */
    for (int pass = 0; pass < 2; pass++) {
        uint64_t strings = pass ? offset_of(w, ehdr, strings_vaddr) : UINT64_MAX;
        if (pass && strings == UINT64_MAX)
            return;
        for (uint64_t i = 0; i < n; i++) {
            Elf64_Dyn dyn;
            if (read_at(w, &dyn, sizeof dyn, dynamic->offset + i * sizeof dyn) != KYMO_OK ||
                dyn.d_tag == DT_NULL)
                break;
            if (dyn.d_tag == DT_STRTAB)
                strings_vaddr = dyn.d_un.d_ptr;
            else if (dyn.d_tag == DT_STRSZ)
                strings_size = dyn.d_un.d_val;
            else if (dyn.d_tag == DT_GNU_HASH)
                hash_vaddr = dyn.d_un.d_ptr;
            else if (pass && dyn.d_tag == DT_NEEDED && dyn.d_un.d_val < strings_size)
                note_needed(w, strings + dyn.d_un.d_val, t);
        }
        uint64_t hash = pass && hash_vaddr ? offset_of(w, ehdr, hash_vaddr) : 0;
        if (pass && !t->has_asan)
            t->has_asan = (!hash_vaddr || may_export(w, hash, &asan_entry)) &&
                          contains(w, strings, strings_size, &asan_entry);
        if (pass && !t->has_tsan)
            t->has_tsan = (!hash_vaddr || may_export(w, hash, &tsan_entry)) &&
                          contains(w, strings, strings_size, &tsan_entry);
    }
}

static kymo_err read_interpreter(struct window *w, const Elf64_Phdr *ph, char out[256],
                                 kymo_error *detail)
{
    if (ph->p_filesz < 2 || ph->p_filesz > 255)
        return kymo_error_set(detail, KYMO_E_CORRUPT, ph->p_offset,
                              "the name of its loader has %llu bytes",
                              (unsigned long long)ph->p_filesz);
    if (read_at(w, out, (size_t)ph->p_filesz, ph->p_offset) != KYMO_OK ||
        out[ph->p_filesz - 1] != '\0')
        return kymo_error_set(detail, KYMO_E_CORRUPT, ph->p_offset,
                              "the name of its loader lies outside the file");
    return KYMO_OK;
}

kymo_err kymo_elf_target_read(int fd, kymo_elf_target *out, kymo_error *detail)
{
    struct window w = {.fd = fd};
    Elf64_Ehdr ehdr;
    kymo_elf_target t = {0};
    struct segment dynamic = {0};

    kymo_err err = read_at(&w, &ehdr, EI_NIDENT, 0);
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
    if (read_at(&w, &ehdr, sizeof ehdr, 0) != KYMO_OK)
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
        if (read_at(&w, &ph, sizeof ph, at) != KYMO_OK)
            return kymo_error_set(detail, KYMO_E_CORRUPT, at,
                                  "the file ends in its program headers");
        if (ph.p_type == PT_INTERP && !t.has_interp) {
            KYMO_TRY(read_interpreter(&w, &ph, t.interpreter, detail));
            t.has_interp = 1;
        } else if (ph.p_type == PT_DYNAMIC && ph.p_offset <= INT64_MAX / 2) {
            dynamic = (struct segment){ph.p_vaddr, ph.p_offset, ph.p_filesz};
        }
    }
    read_dynamic(&w, &ehdr, &dynamic, &t);
    *out = t;
    return KYMO_OK;
}

/* Looks for a note in one segment of them: where its content lies, and how long it is. name has
 * four bytes with the NULs. */
static kymo_err note_in(struct window *w, const Elf64_Phdr *ph, const char *name, uint32_t type,
                        uint64_t *offset, uint32_t *len)
{
    uint64_t at = 0;
    for (int notes = 0; notes < NOTES_MAX && at < ph->p_filesz; notes++) {
        Elf64_Nhdr note;
        char own[4];
        if (ph->p_offset > INT64_MAX / 2 ||
            read_at(w, &note, sizeof note, ph->p_offset + at) != KYMO_OK)
            break;
        uint64_t name_at = ph->p_offset + at + sizeof note;
        uint64_t name_size = ((uint64_t)note.n_namesz + 3) & ~3ull;
        if (note.n_type == type && note.n_namesz == sizeof own && note.n_descsz > 0 &&
            read_at(w, own, sizeof own, name_at) == KYMO_OK && memcmp(own, name, sizeof own) == 0) {
            *offset = name_at + name_size;
            *len = note.n_descsz;
            return KYMO_OK;
        }
        at += sizeof note + name_size + (((uint64_t)note.n_descsz + 3) & ~3ull);
    }
    return KYMO_E_NOT_FOUND;
}

/* In all segments. */
static kymo_err find_note(struct window *w, const char *name, uint32_t type, uint64_t *offset,
                          uint32_t *len)
{
    Elf64_Ehdr ehdr;
    if (read_at(w, &ehdr, sizeof ehdr, 0) != KYMO_OK ||
        memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
        ehdr.e_ident[EI_DATA] != ELFDATA2LSB || ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
        ehdr.e_phoff > INT64_MAX / 2)
        return KYMO_E_UNSUPPORTED;
    for (unsigned i = 0; i < ehdr.e_phnum && i < PHDRS_MAX; i++) {
        Elf64_Phdr ph;
        if (read_at(w, &ph, sizeof ph, ehdr.e_phoff + i * sizeof ph) != KYMO_OK)
            break;
        if (ph.p_type == PT_NOTE && note_in(w, &ph, name, type, offset, len) == KYMO_OK)
            return KYMO_OK;
    }
    return KYMO_E_NOT_FOUND;
}

kymo_err kymo_elf_target_build_id(int fd, uint8_t out[64], size_t *len)
{
    struct window w = {.fd = fd};
    uint64_t at;
    uint32_t size;
    KYMO_TRY(find_note(&w, "GNU", NT_GNU_BUILD_ID, &at, &size));
    if (size > 64 || read_at(&w, out, size, at) != KYMO_OK)
        return KYMO_E_NOT_FOUND;
    *len = size;
    return KYMO_OK;
}

int kymo_elf_target_is_go(int fd)
{
    enum { GO_BUILD_ID = 4 };
    struct window w = {.fd = fd};
    uint64_t at;
    uint32_t size;
    return find_note(&w, "Go\0", GO_BUILD_ID, &at, &size) == KYMO_OK;
}

int kymo_elf_target_has_symbols(int fd)
{
    struct window w = {.fd = fd};
    Elf64_Ehdr ehdr;
    if (read_at(&w, &ehdr, sizeof ehdr, 0) != KYMO_OK || ehdr.e_shentsize != sizeof(Elf64_Shdr) ||
        ehdr.e_shoff > INT64_MAX / 2)
        return 0;
    for (unsigned i = 0; i < ehdr.e_shnum; i++) {
        Elf64_Shdr section;
        if (read_at(&w, &section, sizeof section, ehdr.e_shoff + i * sizeof section) != KYMO_OK)
            break;
        if (section.sh_type == SHT_SYMTAB && section.sh_size > 0)
            return 1;
    }
    return 0;
}
