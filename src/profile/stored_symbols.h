/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored_symbols.h - puts the names stored in a recording into the profile's frames.
 *
 * Layer:    profile
 * Flow:     kymo_event_symbols -> [stored symbols] -> kymo_frame, kymo_module.symbols
 * Threads:  the ingest's
 * Memory:   vectors; texts go into the profile as they come
 * Signals:  not for handlers
 */
#ifndef KYMO_PROFILE_STORED_SYMBOLS_H
#define KYMO_PROFILE_STORED_SYMBOLS_H

#include "base/hash.h"
#include "base/vec.h"
#include "kymo/profile.h"
#include "recording/events.h"

struct kymo_stored_file {
    uint32_t path; /* string of the profile */
    uint32_t state;
    uint32_t build_id_len;
    uint8_t build_id[KYMO_BUILD_ID_MAX];
    uint8_t is_partial; /* there may be frames that were not looked up */
    uint8_t lacks_some; /* there are */
};

struct kymo_stored_function {
    uint32_t name, system_name, source, start_line;
};

struct kymo_stored_symbol {
    uint64_t address, size_bytes;
    uint32_t name;
};

struct kymo_stored_line {
    uint32_t function, line;
};

struct kymo_stored_address {
    uint64_t address;
    uint32_t file;
    uint32_t symbol; /* KYMO_NONE: none */
    uint32_t first_line, line_count;
    uint32_t named;
    uint32_t frame; /* the first frame with these lines; KYMO_NONE: none yet */
};

/* All zero is a valid empty state. */
typedef struct kymo_stored_symbols {
    KYMO_VEC(struct kymo_stored_file) files;
    KYMO_VEC(struct kymo_stored_function) functions;
    KYMO_VEC(struct kymo_stored_symbol) symbols;
    KYMO_VEC(struct kymo_stored_line) lines;
    KYMO_VEC(struct kymo_stored_address) addresses;
    kymo_index file_index;
    kymo_index address_index;
    uint8_t are_partial; /* files that come from now on */
} kymo_stored_symbols;

/* Whether a name can be stored for the frame. Generated and kernel code have other sources of
 * names. */
static inline int kymo_frame_has_file(const kymo_frame *f)
{
    return f->address != KYMO_NO_ADDRESS && f->module != KYMO_NONE &&
           f->category != KYMO_CATEGORY_JIT && !(f->category == KYMO_CATEGORY_KERNEL && f->named);
}

void kymo_stored_symbols_deinit(kymo_stored_symbols *s);

KYMO_NODISCARD
kymo_err kymo_stored_symbols_add(kymo_stored_symbols *s, kymo_profile *profile,
                                 const kymo_event_symbols *e);

/* Names the frames whose addresses were stored. Call after all frames were added. */
KYMO_NODISCARD
kymo_err kymo_stored_symbols_apply(kymo_stored_symbols *s, kymo_profile *profile);

#endif
