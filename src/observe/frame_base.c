/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_base.c - see wall_find.h.
 *
 * Compilers begin such a function with push %rbp; mov %rsp,%rbp; a push for each register that it
 * saves, which the unwind information says; and sub $N,%rsp. Other instructions lie between them,
 * so these are looked for and the rest is not read: a wrong reading leads to no call of the
 * function.
 */
#include "observe/wall_find.h"

#include <string.h>

#include "unwind/row.h"

#define CODE_MAX 96u
#define ENTRIES_MAX 65536u
#define CALL_MAX 8u    /* bytes before a return address */
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

/* Where these three bytes begin, from at on; size if they do not. */
static size_t find_bytes(const unsigned char *code, size_t size, size_t at, const char *three)
{
    while (at + 3 <= size && memcmp(code + at, three, 3) != 0)
        at++;
    return at + 3 <= size ? at : size;
}

int kymo_frame_base_parse(const unsigned char *code, size_t size, uint32_t saved,
                          uint64_t *distance)
{
    size_t set = find_bytes(code, size, 0, "\x48\x89\xe5"); /* mov %rsp,%rbp */
    size_t other = find_bytes(code, size, 0, "\x48\x8b\xec");
    set = set < other ? set : other;
    if (set == size || !memchr(code, 0x55, set)) /* push %rbp */
        return 0;
    set += 3;
    size_t byte = find_bytes(code, size, set, "\x48\x83\xec"); /* sub $N,%rsp */
    size_t word = find_bytes(code, size, set, "\x48\x81\xec");
    size_t less = find_bytes(code, size, set, "\x48\x83\xc4"); /* add $-128,%rsp */
    *distance = 8ull * saved;
    if (byte < word && byte < less && byte + 3 < size) {
        *distance += code[byte + 3];
    } else if (word < less && word + 7 <= size) {
        uint32_t n;
        memcpy(&n, code + word + 3, sizeof n);
        *distance += n;
    } else if (less + 3 < size) {
        *distance += (uint64_t) - (int64_t)(int8_t)code[less + 3];
    }
    return *distance <= FRAME_MAX;
}

static int distance_by_code(kymo_remote *remote, uint64_t pc, uint64_t begin, uint64_t row,
                            uint64_t *distance)
{
    unsigned char code[CODE_MAX];
    uint32_t saved = 0;
    for (unsigned slot = KYMO_SLOT_RBX; slot <= KYMO_SLOT_R15; slot++)
        saved += kymo_row_save(row, slot) != 0;
    size_t size = pc - begin < sizeof code ? (size_t)(pc - begin) : sizeof code;
    return kymo_remote_read(remote, begin, code, size) == size &&
           kymo_frame_base_parse(code, size, saved, distance);
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
    unsigned char code[16];
    int32_t distance;
    size_t at = 0;
    if (kymo_remote_read(remote, stub, code, sizeof code) != sizeof code)
        return 0;
    at += memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0; /* endbr64 */
    at += code[at] == 0xf2;                                 /* bnd */
    if (code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    memcpy(&distance, code + at + 2, sizeof distance);
    return reads_as(remote, stub + at + 6 + (uint64_t)(int64_t)distance, function);
}

/* What the instruction before a return address says of what it called. */
enum called { OTHER, SOME, UNTOLD, FUNCTION };

static enum called what_is_called(kymo_remote *remote, uint64_t return_address, uint64_t function)
{
    unsigned char code[CALL_MAX];
    int32_t distance;
    if (!kymo_remote_module_at(remote, return_address) ||
        kymo_remote_read(remote, return_address - CALL_MAX, code, CALL_MAX) != CALL_MAX)
        return OTHER;
    memcpy(&distance, code + 4, sizeof distance);
    uint64_t target = return_address + (uint64_t)(int64_t)distance;
    if (code[3] == 0xe8)
        return target == function || is_stub_of(remote, target, function) ? FUNCTION : SOME;
    if (code[2] == 0xff && code[3] == 0x15 && reads_as(remote, target, function))
        return FUNCTION;
    /* By a pointer: ff /2, of two to seven bytes. */
    static const uint8_t first[] = {6, 5, 4, 2, 1};
    for (size_t i = 0; i < sizeof first; i++)
        if (code[first[i]] == 0xff && (code[first[i] + 1] & 0x38) == 0x10)
            return UNTOLD;
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
                          const struct kymo_remote_frame *frame, uint64_t *rbp)
{
    uint64_t row, begin, return_address;
    uint64_t above = 0;
    if (!kymo_remote_row(remote, frame->pc, &row, &begin) ||
        kymo_row_kind(row) != KYMO_ROW_KIND_RBP || kymo_row_saves_below_rbp(row))
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
    *rbp = frame->sp + entry.distance;
    uint64_t slot = *rbp + kymo_row_offset(row) - 8;
    if (entry.source == BY_ANSWER)
        /* What was called may have jumped on to the function; only a thread could tell. */
        return kymo_remote_read(remote, slot, &return_address, 8) == 8 &&
               what_is_called(remote, return_address, begin) != OTHER;
    int is_found = find_above(remote, slot, begin, &above);
    *rbp += above;
    return is_found;
}

void kymo_frame_base_learn(struct kymo_frame_bases *b, kymo_remote *remote,
                           const struct kymo_remote_frame *frame, uint64_t rbp)
{
    struct kymo_frame_base entry = {
        .key = key_of(remote, frame->pc), .distance = rbp - frame->sp, .source = BY_ANSWER};
    struct kymo_frame_base *known = find_entry(b, entry.key);
    if (rbp < frame->sp || entry.distance > FRAME_MAX)
        return;
    if (!known)
        add_entry(b, &entry);
    else if (known->source == BY_ANSWER && known->distance != entry.distance)
        known->source = BY_VARIES;
    else if (known->source != BY_VARIES)
        *known = entry;
}
