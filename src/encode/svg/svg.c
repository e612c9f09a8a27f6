/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - a flame graph in one SVG file for any browser, without external resources.
 *
 * The file holds the call trees as JSON and the script that draws them (flame.js). The JSON:
 *   title    the type of the weights, and the program
 *   unit     "ns" or "bytes", of all weights
 *   least    nodes of a smaller weight have no row
 *   modules  names; the first is "", for code outside files
 *   names    [text, index of the module]
 *   roots    [process, thread], one for each tree: threads of the same name in processes of the
 *            same name share a tree
 *   parent, name, self (and before)   columns, a row for each node, parents first. parent is the
 *            parent's row, or -1 - i for an outermost node of root i; self the weight of the node
 *            without children; before the same of the recording that this one is compared with
 *
 * The file stays small: nodes with less than some part of the whole (the text says which) are
 * merged into one row below their caller, and so are nodes that are too deep (svg_tree.c).
 *
 * Names come from the program and may be hostile. They are only in the JSON, where '<', '>', '&'
 * and characters that XML does not allow are \u escapes. So no name can end the element or begin
 * another. The script inserts names only as text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "encode/encoder.h"
#include "encode/encoder_heap.h"
#include "encode/json_table.h"
#include "encode/svg/flame_script.h"
#include "encode/svg/svg_tree.h"

enum { TITLE_WORDS = 8 }; /* of the command */

/* ---- JSON that is valid in XML ---- */

/* U+FFFE and U+FFFF are EF BF BE and EF BF BF, and may be split between two calls. */
struct xml_sink {
    kymo_sink sink;
    kymo_sink *to;
    size_t seen; /* bytes of such a character that were received and are held back */
};

static kymo_err put(kymo_sink *to, const char *text)
{
    return kymo_sink_write(to, text, strlen(text));
}

static const char *escape_of(const struct xml_sink *x, unsigned char c)
{
    if (x->seen == 2 && c >= 0xbe)
        return c == 0xbe ? "\\ufffe" : "\\uffff";
    return c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : NULL;
}

static kymo_err write_byte(struct xml_sink *x, unsigned char c)
{
    static const unsigned char first[] = {0xef, 0xbf};
    const char *escape = escape_of(x, c);
    size_t held = x->seen;
    if (held < 2 && c == first[held]) {
        x->seen++;
        return KYMO_OK;
    }
    x->seen = 0;
    if (held == 2 && escape && c >= 0xbe)
        return put(x->to, escape);
    if (held)
        KYMO_TRY(kymo_sink_write(x->to, first, held));
    if (c == first[0]) {
        x->seen = 1;
        return KYMO_OK;
    }
    return escape ? put(x->to, escape) : kymo_sink_write(x->to, &c, 1);
}

static int is_special(unsigned char c)
{
    return c == '<' || c == '>' || c == '&' || c == 0xef;
}

static kymo_err write_xml(kymo_sink *sink, const void *bytes, size_t len)
{
    struct xml_sink *x = (struct xml_sink *)sink;
    const unsigned char *data = bytes;
    for (size_t i = 0; i < len;) {
        size_t from = i;
        while (i < len && x->seen == 0 && !is_special(data[i]))
            i++;
        if (i > from)
            KYMO_TRY(kymo_sink_write(x->to, data + from, i - from));
        else
            KYMO_TRY(write_byte(x, data[i++]));
    }
    return KYMO_OK;
}

/* ---- the data ---- */

static const kymo_sample_type *type_of(const kymo_encoder *encoder)
{
    return &encoder->profile->sample_types[kymo_encoder_type(encoder)];
}

/* What the script shows weights in: of any other unit than these two, a number. */
static const char *unit_of(const kymo_encoder *encoder, uint32_t show)
{
    if (show != KYMO_ENCODE_TIME)
        return "bytes";
    const char *unit = type_of(encoder)->unit;
    return strcmp(unit, "nanoseconds") == 0 ? "ns" : strcmp(unit, "count") == 0 ? "" : unit;
}

/* The type of the weights in words. */
static const char *what_of(const kymo_encoder *encoder, uint32_t show)
{
    static const char *const words[KYMO_ENCODE_COUNT] = {
        [KYMO_ENCODE_ALLOC] = "bytes allocated",       [KYMO_ENCODE_LIVE] = "bytes live",
        [KYMO_ENCODE_PEAK] = "bytes live at the peak", [KYMO_ENCODE_LEAKS] = "bytes leaked",
        [KYMO_ENCODE_MAPPED] = "bytes mapped",
    };
    const kymo_sample_type *type = type_of(encoder);
    if (show < KYMO_ENCODE_COUNT && words[show])
        return words[show];
    return type->adds == KYMO_ADDS_ELAPSED    ? "elapsed time"
           : type->adds == KYMO_ADDS_CPU_TIME ? "CPU time"
                                              : type->name;
}

static void put_title(kymo_json *j, const kymo_encoder *encoder, uint32_t show)
{
    const kymo_meta *meta = &encoder->profile->meta;
    const char *what = what_of(encoder, show);
    const char *product = meta->product && *meta->product ? meta->product : "a program";
    kymo_json_key(j, "title");
    kymo_json_string_begin(j);
    kymo_json_string_part(j, what, strlen(what));
    kymo_json_string_part(j, " of", 3);
    for (uint32_t i = 0; i < meta->argc && i < TITLE_WORDS; i++) {
        kymo_json_string_part(j, " ", 1);
        kymo_json_string_part(j, meta->argv[i], strlen(meta->argv[i]));
    }
    if (meta->argc > TITLE_WORDS)
        kymo_json_string_part(j, " ...", 4);
    if (meta->argc == 0) {
        kymo_json_string_part(j, " ", 1);
        kymo_json_string_part(j, product, strlen(product));
    }
    kymo_json_string_end(j);
}

