/* SPDX-License-Identifier: Apache-2.0 */
#include "views/stack_name.h"

#include <string.h>

#define CUT "..."

void kymo_stack_path_init(struct kymo_stack_path *path, const kymo_report *report)
{
    size_t n;
    *path = (struct kymo_stack_path){.rows = kymo_report_rows(report, &n)};
}

void kymo_stack_path_deinit(struct kymo_stack_path *path)
{
    kymo_vec_deinit(&path->names);
}

kymo_err kymo_stack_path_enter(struct kymo_stack_path *path, const kymo_report_node *node)
{
    path->names.len = node->depth;
    return kymo_vec_push(&path->names, path->rows[node->row].name);
}

/* The names that fit, with a separator each; *first: the outermost of them. */
static size_t measure(const struct kymo_stack_path *path, size_t *first)
{
    size_t len = 0;
    size_t i = path->names.len;
    for (; i > 0; i--) {
        size_t more = strlen(path->names.data[i - 1]) + 1;
        if (len > 0 && len + more + sizeof CUT > KYMO_STACK_NAME_MAX)
            break;
        len += more;
    }
    *first = i;
    return len + (i > 0 ? sizeof CUT : 0);
}

static char *put(char *to, const char *text)
{
    size_t len = strlen(text);
    memcpy(to, text, len);
    to[len] = ';';
    return to + len + 1;
}

const char *kymo_stack_path_name(const struct kymo_stack_path *path, kymo_arena *arena)
{
    size_t first;
    size_t len = measure(path, &first);
    char *text = kymo_arena_alloc(arena, len, 1);
    if (!text)
        return NULL;
    char *to = first > 0 ? put(text, CUT) : text;
    for (size_t i = first; i < path->names.len; i++)
        to = put(to, path->names.data[i]);
    to[-1] = '\0';
    return text;
}
