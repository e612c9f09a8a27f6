/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_file.c - reads untrusted ELF files.
 *
 * The header, the section table and the program headers are copied into checked tables at open;
 * what is in sections is elf_content.c's.
 */
#include "symbolize/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "sys/elf_notes.h"
#include "sys/write_all.h"

#define MAX_SECTIONS (1u << 20)
#define MAX_SEGMENTS (1u << 12)
#define MAX_NOTE_BYTES (1u << 16)

kymo_err kymo_elf_read_at(const kymo_elf_file *file, uint64_t offset, void *out, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return KYMO_E_TRUNCATED;
    if (size == 0)
        return KYMO_OK;
    if (file->image) {
        memcpy(out, file->image + offset, size);
        return KYMO_OK;
    }
    if (kymo_read_all(file->fd, out, size, offset) == size)
        return KYMO_OK;
    /* another process may truncate the file meanwhile */
    return errno ? kymo_err_from_errno(errno) : KYMO_E_TRUNCATED;
}

static bool read_notes_at(kymo_elf_file *file, uint64_t offset, uint64_t size)
{
    if (size < sizeof(Elf64_Nhdr) || size > MAX_NOTE_BYTES)
        return false;
    unsigned char *notes = malloc((size_t)size);
    const unsigned char *id = NULL;
    uint32_t len;
    if (notes && kymo_elf_read_at(file, offset, notes, (size_t)size) == KYMO_OK)
        id = kymo_elf_build_id(notes, size, KYMO_BUILD_ID_CAP, &len);
    if (id) {
        memcpy(file->build_id, id, len);
        file->build_id_len = len;
    }
    free(notes);
    return id != NULL;
}

static bool is_in_notes(const kymo_elf_file *file, const kymo_elf_section *section)
{
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type == PT_NOTE && section->address >= p->p_vaddr &&
            section->address - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}

/* Sections come first: in a separate debug file the offsets of the segments mean nothing. */
static void read_build_id(kymo_elf_file *file)
{
    for (size_t i = 1; i < file->n_sections; i++) {
        const kymo_elf_section *s = &file->sections[i];
        if (s->type == SHT_NOTE && read_notes_at(file, s->offset, s->size)) {
            file->hides_build_id = !is_in_notes(file, s);
            return;
        }
    }
    if (file->n_sections > 1)
        return;
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type == PT_NOTE && read_notes_at(file, p->p_offset, p->p_filesz))
            return;
    }
}

static kymo_err read_segments(kymo_elf_file *file, const Elf64_Ehdr *head)
{
    if (head->e_phnum == 0 || head->e_phentsize != sizeof(Elf64_Phdr) ||
        head->e_phnum > MAX_SEGMENTS)
        return KYMO_OK;
    Elf64_Phdr *segments = calloc(head->e_phnum, sizeof *segments);
    if (!segments)
        return KYMO_E_NOMEM;
    file->segments = segments;
    kymo_err err =
        kymo_elf_read_at(file, head->e_phoff, segments, head->e_phnum * sizeof *segments);
    if (err == KYMO_E_TRUNCATED)
        return KYMO_OK; /* sections may be enough */
    KYMO_TRY(err);
    file->n_segments = head->e_phnum;
    return KYMO_OK;
}

static kymo_err read_sections(kymo_elf_file *file, const Elf64_Ehdr *head)
{
    if (head->e_shoff == 0 || head->e_shentsize != sizeof(Elf64_Shdr))
        return KYMO_OK;
    Elf64_Shdr first;
    kymo_err err = kymo_elf_read_at(file, head->e_shoff, &first, sizeof first);
    if (err == KYMO_E_TRUNCATED)
        return KYMO_OK; /* an image in memory often ends before its section table */
    KYMO_TRY(err);
    /* A number beyond 16 bits is in section 0. */
    uint64_t n = head->e_shnum ? head->e_shnum : first.sh_size;
    uint64_t names_index = head->e_shstrndx == SHN_XINDEX ? first.sh_link : head->e_shstrndx;
    if (n < 2 || n > MAX_SECTIONS || n * sizeof(Elf64_Shdr) > file->size - head->e_shoff)
        return KYMO_OK;

    Elf64_Shdr *raw = calloc((size_t)n, sizeof *raw);
    kymo_elf_section *sections = calloc((size_t)n, sizeof *sections);
    char *names = NULL;
    size_t names_size = 0;
    err = KYMO_E_NOMEM;
    if (!raw || !sections)
        goto out;
    err = kymo_elf_read_at(file, head->e_shoff, raw, (size_t)n * sizeof *raw);
    if (err != KYMO_OK)
        goto out;
    if (names_index < n && raw[names_index].sh_type != SHT_NOBITS &&
        raw[names_index].sh_size <= file->size) {
        names_size = (size_t)raw[names_index].sh_size;
        names = malloc(names_size + 1);
        err = KYMO_E_NOMEM;
        if (!names)
            goto out;
        names[names_size] = '\0';
        if (kymo_elf_read_at(file, raw[names_index].sh_offset, names, names_size) != KYMO_OK)
            names_size = 0;
    }
    for (size_t i = 1; i < n; i++) {
        sections[i] = (kymo_elf_section){
            .name = raw[i].sh_name < names_size ? names + raw[i].sh_name : "",
            .type = raw[i].sh_type,
            .link = raw[i].sh_link,
            .flags = raw[i].sh_flags,
            .address = raw[i].sh_addr,
            .offset = raw[i].sh_offset,
            .size = raw[i].sh_size,
            .entry_size = raw[i].sh_entsize,
        };
    }
    sections[0].name = "";
    file->sections = sections;
    file->n_sections = (size_t)n;
    file->names = names;
    sections = NULL;
    names = NULL;
    err = KYMO_OK;
out:
    free(raw);
    free(sections);
    free(names);
    return err;
}

