/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/remote_frames.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/vec.h"
#include "observe/frame_index.h"

#define HEADERS_MAX 4096u
#define FRAMES_MAX (64ull << 20) /* bytes of unwind information of one module */
#define STORE_MAX (256ull << 20) /* of all that is kept */

/* Of one file: bytes of its virtual addresses from vaddr on. What was found in them is kept, too: a
 * compiler's hundred processes run the same code. */
struct stored {
    uint64_t device_major, device_minor, inode;
    uint8_t build_id[KYMO_REMOTE_BUILD_ID_MAX];
    uint32_t build_id_len;
    size_t header_bytes;
    unsigned char *headers;
    struct kymo_row_slot *rows;
    uint64_t vaddr, hdr;
    size_t size;
    unsigned char *data;
};

struct kymo_remote_store {
    KYMO_VEC(struct stored) entries;
    uint64_t bytes;
};

size_t kymo_remote_memory(pid_t pid, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return n > 0 ? (size_t)n : 0;
}

/* ---- the store ---- */

kymo_err kymo_remote_store_create(kymo_remote_store **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? KYMO_OK : KYMO_E_NOMEM;
}

static void deinit_stored(const struct stored *s)
{
    free(s->headers);
    free(s->rows);
    free(s->data);
}

void kymo_remote_store_destroy(kymo_remote_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->entries.len; i++)
        deinit_stored(&store->entries.data[i]);
    kymo_vec_deinit(&store->entries);
    free(store);
}

/* Who has other headers has written to them, and has its own. */
static const struct stored *find_stored(const kymo_remote_store *store,
                                        const struct kymo_remote_mapped *m)
{
    for (size_t i = 0; i < store->entries.len; i++) {
        const struct stored *s = &store->entries.data[i];
        if (s->inode == m->inode && s->device_major == m->device_major &&
            s->device_minor == m->device_minor && s->build_id_len == m->module->build_id_len &&
            memcmp(s->build_id, m->module->build_id, s->build_id_len) == 0 &&
            s->header_bytes == m->header_bytes &&
            memcmp(s->headers, m->headers, s->header_bytes) == 0)
            return s;
    }
    return NULL;
}

/* Gives the bytes to the store, if it has room and can tell them from others. */
static int keep(kymo_remote_store *store, const struct kymo_remote_mapped *m,
                struct kymo_remote_frames *frames)
{
    struct stored s = {
        .device_major = m->device_major,
        .device_minor = m->device_minor,
        .inode = m->inode,
        .build_id_len = m->module->build_id_len,
        .header_bytes = m->header_bytes,
        .vaddr = frames->image.address - m->module->bias,
        .hdr = frames->hdr - m->module->bias,
        .size = frames->image.size,
    };
    /* Of a small file the rows are most of it. */
    const size_t bytes = s.size + s.header_bytes + KYMO_OUTSIDE_ROWS * sizeof *s.rows;
    if (s.build_id_len == 0 || store->bytes + bytes > STORE_MAX)
        return 0;
    memcpy(s.build_id, m->module->build_id, s.build_id_len);
    s.headers = malloc(m->header_bytes);
    s.rows = calloc(KYMO_OUTSIDE_ROWS, sizeof *s.rows); /* without them it is slower */
    if (!s.headers || kymo_vec_reserve(&store->entries, 1) != KYMO_OK) {
        deinit_stored(&s);
        return 0;
    }
    memcpy(s.headers, m->headers, m->header_bytes);
    s.data = frames->own;
    store->entries.data[store->entries.len++] = s;
    store->bytes += bytes;
    frames->rows = s.rows;
    frames->own = NULL;
    return 1;
}

/* ---- reading ---- */

/* Where bytes of a module come from: its file, or (-1) its process's memory. */
struct source {
    int fd;
    const struct kymo_remote_mapped *mapped;
};

static size_t read_at(const struct source *s, uint64_t address, void *out, size_t size)
{
    const struct kymo_remote_mapped *m = s->mapped;
    if (s->fd < 0)
        return kymo_remote_memory(m->pid, address, out, size);
    ssize_t n = pread(s->fd, out, size, (off_t)(m->segment.offset + (address - m->segment.lo)));
    return n > 0 ? (size_t)n : 0;
}

/* -1: it is not the file that is mapped there. */
static int open_if_mapped(const char *path, const struct kymo_remote_mapped *m)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == m->inode &&
        major(st.st_dev) == m->device_major && minor(st.st_dev) == m->device_minor)
        return fd;
    close(fd);
    return -1;
}

