/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_base.c - see wall_find.h.
 *
 * How many registers the function saves, the unwind information says; the rest is guessed from its
 * first instructions. A wrong guess leads to no call of the function.
 */
#include "observe/wall_find.h"

#include <string.h>

#include "arch/machine_code.h"
#include "arch/row.h"

#define CODE_MAX 96u
#define ENTRIES_MAX 65536u
#define PUSHED_MAX 12u /* words */
#define FRAME_MAX (1ull << 20)

enum source {
    BY_NONE,   /* the code does not tell */
    BY_CODE,   /* as its first instructions say */
    BY_ANSWER, /* as a thread had it there */
    BY_VARIES, /* threads had more than one */
};

void kymo_frame_bases_deinit(struct kymo_frame_bases *b)
{
    kymo_vec_deinit(&b->entries);
    kymo_index_deinit(&b->index);
}

/* ---- the distance ---- */

static int distance_by_code(kymo_remote *remote, uint64_t pc, uint64_t begin, uint64_t row,
                            uint64_t *distance)
{
    unsigned char code[CODE_MAX];
    uint32_t saved = 0;
    for (unsigned slot = KYMO_SLOT_FP + 1; slot < KYMO_SLOTS_SAVED; slot++)
        saved += kymo_row_save(row, slot) != 0;
    size_t size = pc - begin < sizeof code ? (size_t)(pc - begin) : sizeof code;
    return kymo_remote_read(remote, begin, code, size) == size &&
           kymo_frame_distance(code, size, saved, distance) && *distance <= FRAME_MAX;
}

/* ---- the table ---- */

/* Modules that have no build-id are not told from others. Returns 0 for one. */
static uint64_t key_of(kymo_remote *remote, uint64_t pc)
{
    const struct kymo_remote_module *m = kymo_remote_module_at(remote, pc);
    return m && m->build_id_len > 0
               ? kymo_hash_bytes(m->build_id, m->build_id_len,
                                 kymo_hash_mix(kymo_hash_secret(), pc - m->bias)) |
                     1
               : 0;
}

static struct kymo_frame_base *find_entry(const struct kymo_frame_bases *b, uint64_t key)
{
    size_t probe = 0;
    uint32_t at;
    while (kymo_index_find(&b->index, key, &probe, &at))
        if (b->entries.data[at].key == key)
            return &b->entries.data[at];
    return NULL;
}

/* Without memory for it, the entry is not kept. */
static void add_entry(struct kymo_frame_bases *b, const struct kymo_frame_base *entry)
{
    uint32_t at = (uint32_t)b->entries.len;
    if (entry->key != 0 && at < ENTRIES_MAX && kymo_vec_push(&b->entries, *entry) == KYMO_OK &&
        kymo_index_put(&b->index, entry->key, at) != KYMO_OK)
        b->entries.len--;
}

/* ---- whether it is believed ---- */

static int reads_as(kymo_remote *remote, uint64_t slot, uint64_t value)
{
    uint64_t found;
    return kymo_remote_read(remote, slot, &found, sizeof found) == sizeof found && found == value;
}

/* Whether what is called there is a stub that jumps to the function. */
static int is_stub_of(kymo_remote *remote, uint64_t stub, uint64_t function)
{
    unsigned char code[KYMO_STUB_BYTES];
    uint64_t slot;
    return kymo_remote_read(remote, stub, code, sizeof code) == sizeof code &&
           kymo_stub_read(code, sizeof code, stub, &slot) == KYMO_STUB_SLOT &&
           reads_as(remote, slot, function);
}

/* What the instruction before a return address says of what it called. */
enum called { OTHER, SOME, UNTOLD, FUNCTION };

static enum called what_is_called(kymo_remote *remote, uint64_t return_address, uint64_t function)
{
    uint8_t code[KYMO_CALL_BYTES];
    uint64_t value;
    if (!kymo_remote_module_at(remote, return_address) ||
        kymo_remote_read(remote, return_address - sizeof code, code, sizeof code) != sizeof code)
        return OTHER;
    switch (kymo_call_before(code, return_address, &value)) {
    case KYMO_CALL_DIRECT:
        return value == function || is_stub_of(remote, value, function) ? FUNCTION : SOME;
    case KYMO_CALL_SLOT:
        return reads_as(remote, value, function) ? FUNCTION : UNTOLD;
    case KYMO_CALL_POINTER:
        return UNTOLD;
    case KYMO_CALL_NONE:
        break;
    }
    return OTHER;
}

/* Arguments that were pushed for the call at hand lie below what the first instructions made. slot:
 * where the return address is if there are none. Where the caller's instruction does not tell whom
 * it called, what was saved before it must be another frame pointer. */
static int find_above(kymo_remote *remote, uint64_t slot, uint64_t function, uint64_t *above)
{
    uint64_t values[PUSHED_MAX + 1];
    size_t n = kymo_remote_read(remote, slot, values, sizeof values) / sizeof *values;
    for (size_t i = 0; i < n; i++) {
        enum called called = what_is_called(remote, values[i], function);
        *above = 8 * i;
        if (called == FUNCTION)
            return 1;
        if (called == UNTOLD &&
            (i == 0 || (values[i - 1] > slot + *above && values[i - 1] - slot < FRAME_MAX &&
                        values[i - 1] % 8 == 0)))
            return 1;
    }
    return 0;
}

int kymo_frame_base_guess(struct kymo_frame_bases *b, kymo_remote *remote,
                          const struct kymo_remote_frame *frame, uint64_t *fp)
{
    uint64_t row, begin, return_address;
    uint64_t above = 0;
    if (!kymo_remote_row(remote, frame->pc, &row, &begin) ||
        kymo_row_kind(row) != KYMO_ROW_KIND_FP || kymo_row_saves_below_fp(row))
        return 0;
    struct kymo_frame_base entry = {.key = key_of(remote, frame->pc)};
    const struct kymo_frame_base *known = find_entry(b, entry.key);
    if (known) {
        entry = *known;
    } else {
        if (distance_by_code(remote, frame->pc, begin, row, &entry.distance))
            entry.source = BY_CODE;
        add_entry(b, &entry);
    }
    if (entry.source == BY_NONE || entry.source == BY_VARIES)
        return 0;
    *fp = frame->sp + entry.distance;
    uint64_t slot = *fp + kymo_row_offset(row) - kymo_row_return_at(row);
    if (entry.source == BY_ANSWER)
        /* What was called may have jumped on to the function; only a thread could tell. */
        return kymo_remote_read(remote, slot, &return_address, 8) == 8 &&
               what_is_called(remote, return_address, begin) != OTHER;
    int is_found = find_above(remote, slot, begin, &above);
    *fp += above;
    return is_found;
}

void kymo_frame_base_learn(struct kymo_frame_bases *b, kymo_remote *remote,
                           const struct kymo_remote_frame *frame, uint64_t fp)
{
    struct kymo_frame_base entry = {
        .key = key_of(remote, frame->pc), .distance = fp - frame->sp, .source = BY_ANSWER};
    struct kymo_frame_base *known = find_entry(b, entry.key);
    if (fp < frame->sp || entry.distance > FRAME_MAX)
        return;
    if (!known)
        add_entry(b, &entry);
    else if (known->source == BY_ANSWER && known->distance != entry.distance)
        known->source = BY_VARIES;
    else if (known->source != BY_VARIES)
        *known = entry;
}