static kymo_err read_tables(kymo_elf_file *file)
{
    Elf64_Ehdr head;
    if (kymo_elf_read_at(file, 0, &head, sizeof head) != KYMO_OK ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return KYMO_E_CORRUPT;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
        return KYMO_E_UNSUPPORTED;
    file->type = head.e_type;
    file->machine = head.e_machine;
    file->entry = head.e_entry;
    KYMO_TRY(read_segments(file, &head));
    KYMO_TRY(read_sections(file, &head));
    read_build_id(file);
    return KYMO_OK;
}

static kymo_err finish_open(kymo_elf_file *file, kymo_elf_file **out)
{
    kymo_err err = read_tables(file);
    if (err != KYMO_OK)
        kymo_elf_close(file);
    else
        *out = file;
    return err;
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

kymo_err kymo_elf_open(const char *path, kymo_elf_file **out)
{
    /* O_NONBLOCK: the path may be a FIFO, on which open would block. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return kymo_err_from_errno(errno);
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return KYMO_E_CORRUPT;
    }
    kymo_elf_file *file = calloc(1, sizeof *file);
    if (!file) {
        close(fd);
        return KYMO_E_NOMEM;
    }
    file->fd = fd;
    file->size = (uint64_t)st.st_size;
    file->state = (kymo_elf_state){.device = st.st_dev,
                                   .inode = st.st_ino,
                                   .modified_ns = nanoseconds(&st.st_mtim),
                                   .changed_ns = nanoseconds(&st.st_ctim)};
    return finish_open(file, out);
}

kymo_err kymo_elf_open_image(const void *image, size_t size, kymo_elf_file **out)
{
    kymo_elf_file *file = calloc(1, sizeof *file);
    if (!file)
        return KYMO_E_NOMEM;
    file->fd = -1;
    file->image = image;
    file->size = size;
    return finish_open(file, out);
}

void kymo_elf_close(kymo_elf_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->n_sections; i++)
        kymo_elf_content_free(&file->sections[i].content);
    free(file->sections);
    free(file->names);
    free(file->segments);
    if (file->fd >= 0)
        close(file->fd);
    free(file);
}

bool kymo_elf_has_id(const kymo_elf_file *file, const unsigned char *id, size_t len)
{
    return file->build_id_len == len && memcmp(file->build_id, id, len) == 0;
}

kymo_elf_section *kymo_elf_find(kymo_elf_file *file, const char *name)
{
    bool debug = strncmp(name, ".debug_", 7) == 0;
    for (size_t i = 1; i < file->n_sections; i++) {
        kymo_elf_section *s = &file->sections[i];
        if (s->type == SHT_NOBITS || s->type == SHT_NULL)
            continue;
        if (strcmp(s->name, name) == 0)
            return s;
        if (debug && strncmp(s->name, ".z", 2) == 0 && strcmp(s->name + 2, name + 1) == 0)
            return s;
    }
    return NULL;
}

kymo_elf_section *kymo_elf_find_type(kymo_elf_file *file, uint32_t type)
{
    for (size_t i = 1; i < file->n_sections; i++)
        if (file->sections[i].type == type)
            return &file->sections[i];
    return NULL;
}

kymo_elf_section *kymo_elf_section_at(kymo_elf_file *file, uint64_t index)
{
    return index > 0 && index < file->n_sections ? &file->sections[index] : NULL;
}

bool kymo_elf_is_code(const kymo_elf_file *file, uint64_t address)
{
    for (size_t i = 1; i < file->n_sections; i++) {
        const kymo_elf_section *s = &file->sections[i];
        if ((s->flags & SHF_EXECINSTR) && address >= s->address && address - s->address < s->size)
            return true;
    }
    if (file->n_sections > 1)
        return false;
    for (size_t i = 0; i < file->n_segments; i++) {
        const Elf64_Phdr *p = &file->segments[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && address >= p->p_vaddr &&
            address - p->p_vaddr < p->p_memsz)
            return true;
    }
    return false;
}
