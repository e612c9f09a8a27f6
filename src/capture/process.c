/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch/system.h"
#include "arch/thread_block.h"
#include "base/atomic.h"
#include "buffer/call_units.h"
#include "capture/alloc.h"
#include "capture/python_stack.h"
#include "capture/thread_pointer.h"
#include "capture/trace.h"
#include "sys/clock.h"
#include "sys/raw.h"

/* Where glibc keeps a thread's number, which debuggers are told: size in bits, count, offset. */
static uint64_t find_tid(void)
{
    const uint32_t *known = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
    uint32_t tid = 0;
    if (!known || known[0] != 32 || known[2] == 0 || known[2] > 4096)
        return 0;
    memcpy(&tid, (const char *)(uintptr_t)kymo_thread_block() + known[2], sizeof tid);
    return tid == kymo_raw_gettid() ? known[2] : 0;
}

/* Sessions that were taken in this memory: ordinary memory, so a forked child counts on. What
 * markers' sites remember has 16 bits for it. */
static uint32_t epochs;
static uint32_t sessions; /* the same, without a limit */
struct kymo_trace_now kymo_trace_now = {.turn = 1, .depth_limit = KYMO_CALL_DEPTH_MAX};
uint32_t kymo_process_last_clock;

#define ANCHOR_TRIES 5

/* One mapping for all that must read as zeros in a forked child: the process, its threads, their
 * pcs, the pc cache, what is known of stacks that repeat, what is known of definitions, and places
 * for Python's stacks. Address space only; pages are touched as threads are. */
struct kymo_capture_process *kymo_process_map(const struct kymo_attachment *a)
{
    uint32_t depth = a->session->depth;
    pthread_attr_t attributes;
    size_t stack = 0;
    size_t threads = a->plan.threads * sizeof(struct kymo_capture_thread);
    size_t pcs = (size_t)a->plan.threads * depth * sizeof(uint64_t) * 2;
    size_t repeats = kymo_alloc_calls
                         ? a->plan.threads * sizeof(struct kymo_stack_repeat) * KYMO_STACK_REPEATS
                         : 0;
    size_t cache = KYMO_ROW_CACHE_SLOTS * sizeof(struct kymo_row_slot);
    /* The first thread is in one page: a process that ends at once touches no other for it. */
    size_t process = (sizeof(struct kymo_capture_process) + KYMO_ARCH_PAGE_BYTES - 1) &
                     ~(size_t)(KYMO_ARCH_PAGE_BYTES - 1);
    size_t slots = (size_t)a->plan.definitions * 2; /* both are powers of two */
    size_t known = ((size_t)a->plan.definitions + 1) * sizeof(struct kymo_mark_known);
    size_t literals = KYMO_KNOWN_LITERALS * sizeof(uint64_t);
    size_t marks = known + literals + slots * sizeof(uint32_t);
    size_t size = process + threads + cache + pcs + repeats + marks;
    size_t places = (size + 63) & ~(size_t)63;
    struct kymo_python *python = kymo_python_find();
    uint32_t place_count = python ? KYMO_PYTHON_PLACES : KYMO_PYTHON_PLACES_LATE;
    size = places + place_count * kymo_python_place_bytes(depth);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (madvise(map, size, MADV_WIPEONFORK) != 0) {
        munmap(map, size);
        return NULL;
    }
    (void)madvise(map, size, MADV_DONTDUMP);
    struct kymo_capture_process *p = (struct kymo_capture_process *)(void *)map;
    p->mapped_bytes = size;
    p->threads = (struct kymo_capture_thread *)(void *)(map + process);
    struct kymo_row_slot *rows = (struct kymo_row_slot *)(void *)(map + process + threads);
    p->pcs = (uint64_t *)(void *)(map + process + threads + cache);
    char *at = map + process + threads + cache + pcs;
    p->repeats = (struct kymo_stack_repeat *)(void *)at;
    at += repeats;
    p->known = (struct kymo_mark_known *)(void *)at;
    p->literals = (uint64_t *)(void *)(at + known);
    p->definitions = (struct kymo_definition_index){(uint32_t *)(void *)(at + known + literals),
                                                    (uint32_t)slots - 1};
    p->python = python;
    p->python_places = map + places;
    p->python_place_count = place_count;
    if (kymo_walker_init(&p->walker, rows, KYMO_ROW_CACHE_SLOTS) != KYMO_OK) {
        munmap(map, size);
        return NULL;
    }
    kymo_walker_init_stable(&p->walker);
    p->walker.has_trampolines = python && python->minor >= 12;
    if (pthread_getattr_default_np(&attributes) == 0) {
        (void)pthread_attr_getstacksize(&attributes, &stack);
        (void)pthread_attr_destroy(&attributes);
    }
    p->tid_offset = find_tid();
    kymo_thread_pointer_init(p->tid_offset);
    p->default_stack_bytes = stack ? stack : 8u << 20;
    return p;
}

/* The same moment on both clocks: of a few tries the one that was not interrupted, nor the first to
 * touch the kernel's page. What is converted by it stands for the whole run. */
static void take_anchor(struct kymo_capture_process *p)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < ANCHOR_TRIES; i++) {
        uint64_t before = kymo_clock_now(p->clock);
        uint64_t ns = kymo_clock_ns(CLOCK_MONOTONIC);
        uint64_t between = kymo_clock_now(p->clock) - before;
        if (between >= least)
            continue;
        least = between;
        p->anchor_clock = before + between / 2;
        p->anchor_ns = ns;
    }
}

void kymo_process_take(struct kymo_capture_process *p, const struct kymo_attachment *a)
{
    struct kymo_session *s = a->session;
    p->plan = a->plan;
    p->clock = (enum kymo_clock_kind)s->clock_kind;
    p->depth = s->depth;
    p->signal = (int)s->signal;
    p->cookie = s->cookie;
    p->heartbeat_limit = s->heartbeat_limit;
    p->base_cpu_ns = a->base_cpu_ns;
    take_anchor(p);
    if (epochs <= UINT16_MAX)
        epochs++;
    p->session_number = ++sessions;
    kymo_add_acq_rel(&kymo_trace_now.turn, 1u);
    p->mark_epoch = epochs <= UINT16_MAX ? epochs : 0;
    kymo_store_relaxed(&kymo_process_last_clock, (uint32_t)p->clock + 1);
    p->bell = a->bell;
    p->table_area = a->tables ? kymo_session_tables(s, &a->plan) : NULL;
    p->tables = a->tables;
    p->tables_bytes = a->tables_bytes;
    s->pid = kymo_raw_getpid();
    /* For the recorder to read it in /proc takes fifty times as long. */
    (void)kymo_syscall3(SYS_prctl, PR_GET_NAME, (long)(intptr_t)s->name, 0);
    kymo_python_tell(p, s);
    p->session = s;
    if (kymo_alloc_calls)
        kymo_alloc_calls->start(p);
}
