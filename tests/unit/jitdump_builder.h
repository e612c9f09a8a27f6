/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump_builder.h - puts jitdump files together, for the tests of who reads them.
 */
#ifndef KYMO_TESTS_JITDUMP_BUILDER_H
#define KYMO_TESTS_JITDUMP_BUILDER_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "unit.h"

static inline void put32(kymo_bytes *b, uint32_t value)
{
    assert_int_equal(kymo_bytes_u32(b, value), KYMO_OK);
}

static inline void put64(kymo_bytes *b, uint64_t value)
{
    assert_int_equal(kymo_bytes_u64(b, value), KYMO_OK);
}

static inline void put_name(kymo_bytes *b, const char *name)
{
    assert_int_equal(kymo_bytes_append(b, name, strlen(name) + 1), KYMO_OK);
}

static inline void put_jitdump_header(kymo_bytes *b, uint32_t padding, uint64_t flags)
{
    put32(b, 0x4a695444);
    put32(b, 1);
    put32(b, 40);
    put32(b, 62);
    put32(b, padding);
    put32(b, 1);
    put64(b, 12345);
    put64(b, flags);
}

static inline void put_record(kymo_bytes *b, uint32_t id, size_t payload, uint64_t time)
{
    put32(b, id);
    put32(b, (uint32_t)(16 + payload));
    put64(b, time);
}

/* A load; its code is size bytes, of which the file has four. */
static inline void put_load(kymo_bytes *b, uint64_t time, uint64_t start, uint64_t size,
                            uint64_t index, const char *name)
{
    put_record(b, 0, 40 + strlen(name) + 1 + 4, time);
    put64(b, 0);
    put64(b, start);
    put64(b, start);
    put64(b, size);
    put64(b, index);
    put_name(b, name);
    put32(b, 0xcccccccc);
}

static inline void put_move(kymo_bytes *b, uint64_t time, uint64_t from, uint64_t to,
                            uint64_t index)
{
    put_record(b, 1, 48, time);
    put64(b, 0);
    put64(b, to);
    put64(b, from);
    put64(b, to);
    put64(b, 0);
    put64(b, index);
}

/* A file in memory with these bytes. */
static inline int file_of(const void *data, size_t len)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    return fd;
}

#endif
