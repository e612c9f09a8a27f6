/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_builder.h - makes small ELF executables in memory, right or wrong in one place.
 */
#ifndef KYMO_TESTS_ELF_BUILDER_H
#define KYMO_TESTS_ELF_BUILDER_H

#include <elf.h>
#include <stddef.h>
#include <string.h>

/* The whole file; a test breaks the field that it is about. Addresses are file offsets. */
struct elf_image {
    Elf64_Ehdr ehdr;
    Elf64_Phdr load;
    Elf64_Phdr interp;
    Elf64_Phdr dynamic;
    Elf64_Dyn dyn[5];
    char interpreter[32];
    char strings[64];
};

#define ELF_IMAGE_LOADER "/lib64/ld-linux-x86-64.so.2"

/* A position-independent x86-64 program of glibc that needs libc.so.6. */
static inline struct elf_image elf_image_program(void)
{
    struct elf_image e;
    memset(&e, 0, sizeof e);
    memcpy(e.ehdr.e_ident, ELFMAG, SELFMAG);
    e.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
    e.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
    e.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
    e.ehdr.e_type = ET_DYN;
    e.ehdr.e_machine = EM_X86_64;
    e.ehdr.e_version = EV_CURRENT;
    e.ehdr.e_ehsize = sizeof e.ehdr;
    e.ehdr.e_phoff = offsetof(struct elf_image, load);
    e.ehdr.e_phentsize = sizeof(Elf64_Phdr);
    e.ehdr.e_phnum = 3;
    e.load.p_type = PT_LOAD;
    e.load.p_filesz = sizeof e;
    e.load.p_memsz = sizeof e;
    e.interp.p_type = PT_INTERP;
    e.interp.p_offset = offsetof(struct elf_image, interpreter);
    e.interp.p_filesz = sizeof ELF_IMAGE_LOADER;
    memcpy(e.interpreter, ELF_IMAGE_LOADER, sizeof ELF_IMAGE_LOADER);
    e.dynamic.p_type = PT_DYNAMIC;
    e.dynamic.p_offset = offsetof(struct elf_image, dyn);
    e.dynamic.p_filesz = sizeof e.dyn;
    memcpy(e.strings, "\0libc.so.6\0main", 16);
    e.dyn[0].d_tag = DT_NEEDED; /* before the strings that it refers to */
    e.dyn[0].d_un.d_val = 1;
    e.dyn[1].d_tag = DT_STRTAB;
    e.dyn[1].d_un.d_ptr = offsetof(struct elf_image, strings);
    e.dyn[2].d_tag = DT_STRSZ;
    e.dyn[2].d_un.d_val = sizeof e.strings;
    return e;
}

/* Puts the note that Go's linker leaves into the image, in place of the dynamic section. */
static inline void elf_image_make_go(struct elf_image *e)
{
    static const Elf64_Nhdr note = {.n_namesz = 4, .n_descsz = 4, .n_type = 4};
    size_t at = sizeof e->strings - 20;
    memcpy(e->strings + at, &note, sizeof note);
    memcpy(e->strings + at + sizeof note, "Go\0\0id=", 8);
    e->dynamic.p_type = PT_NOTE;
    e->dynamic.p_offset = offsetof(struct elf_image, strings) + at;
    e->dynamic.p_filesz = 20;
}

#endif