/* By its name here, or, of a container, by that in the process's root; -1: it is not found. */
static int open_file(const struct kymo_remote_mapped *m)
{
    char path[PATH_MAX];
    if (m->inode == 0)
        return -1;
    int fd = open_if_mapped(m->path, m);
    if (fd < 0 &&
        snprintf(path, sizeof path, "/proc/%d/root%s", (int)m->pid, m->path) < (int)sizeof path)
        fd = open_if_mapped(path, m);
    return fd;
}

/* -1 also if it has not the headers that are in memory. */
static int open_mapped(const struct kymo_remote_mapped *m)
{
    unsigned char headers[HEADERS_MAX];
    if (m->header_bytes > HEADERS_MAX ||
        m->segment.offset > INT64_MAX - (m->segment.hi - m->segment.lo))
        return -1;
    int fd = open_file(m);
    if (fd < 0 || (pread(fd, headers, m->header_bytes, 0) == (ssize_t)m->header_bytes &&
                   memcmp(headers, m->headers, m->header_bytes) == 0))
        return fd;
    close(fd);
    return -1;
}

size_t kymo_remote_file(const struct kymo_remote_mapped *m, uint64_t offset, void *out, size_t size)
{
    int fd = offset <= INT64_MAX ? open_file(m) : -1;
    if (fd < 0)
        return 0;
    ssize_t n = pread(fd, out, size, (off_t)offset);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* Where .eh_frame begins, or .eh_frame_hdr, which is at hdr and begins with head, whatever is
 * first. GNU ld and lld put the frames behind, gold before: libLLVM's segment has 97 MiB, of which
 * these are 5. */
static uint64_t frames_begin(const unsigned char head[8], uint64_t hdr,
                             const struct kymo_remote_segment *segment)
{
    enum { FROM_HERE_SIGNED = 0x1b }; /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
    int32_t distance;
    memcpy(&distance, head + 4, sizeof distance);
    if (head[1] != FROM_HERE_SIGNED)
        return segment->lo;
    if (distance >= 0)
        return hdr;
    const int64_t back = -(int64_t)distance - 4;
    return back > 0 && (uint64_t)back <= hdr - segment->lo ? hdr - (uint64_t)back : segment->lo;
}

/* Reads .eh_frame and .eh_frame_hdr, and what else is behind them in their segment. Returns whether
 * that is all of it. */
static int read_frames(const struct source *s, uint64_t most, struct kymo_remote_frames *out)
{
    const struct kymo_remote_mapped *m = s->mapped;
    const uint64_t hdr = m->module->eh_frame_hdr;
    unsigned char head[8];
    if (read_at(s, hdr, head, sizeof head) != sizeof head)
        return 0;
    const uint64_t lo = frames_begin(head, hdr, &m->segment);
    const uint64_t size = m->segment.hi - lo;
    if (size > FRAMES_MAX || size > most)
        return 0;
    unsigned char *data = malloc((size_t)size);
    size_t have = data ? read_at(s, lo, data, (size_t)size) : 0;
    if (have == 0) {
        free(data);
        return 0;
    }
    out->own = data;
    out->image = (struct kymo_cfi_image){data, have, lo};
    out->hdr = hdr;
    return have == size;
}

/* Of a file without .eh_frame_hdr; what is not mapped of it, memory does not have. */
static int make_index(const struct source *s, uint64_t most, struct kymo_remote_frames *out)
{
    char path[32];
    kymo_elf_file *file;
    most = most < FRAMES_MAX ? most : FRAMES_MAX;
    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    if (s->fd < 0 || kymo_elf_open(path, &file) != KYMO_OK)
        return 0;
    kymo_err err =
        kymo_frame_index_make(file, s->mapped->module->bias, most, &out->image, &out->hdr);
    kymo_elf_close(file);
    out->own = err == KYMO_OK ? (unsigned char *)(uintptr_t)out->image.data : NULL;
    return err == KYMO_OK;
}

void kymo_remote_frames_get(kymo_remote_store *store, const struct kymo_remote_mapped *mapped,
                            uint64_t own_most, struct kymo_remote_frames *out)
{
    *out = (struct kymo_remote_frames){0};
    const struct stored *stored = find_stored(store, mapped);
    if (stored) {
        out->image = (struct kymo_cfi_image){stored->data, stored->size,
                                             stored->vaddr + mapped->module->bias};
        out->rows = stored->rows;
        out->hdr = stored->hdr + mapped->module->bias;
        return;
    }
    const struct source source = {open_mapped(mapped), mapped};
    if (mapped->module->eh_frame_hdr ? read_frames(&source, own_most, out)
                                     : make_index(&source, own_most, out))
        (void)keep(store, mapped, out);
    if (source.fd >= 0)
        close(source.fd);
}
