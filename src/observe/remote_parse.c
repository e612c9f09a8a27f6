/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_parse.c - what remote.c reads of another process: calls in /proc, ELF headers, notes.
 */
#include <elf.h>
#include <string.h>

#include "observe/remote.h"
#include "sys/elf_notes.h"
#include "sys/proc_maps.h"

int kymo_remote_parse_call(const char *text, struct kymo_remote_call *out)
{
    uint64_t value;
    *out = (struct kymo_remote_call){.number = -1};
    if (strncmp(text, "running", 7) == 0) {
        out->is_running = 1;
        return 1;
    }
    const char *at = text;
    if (strncmp(at, "-1", 2) == 0) {
        at += 2;
    } else {
        at = kymo_proc_number(at, 10, &value);
        if (!at || value > INT_MAX)
            return 0;
        out->number = (int)value;
    }
    /* A call has six arguments before the two that matter; a page fault has none. */
    for (int i = 0; i < (out->number < 0 ? 2 : 8); i++) {
        if (strncmp(at, " 0x", 3) != 0 || !(at = kymo_proc_number(at + 3, 16, &value)))
            return 0;
        if (out->number >= 0 && i < 6)
            out->arguments[i] = value;
        out->sp = out->pc;
        out->pc = value;
    }
    return *at == '\n' || *at == '\0';
}

int kymo_remote_parse_headers(const unsigned char *page, size_t size, uint64_t start,
                              struct kymo_remote_module *out,
                              struct kymo_address_range notes[KYMO_REMOTE_NOTES],
                              struct kymo_remote_segment *frame_segment)
{
    Elf64_Ehdr eh;
    Elf64_Phdr ph;
    uint64_t frame_hdr = 0;
    int has_base = 0;
    uint32_t n_notes = 0;
    memset(notes, 0, KYMO_REMOTE_NOTES * sizeof *notes);
    *frame_segment = (struct kymo_remote_segment){0};
    if (size < sizeof eh)
        return 0;
    memcpy(&eh, page, sizeof eh);
    if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_phentsize != sizeof ph ||
        eh.e_phoff > size || eh.e_phnum > (size - eh.e_phoff) / sizeof ph)
        return 0;
    const unsigned char *headers = page + eh.e_phoff;
    for (int i = 0; i < eh.e_phnum && !has_base; i++) {
        memcpy(&ph, headers + (size_t)i * sizeof ph, sizeof ph);
        if (ph.p_type == PT_LOAD && ph.p_offset == 0) {
            out->bias = start - ph.p_vaddr;
            has_base = 1;
        }
    }
    if (!has_base)
        return 0;
    out->map_start = UINT64_MAX;
    out->map_end = out->text_start = out->text_end = 0;
    for (int i = 0; i < eh.e_phnum; i++) {
        memcpy(&ph, headers + (size_t)i * sizeof ph, sizeof ph);
        uint64_t at = out->bias + ph.p_vaddr;
        uint64_t end = at + ph.p_memsz;
        if (end < at)
            return 0;
        if (ph.p_type == PT_NOTE && n_notes < KYMO_REMOTE_NOTES) {
            notes[n_notes++] = (struct kymo_address_range){at, end};
        } else if (ph.p_type == PT_GNU_EH_FRAME) {
            frame_hdr = at;
        } else if (ph.p_type == PT_LOAD) {
            out->map_start = at < out->map_start ? at : out->map_start;
            out->map_end = end > out->map_end ? end : out->map_end;
            if (ph.p_flags & PF_X && out->text_end == 0) {
                out->text_start = at;
                out->text_end = end;
                out->text_offset = ph.p_offset;
            }
        }
    }
    for (int i = 0; i < eh.e_phnum; i++) {
        memcpy(&ph, headers + (size_t)i * sizeof ph, sizeof ph);
        uint64_t at = out->bias + ph.p_vaddr;
        /* What is of the file is no longer than what is mapped, whose end does not wrap around. */
        uint64_t size_there = ph.p_filesz < ph.p_memsz ? ph.p_filesz : ph.p_memsz;
        if (ph.p_type == PT_LOAD && frame_hdr - at < size_there)
            *frame_segment = (struct kymo_remote_segment){at, at + size_there, ph.p_offset};
    }
    out->eh_frame_hdr = frame_segment->hi ? frame_hdr : 0;
    return out->text_end > out->text_start && out->map_end > out->map_start;
}

void kymo_remote_parse_note(const unsigned char *note, size_t size, struct kymo_remote_module *out)
{
    uint32_t len;
    const unsigned char *id = kymo_elf_build_id(note, size, KYMO_REMOTE_BUILD_ID_MAX, &len);
    if (!id)
        return;
    memcpy(out->build_id, id, len);
    out->build_id_len = len;
}
