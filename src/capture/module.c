/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.c - see module.h.
 *
 * The module index is an open-addressing table of entry numbers, keyed by where a module is mapped.
 * An entry is filled first and then put into the index by compare and exchange; a thread that
 * loses that race leaves its entry a duplicate, which costs 512 bytes and nothing else.
 *
 * A library that is closed and opened again at the same place is the same entry, revived, if path
 * and build-id are the same: a plugin that is loaded in a loop does not fill the table. But not
 * before the recorder has read the stacks of the entry's last life, which it could not tell from
 * those of another library that lay there in between; until then it is a new entry.
 */
#include "capture/module.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/atomic.h"
#include "base/hash.h"
#include "sys/clock.h"
#include "sys/elf_notes.h"
#include "unwind/module.h"

/* Copies the build-id out of a PT_NOTE segment, as far as it lies in [lo, hi). */
static void read_build_id(struct kymo_module_entry *e, const char *note, uint64_t size, uint64_t lo,
                          uint64_t hi)
{
    uint64_t at = (uint64_t)(uintptr_t)note;
    if (at < lo || at >= hi || size > hi - at)
        return;
    uint32_t len;
    const unsigned char *id = kymo_elf_build_id(note, size, KYMO_SESSION_BUILD_ID_MAX, &len);
    if (!id)
        return;
    memcpy(e->build_id, id, len);
    e->build_id_len = len;
}

/* Reads what the program headers say. The ELF header lies at the start of the first mapping, as
 * linkers lay files out; where it does not, text stays empty and the recorder asks the file. */
static void read_headers(struct kymo_module_entry *e)
{
    const Elf64_Ehdr *eh = (const void *)(uintptr_t)e->map_start;
    if (e->map_end - e->map_start < sizeof *eh || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
        eh->e_phentsize != sizeof(Elf64_Phdr) ||
        eh->e_phoff > 4096 - sizeof(Elf64_Phdr) || /* within the first page: surely mapped */
        eh->e_phnum > (4096 - eh->e_phoff) / sizeof(Elf64_Phdr))
        return;
    const Elf64_Phdr *ph = (const void *)(uintptr_t)(e->map_start + eh->e_phoff);
    for (int i = 0; i < eh->e_phnum; i++) {
        uint64_t at = e->bias + ph[i].p_vaddr;
        if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X && e->text_end == 0) {
            e->text_start = at;
            e->text_end = at + ph[i].p_memsz;
            e->text_offset = ph[i].p_offset;
        } else if (ph[i].p_type == PT_NOTE) {
            /* Notes that lie in a segment which is mapped for reading only. */
            if (e->build_id_len == 0)
                read_build_id(e, (const char *)(uintptr_t)at, ph[i].p_memsz, e->map_start,
                              e->map_end);
        }
    }
}

static void describe(struct kymo_capture_process *p, struct kymo_module_entry *e,
                     const struct kymo_unwind_module *found)
{
    const struct link_map *map = found->link_map;
    memset((char *)e + sizeof e->state, 0, sizeof *e - sizeof e->state);
    e->map_start = found->map_start;
    e->map_end = found->map_end;
    e->eh_frame_hdr = found->eh_frame_hdr;
    e->seen_clock = kymo_process_clock(p);
    if (map) {
        e->bias = map->l_addr;
        const char *name = map->l_name ? map->l_name : "";
        uint32_t len = 0;
        while (len < KYMO_MODULE_PATH_MAX - 1 && name[len])
            len++;
        memcpy(e->path, name, len);
        e->path_len = len;
    } else {
        e->bias = e->map_start;
    }
    read_headers(e);
}

static int same_file(const struct kymo_module_entry *a, const struct kymo_module_entry *b)
{
    return a->map_start == b->map_start && a->map_end == b->map_end && a->bias == b->bias &&
           a->build_id_len == b->build_id_len && a->path_len == b->path_len &&
           memcmp(a->build_id, b->build_id, KYMO_SESSION_BUILD_ID_MAX) == 0 &&
           memcmp(a->path, b->path, KYMO_MODULE_PATH_MAX) == 0;
}

/* A new entry, described but not yet visible; *number is its number + 1. NULL: the table is full.
 */
static struct kymo_module_entry *new_entry(struct kymo_capture_process *p,
                                           const struct kymo_unwind_module *found, uint32_t *number)
{
    struct kymo_session *s = p->session;
    *number = kymo_add_relaxed(&s->module_count, 1u) + 1;
    if (*number == 0 || *number > p->plan.modules) {
        kymo_sub_relaxed(&s->module_count, 1u);
        kymo_count_loss(p, KYMO_LOSS_MODULE_FULL);
        return NULL;
    }
    struct kymo_module_entry *e = kymo_session_module(s, &p->plan, *number - 1);
    describe(p, e, found);
    e->load_generation = kymo_load_relaxed(&s->module_generation);
    return e;
}

