/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pull_page.h"

#include <string.h>

#include "arch/cpu.h"
#include "base/atomic.h"

/* An agent that was killed while it wrote leaves an odd turn. */
#define TRIES 1000

void kymo_pull_page_write(struct kymo_pull_page *page, const struct kymo_pull_figures *figures)
{
    const uint32_t turn = kymo_load_relaxed(&page->turn);
    kymo_store_relaxed(&page->turn, turn + 1);
    kymo_fence_release(); /* pairs with the reader's fence */
    page->figures = *figures;
    kymo_store_release(&page->turn, turn + 2); /* pairs with the reader's first load */
}

void kymo_pull_page_read(const struct kymo_pull_page *page, struct kymo_pull_figures *figures)
{
    for (int i = 0; i < TRIES; i++) {
        const uint32_t turn = kymo_load_acquire(&page->turn);
        memcpy(figures, &page->figures, sizeof *figures);
        kymo_fence_acquire();
        if (turn % 2 == 0 && kymo_load_relaxed(&page->turn) == turn)
            break;
        kymo_cpu_relax();
    }
    figures->reason[sizeof figures->reason - 1] = '\0';
}
