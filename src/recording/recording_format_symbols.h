/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording_format_symbols.h - the structures of a chunk of stored symbols.
 *
 * Layer:    recording; a part of recording_format.h
 * Flow:     shared by recording_write_symbols.c and recording_decode_symbols.c
 */
#ifndef KYMO_RECORDING_RECORDING_FORMAT_SYMBOLS_H
#define KYMO_RECORDING_RECORDING_FORMAT_SYMBOLS_H

#include <assert.h>
#include <stdint.h>

struct kymo_file_symbols {
    uint32_t fixed_bytes;
    uint32_t state;
    uint32_t build_id_len;
    uint32_t text_count;
    uint32_t function_count;
    uint32_t symbol_count;
    uint32_t line_count;
    uint32_t address_count;
    uint16_t function_bytes;
    uint16_t symbol_bytes;
    uint16_t line_bytes;
    uint16_t address_bytes;
};

struct kymo_file_symbol_function {
    uint32_t name;
    uint32_t system_name;
    uint32_t file;
    uint32_t start_line;
};

struct kymo_file_symbol {
    uint64_t address;
    uint64_t size_bytes;
    uint32_t name;
    uint32_t reserved;
};

struct kymo_file_symbol_line {
    uint32_t function;
    uint32_t line;
};

struct kymo_file_symbol_address {
    uint64_t address;
    uint32_t symbol;
    uint32_t line_count;
    uint32_t named;
    uint32_t reserved;
};

static_assert(sizeof(struct kymo_file_symbols) == 40, "layout");
static_assert(sizeof(struct kymo_file_symbol_function) == 16, "layout");
static_assert(sizeof(struct kymo_file_symbol) == 24, "layout");
static_assert(sizeof(struct kymo_file_symbol_line) == 8, "layout");
static_assert(sizeof(struct kymo_file_symbol_address) == 24, "layout");

#endif
