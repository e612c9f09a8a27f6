/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer/definition.h"

#include <string.h>

#define HEAD_WORDS (sizeof(struct kymo_definition) / sizeof(uint64_t))

struct kymo_definition_reader kymo_definition_reader_of(const struct kymo_definition *definition)
{
    return (struct kymo_definition_reader){
        .at = (const uint64_t *)(const void *)definition + HEAD_WORDS,
        .left = definition->size_bytes / (uint32_t)sizeof(uint64_t) - (uint32_t)HEAD_WORDS,
    };
}

uint64_t kymo_definition_read_word(struct kymo_definition_reader *r)
{
    if (r->left == 0) {
        r->failed = 1;
        return 0;
    }
    r->left--;
    return *r->at++;
}

const char *kymo_definition_read_text(struct kymo_definition_reader *r, uint32_t *len)
{
    uint64_t bytes = kymo_definition_read_word(r);
    uint32_t words = (uint32_t)((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    const char *text = (const char *)(const void *)r->at;
    *len = 0;
    if (bytes > KYMO_DEFINITION_TEXT_MAX || words > r->left) {
        r->failed = 1;
        r->left = 0;
        return "";
    }
    r->at += words;
    r->left -= words;
    *len = (uint32_t)bytes;
    return text;
}

/* Returns the word, or the length of the text. */
static uint64_t skip(struct kymo_definition_reader *r, char what)
{
    uint32_t len;
    if (what == 'w')
        return kymo_definition_read_word(r);
    (void)kymo_definition_read_text(r, &len);
    return len;
}

int kymo_definition_is_whole(const struct kymo_definition *definition)
{
    static const char *const shapes[KYMO_DEFINE_KINDS] = {NULL,
#define X(name, shape) shape,
                                                          KYMO_DEFINITIONS(X)
#undef X
    };
    struct kymo_definition_reader r = kymo_definition_reader_of(definition);
    uint64_t last = 0;
    if (definition->kind == KYMO_DEFINE_NONE || definition->kind >= KYMO_DEFINE_KINDS)
        return 0;
    for (const char *at = shapes[definition->kind]; *at && !r.failed; at++) {
        if (*at != '(') {
            last = skip(&r, *at);
            continue;
        }
        const char *end = strchr(at, ')');
        if (last > KYMO_DEFINITION_FIELDS_MAX)
            return 0;
        for (; last > 0; last--)
            for (const char *part = at + 1; part < end; part++)
                (void)skip(&r, *part);
        at = end + 1; /* on the '*' */
    }
    return !r.failed && r.left == 0;
}
