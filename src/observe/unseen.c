/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/unseen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "symbolize/elf_file.h"

#define FILES_MAX 4096u
/* Larger tables are not read: the program runs meanwhile, and is to be drained. */
#define TABLE_BYTES_MAX (64u << 20)

/* What allocators are called where they have no name of the C library's. */
static const char *const names[] = {
    "_rjem_malloc", "_rjem_mallocx", "je_malloc", "je_mallocx", "mi_malloc",    "tc_malloc",
    "rpmalloc",     "scudo_malloc",  "dlmalloc",  "nedmalloc",  "hoard_malloc", "snmalloc_malloc"};

struct file {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
    const char *found;
};

struct kymo_unseen {
    KYMO_VEC(struct file) files;
};

kymo_err kymo_unseen_create(kymo_unseen **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? KYMO_OK : KYMO_E_NOMEM;
}

void kymo_unseen_destroy(kymo_unseen *u)
{
    if (!u)
        return;
    kymo_vec_deinit(&u->files);
    free(u);
}

static const char *allocator_called(const char *name)
{
    for (size_t i = 0; i < KYMO_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return names[i];
    return NULL;
}

/* The table's functions that are defined in the file: whether malloc is among them, and one of the
 * names. */
static void look_into(kymo_elf_file *elf, kymo_elf_section *table, int *has_malloc,
                      const char **found)
{
    kymo_span symbols, strings;
    kymo_elf_section *texts = table ? kymo_elf_section_at(elf, table->link) : NULL;
    if (!texts || table->size > TABLE_BYTES_MAX || texts->size > TABLE_BYTES_MAX ||
        kymo_elf_load(elf, table, &symbols) != KYMO_OK)
        return;
    if (kymo_elf_load(elf, texts, &strings) != KYMO_OK) {
        kymo_elf_unload(table);
        return;
    }
    for (size_t at = 0; symbols.size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.data + at, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_name >= strings.size)
            continue;
        /* Terminated: a byte 0 follows the content. */
        const char *name = (const char *)strings.data + symbol.st_name;
        *has_malloc |= strcmp(name, "malloc") == 0;
        if (!*found)
            *found = allocator_called(name);
    }
    kymo_elf_unload(texts);
    kymo_elf_unload(table);
}

static const char *look_at(const char *path)
{
    kymo_elf_file *elf;
    const char *found = NULL;
    int exports_malloc = 0, has_malloc = 0;
    if (kymo_elf_open(path, &elf) != KYMO_OK)
        return NULL;
    look_into(elf, kymo_elf_find_type(elf, SHT_DYNSYM), &exports_malloc, &found);
    if (!exports_malloc && !found)
        look_into(elf, kymo_elf_find_type(elf, SHT_SYMTAB), &has_malloc, &found);
    kymo_elf_close(elf);
    if (has_malloc && !found)
        found = "malloc";
    return exports_malloc ? NULL : found;
}

const char *kymo_unseen_find(kymo_unseen *u, const char *path)
{
    struct stat st;
    if (path[0] != '/' || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    for (size_t i = 0; i < u->files.len; i++) {
        const struct file *f = &u->files.data[i];
        if (f->dev == st.st_dev && f->ino == st.st_ino && f->changed.tv_sec == st.st_mtim.tv_sec &&
            f->changed.tv_nsec == st.st_mtim.tv_nsec)
            return f->found;
    }
    const char *found = look_at(path);
    /* Without room for it, it is looked at again. */
    if (u->files.len < FILES_MAX)
        (void)!kymo_vec_push(&u->files, (struct file){st.st_dev, st.st_ino, st.st_mtim, found});
    return found;
}
