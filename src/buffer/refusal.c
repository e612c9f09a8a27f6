/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/refusal.h"

#include <string.h>

#include "base/atomic.h"

void kymo_refusal_write(struct kymo_session *s, int32_t pid, enum kymo_refusal_reason reason,
                        const char *path)
{
    uint32_t number = kymo_add_relaxed(&s->refusal_count, 1u) + 1;
    struct kymo_refusal *r = &s->refusals[(number - 1) % KYMO_REFUSALS];
    size_t len = strlen(path);
    if (len > sizeof r->path - 1)
        path += len - (sizeof r->path - 1);
    kymo_store_relaxed(&r->sequence, 0u);
    kymo_fence_release(); /* a reader that sees what follows sees the 0, too */
    r->pid = pid;
    r->reason = reason;
    size_t i = 0;
    for (; i < sizeof r->path - 1 && path[i]; i++)
        r->path[i] = path[i];
    r->path[i] = '\0';
    kymo_store_release(&r->sequence, number); /* pairs with the acquire in kymo_refusal_read */
}

int kymo_refusal_read(const struct kymo_session *s, uint32_t *seen, struct kymo_refusal *out,
                      uint64_t *missed)
{
    uint32_t written = kymo_load_relaxed(&s->refusal_count);
    if (written - *seen > KYMO_REFUSALS) {
        *missed += written - *seen - KYMO_REFUSALS;
        *seen = written - KYMO_REFUSALS;
    }
    while (*seen != written) {
        const struct kymo_refusal *r = &s->refusals[*seen % KYMO_REFUSALS];
        uint32_t sequence = kymo_load_acquire(&r->sequence);
        uint32_t ahead = sequence - (*seen + 1);
        /* Its writer is not done: the next round finds it. One that died meanwhile is passed over
         * when others have come round to its place. */
        if (sequence == 0 || ahead > UINT32_MAX / 2)
            return 0;
        *out = *r;
        kymo_fence_acquire();
        int whole = ahead == 0 && kymo_load_relaxed(&r->sequence) == sequence &&
                    out->reason < KYMO_REFUSAL_REASONS && out->pid > 0;
        ++*seen;
        if (whole) {
            out->path[sizeof out->path - 1] = '\0';
            return 1;
        }
        ++*missed;
    }
    return 0;
}
