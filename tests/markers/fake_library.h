/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_library.h - a library behind marker.h that writes down each call, for tests to look at.
 *
 * Linked or preloaded like one of Kymo's, since kymo_mark_attach is what it exports. In a program
 * that knows nothing of it, FAKE_MARKERS_ON switches all categories on, and it prints the number of
 * calls to stderr when the program ends.
 */
#ifndef KYMO_TESTS_FAKE_LIBRARY_H
#define KYMO_TESTS_FAKE_LIBRARY_H

#include "kymo/marker_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_CALLS = 256, FAKE_PAYLOAD = 512, FAKE_CELLS = 16 };

struct fake_call {
    const char *what; /* the call's name in marker_abi.h; for the link's, its member's */
    const struct kymo_mark_site *site;
    const void *place; /* where the payload lay */
    unsigned char payload[FAKE_PAYLOAD];
    struct kymo_mark_options options; /* size 0: there were none */
    char name[64];                    /* of the options */
    struct kymo_mark_cell cells[FAKE_CELLS];
    char cell_texts[FAKE_CELLS][64]; /* of cells that are texts, as they were then */
    uint32_t cell_count;
    uint32_t flags; /* of the scope */
    const struct kymo_mark_counter *counter;
    int64_t value;
    uint64_t operations;
    char key[64]; /* of a label; the text of a text's marker, or of a type's first field */
    uint64_t number;
};

/* Of every link, and of what belongs to no category. */
void fake_switch(int on);
/* The calls since the last look; and how many there were. */
const struct fake_call *fake_calls(unsigned *count);
unsigned fake_links(void);
unsigned fake_attached(void);
unsigned fake_detached(void);
/* Categories of all links by this name. */
unsigned fake_categories(const char *name);

#ifdef __cplusplus
}
#endif

#endif
