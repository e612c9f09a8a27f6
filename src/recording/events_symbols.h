/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_symbols.h - the names of sampled code, stored when the recording was finished.
 *
 * Layer:    recording; a part of events.h, which says what holds for all events
 * Flow:     symbolize/symbol_events.c -> [events] -> .kymo -> stored_symbols.c -> profile tables
 * Threads:  plain data
 * Memory:   every pointer is borrowed for the call that it is given to
 * Signals:  not for handlers
 */
#ifndef KYMO_RECORDING_EVENTS_SYMBOLS_H
#define KYMO_RECORDING_EVENTS_SYMBOLS_H

#include <stdint.h>

/* Limits of one event: addresses, lines of an address, and texts. */
#define KYMO_EVENT_SYMBOLS_MAX 16384u
#define KYMO_EVENT_SYMBOL_LINES_MAX 1024u
#define KYMO_EVENT_SYMBOL_TEXTS_MAX 65536u

/* Texts are positions in the event's texts, KYMO_EVENT_NONE: none. */
typedef struct kymo_event_symbol_function {
    uint32_t name;
    uint32_t system_name; /* the linker's name; none: the same as name */
    uint32_t file;
    uint32_t start_line; /* 0: not known */
} kymo_event_symbol_function;

/* A symbol of the file's symbol table. */
typedef struct kymo_event_symbol {
    uint64_t address; /* ELF vaddr */
    uint64_t size_bytes;
    uint32_t name;
    uint32_t reserved;
} kymo_event_symbol;

typedef struct kymo_event_symbol_line {
    uint32_t function; /* position in functions */
    uint32_t line;     /* 0: not known */
} kymo_event_symbol_line;

/* The lines of successive addresses are adjacent. */
typedef struct kymo_event_symbol_address {
    uint64_t address;    /* ELF vaddr of the instruction: for a return address, 1 less */
    uint32_t symbol;     /* position in symbols, KYMO_EVENT_NONE: none */
    uint32_t line_count; /* innermost inlined function first; 0: no name */
    uint32_t named;      /* 1: inside a symbol or a DWARF subprogram */
    uint32_t reserved;
} kymo_event_symbol_address;

/* Names for addresses of one file. There may be several such events for a file. */
typedef struct kymo_event_symbols {
    uint32_t state; /* kymo_symbols_state of kymo/profile.h */
    uint32_t build_id_len;
    uint32_t text_count, function_count, symbol_count, line_count, address_count;
    const char *path;
    const uint8_t *build_id;
    const char *const *texts;
    const kymo_event_symbol_function *functions;
    const kymo_event_symbol *symbols;
    const kymo_event_symbol_line *lines;
    const kymo_event_symbol_address *addresses;
} kymo_event_symbols;

#endif
