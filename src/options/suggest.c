/* SPDX-License-Identifier: Apache-2.0 */
#include "options/options.h"

#include <stdint.h>
#include <string.h>

/* Longer words are not suggested for; option and command names are far below. */
enum { LONGEST = 31 };

/* Edits that turn a into b: insert, delete, replace, and swap of two neighbours, which is the most
 * common slip of fingers. One table of (LONGEST + 1)^2 bytes, on the stack. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    uint8_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= a_len; i++)
        d[i][0] = (uint8_t)i;
    for (size_t j = 0; j <= b_len; j++)
        d[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= a_len; i++) {
        for (size_t j = 1; j <= b_len; j++) {
            unsigned replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
            unsigned drop = d[i - 1][j] + 1u;
            unsigned add = d[i][j - 1] + 1u;
            unsigned least = replace < drop ? replace : drop;
            least = add < least ? add : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                unsigned swap = d[i - 2][j - 2] + 1u;
                least = swap < least ? swap : least;
            }
            d[i][j] = (uint8_t)least;
        }
    }
    return d[a_len][b_len];
}

void kymo_suggest_start(struct kymo_suggestion *s, const char *word, size_t len)
{
    s->word = word;
    s->len = len;
    s->best = NULL;
    s->best_distance = SIZE_MAX;
}

void kymo_suggest_try(struct kymo_suggestion *s, const char *known)
{
    size_t known_len = strlen(known);
    if (s->len == 0 || s->len > LONGEST || known_len > LONGEST)
        return;
    /* One slip in three letters is a slip; more is another word. A prefix of at least two letters
     * counts as the word, shortened by its writer. */
    size_t allowed = (known_len < s->len ? s->len : known_len) / 3;
    size_t found = distance(s->word, s->len, known, known_len);
    if (found > allowed && s->len >= 2 && s->len < known_len && memcmp(known, s->word, s->len) == 0)
        found = allowed;
    if (found <= allowed && found < s->best_distance) {
        s->best = known;
        s->best_distance = found;
    }
}

const char *kymo_suggest_best(const struct kymo_suggestion *s)
{
    return s->best;
}