static void put_names(kymo_json *j, const struct kymo_svg_tree *t)
{
    KYMO_JSON_COLUMN(j, "modules", i, t->modules.len, kymo_json_cstr(j, t->modules.data[i]));
    kymo_json_key_array(j, "names");
    for (size_t i = 0; i < t->names.len; i++) {
        kymo_json_begin_array(j);
        kymo_json_cstr(j, t->names.data[i].text);
        kymo_json_u64(j, t->names.data[i].module);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
    kymo_json_key_array(j, "roots");
    for (size_t i = 0; i < t->roots.len; i++) {
        kymo_json_begin_array(j);
        kymo_json_cstr(j, t->roots.data[i].process);
        kymo_json_cstr(j, t->roots.data[i].thread);
        kymo_json_end_array(j);
    }
    kymo_json_end_array(j);
}

static void put_nodes(kymo_json *j, const struct kymo_svg_tree *t, int is_diff)
{
    static const char *const weights[] = {"self", "before"};
    KYMO_JSON_COLUMN(j, "parent", i, t->nodes.len, kymo_json_i64(j, t->nodes.data[i].parent));
    KYMO_JSON_COLUMN(j, "name", i, t->nodes.len, kymo_json_u64(j, t->nodes.data[i].name));
    for (int k = 0; k <= is_diff; k++) {
        KYMO_JSON_COLUMN(j, weights[k], i, t->nodes.len,
                         kymo_json_u64(j, t->nodes.data[i].self[k]));
    }
}

static kymo_err put_data(kymo_encoder *encoder, const struct kymo_svg_tree *t, uint32_t show,
                         int is_diff)
{
    struct xml_sink sink = {{write_xml}, encoder->sink, 0};
    kymo_json *j = malloc(sizeof *j);
    if (!j)
        return KYMO_E_NOMEM;
    kymo_json_init(j, &sink.sink);
    kymo_json_begin_object(j);
    put_title(j, encoder, show);
    kymo_json_key_cstr(j, "unit", unit_of(encoder, show));
    kymo_json_key_u64(j, "least", t->least);
    put_names(j, t);
    put_nodes(j, t, is_diff);
    kymo_json_end_object(j);
    kymo_err err = kymo_json_finish(j);
    free(j);
    return err;
}

/* ---- the picture around it ---- */

static const char head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"600\">\n"
    "<title>Kymo flame graph</title>\n"
    "<style>\n"
    "svg { background: white; font: 12px monospace; }\n"
    "input, select, label { font: 12px sans-serif; }\n"
    ".frame { cursor: pointer; }\n"
    ".frame text { pointer-events: none; }\n"
    ".frame:hover rect { stroke: black; }\n"
    ".above { opacity: 0.55; }\n"
    "</style>\n"
    "<text id=\"heading\" x=\"8\" y=\"18\" font-weight=\"bold\"/>\n"
    "<foreignObject x=\"4\" y=\"24\" width=\"640\" height=\"28\">\n"
    "<div xmlns=\"http://www.w3.org/1999/xhtml\">\n"
    "<input id=\"search\" placeholder=\"search (/)\" size=\"30\"/>\n"
    "<select id=\"by\"><option value=\"all\">all threads</option>"
    "<option value=\"process\">by process</option>"
    "<option value=\"thread\">by thread</option></select>\n"
    "<label><input id=\"inverted\" type=\"checkbox\"/>inverted: callers below</label>\n"
    "</div>\n"
    "</foreignObject>\n"
    "<text id=\"matched\" x=\"650\" y=\"40\"/>\n"
    "<text id=\"small\" x=\"820\" y=\"40\" fill=\"gray\"/>\n"
    "<text id=\"details\" x=\"8\" y=\"66\">click: zoom; Esc: all of it</text>\n"
    "<g id=\"legend\" transform=\"translate(0 74)\"/>\n"
    "<g id=\"frames\"/>\n"
    "<text id=\"without\" x=\"8\" y=\"120\">This flame graph is drawn by a script: open the file "
    "in a web browser.</text>\n"
    "<script id=\"data\" type=\"application/json\">";

static kymo_err write_all(kymo_encoder *encoder, struct kymo_svg_tree *tree)
{
    const kymo_encode_options *options = encoder->options;
    const kymo_profile *before = options ? options->before : NULL;
    uint32_t show = kymo_heap_shown(encoder);
    KYMO_TRY(kymo_svg_tree_add_both(tree, encoder));
    KYMO_TRY(kymo_svg_tree_prune(tree));
    KYMO_TRY(put(encoder->sink, head));
    KYMO_TRY(put_data(encoder, tree, show, before != NULL));
    KYMO_TRY(put(encoder->sink, "</script>\n<script><![CDATA[\n"));
    KYMO_TRY(kymo_sink_write(encoder->sink, kymo_flame_script, kymo_flame_script_bytes));
    return put(encoder->sink, "]]></script>\n</svg>\n");
}

kymo_err kymo_svg_write(kymo_encoder *encoder)
{
    struct kymo_svg_tree tree;
    kymo_svg_tree_init(&tree);
    encoder->total = encoder->profile->sample_count;
    kymo_err err = write_all(encoder, &tree);
    kymo_svg_tree_deinit(&tree);
    return err;
}