/* Takes the last new entry back, if no other thread made one meanwhile. An entry stays if it was
 * published before the race for its place in the index was lost. */
static void drop_entry(struct kymo_capture_process *p, const struct kymo_module_entry *mine,
                       uint32_t number)
{
    uint32_t count = number;
    if (kymo_load_relaxed(&mine->state) != KYMO_MODULE_READY)
        (void)kymo_cas_relaxed(&p->session->module_count, &count, number - 1);
}

static void note_object(struct kymo_capture_process *p, const struct kymo_unwind_module *found)
{
    const uint32_t mask = p->plan.module_slots - 1;
    uint32_t *index = kymo_session_module_index(p->session, &p->plan);
    uint64_t start = found->map_start;
    uint32_t slot = (uint32_t)kymo_hash_mix(0, start >> 12) & mask;
    uint32_t number = 0;
    struct kymo_module_entry *mine = NULL;

    for (uint32_t probe = 0; probe <= mask; probe++, slot = (slot + 1) & mask) {
        uint32_t other = kymo_load_acquire(&index[slot]);
        if (other == 0) {
            if (!mine && !(mine = new_entry(p, found, &number)))
                return;
            /* Published before it is indexed: who finds it in the index may rely on the drain's
             * seeing it. */
            kymo_store_release(&mine->state, KYMO_MODULE_READY);
            kymo_add_acq_rel(&p->session->module_changes, 1u);
            if (kymo_cas_acq_rel(&index[slot], &other, number))
                return;
        }
        if (other > p->plan.modules)
            return; /* overwritten by the program */
        struct kymo_module_entry *e = kymo_session_module(p->session, &p->plan, other - 1);
        if (kymo_load_relaxed(&e->map_start) != start)
            continue;
        uint32_t gone = kymo_load_acquire(&e->unload_generation);
        if (gone == 0) {
            if (mine)
                drop_entry(p, mine, number);
            return;
        }
        if (!mine && !(mine = new_entry(p, found, &number)))
            return;
        /* Pairs with release_modules in buffer/drain.c. */
        if (kymo_load_acquire(&e->read_generation) == gone && same_file(mine, e)) {
            kymo_store_relaxed(&e->load_generation, mine->load_generation);
            kymo_store_release(&e->unload_generation, 0);
            kymo_add_acq_rel(&p->session->module_changes, 1u);
            drop_entry(p, mine, number);
            return;
        }
    }
}

void kymo_modules_note(struct kymo_capture_process *p, const uint64_t *pcs, uint32_t n)
{
    uint64_t lo = 0;
    uint64_t hi = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (pcs[i] & KYMO_PC_PYTHON)
            continue;
        uint64_t pc = i == 0 || pcs[i] & KYMO_PC_EXACT ? pcs[i] & ~KYMO_PC_EXACT : pcs[i] - 1;
        struct kymo_unwind_module found;
        if ((pc >= lo && pc < hi) || !kymo_module_find(NULL, pc, &found))
            continue;
        lo = found.map_start;
        hi = found.map_end;
        note_object(p, &found);
    }
}

void kymo_modules_after_close(struct kymo_capture_process *p)
{
    struct kymo_session *s = p->session;
    uint32_t generation = kymo_add_acq_rel(&s->module_generation, 1u) + 1;
    uint32_t count = kymo_load_acquire(&s->module_count);
    if (count > p->plan.modules)
        count = p->plan.modules;
    for (uint32_t i = 0; i < count; i++) {
        struct kymo_module_entry *e = kymo_session_module(s, &p->plan, i);
        struct kymo_unwind_module found;
        if (kymo_load_acquire(&e->state) != KYMO_MODULE_READY ||
            kymo_load_relaxed(&e->unload_generation) != 0)
            continue;
        if (kymo_module_find(NULL, e->map_start, &found) && found.map_start == e->map_start &&
            found.map_end == e->map_end && found.eh_frame_hdr == e->eh_frame_hdr)
            continue; /* found.link_map is not for looking into: another dlclose may free it */
        kymo_tables_drop(p, e->map_start, e->map_end);
        e->unload_clock = kymo_process_clock(p);
        kymo_store_release(&e->unload_generation, generation);
        kymo_add_acq_rel(&s->module_changes, 1u);
    }
}
