/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collapsed_diff.c - two profiles as collapsed stacks: "process;thread;...;innermost BEFORE AFTER".
 *
 * Scripts that draw differential flame graphs read this. The tree of names is that of the flame
 * graph, which merges both profiles by what they show, here with all of its nodes.
 */
#include <string.h>

#include "base/decimal.h"
#include "encode/collapsed/collapsed.h"
#include "encode/svg/svg_tree.h"

struct diff {
    kymo_sink *sink;
    const struct kymo_svg_tree *t;
    KYMO_VEC(const char *) path; /* innermost first */
    kymo_bytes out;
};

/* Returns the root that the node is below. */
static kymo_err find_path(struct diff *d, size_t node, uint32_t *root)
{
    int32_t at = (int32_t)node;
    d->path.len = 0;
    for (; at >= 0; at = d->t->nodes.data[at].parent)
        KYMO_TRY(kymo_vec_push(&d->path, d->t->names.data[d->t->nodes.data[at].name].text));
    *root = (uint32_t)(-1 - at);
    return KYMO_OK;
}

static kymo_err put_part(struct diff *d, const char *name)
{
    KYMO_TRY(kymo_collapsed_put_name(&d->out, name, strlen(name)));
    return kymo_bytes_append(&d->out, ";", 1);
}

static kymo_err put_line(struct diff *d, size_t number)
{
    const struct kymo_svg_node *node = &d->t->nodes.data[number];
    char weights[2 * KYMO_DECIMAL_MAX + 4] = " ";
    uint32_t root;
    KYMO_TRY(find_path(d, number, &root));
    KYMO_TRY(put_part(d, d->t->roots.data[root].process));
    KYMO_TRY(put_part(d, d->t->roots.data[root].thread));
    for (size_t i = d->path.len; i-- > 0;)
        KYMO_TRY(put_part(d, d->path.data[i]));
    d->out.len--; /* the last separator */
    char *end = kymo_decimal_u64(weights + 1, node->self[1]);
    *end++ = ' ';
    end = kymo_decimal_u64(end, node->self[0]);
    *end++ = '\n';
    return kymo_bytes_append(&d->out, weights, (size_t)(end - weights));
}

static kymo_err put_lines(struct diff *d)
{
    for (size_t i = 0; i < d->t->nodes.len; i++) {
        const uint64_t *self = d->t->nodes.data[i].self;
        if (self[0] == 0 && self[1] == 0)
            continue;
        KYMO_TRY(put_line(d, i));
        KYMO_TRY(kymo_sink_write(d->sink, d->out.data, d->out.len));
        kymo_bytes_clear(&d->out);
    }
    return KYMO_OK;
}

kymo_err kymo_collapsed_write_diff(kymo_encoder *encoder)
{
    struct kymo_svg_tree tree;
    struct diff d = {.sink = encoder->sink, .t = &tree};
    kymo_bytes_init(&d.out, SIZE_MAX);
    kymo_svg_tree_init(&tree);
    encoder->total = encoder->profile->sample_count;
    kymo_err err = kymo_svg_tree_add_both(&tree, encoder);
    if (err == KYMO_OK)
        err = put_lines(&d);
    kymo_vec_deinit(&d.path);
    kymo_bytes_deinit(&d.out);
    kymo_svg_tree_deinit(&tree);
    return err;
}
