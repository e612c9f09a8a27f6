/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mistakes.c - what must not compile, with KYMO_DISABLE as without it. check_header compiles it
 * as it is, which must go well, and with each MISTAKE_name defined: an error has to lie there.
 * No two have a name in common, since most are compiled together.
 */
#include "kymo/marker.h"

#include <stddef.h>

KYMO_CATEGORY(net, "Network", BLUE);
#define REQUEST(F)                          \
    F(u16, status, "Status", INTEGER, 0)    \
    F(str, url, "URL", URL, 0)              \
    F(literal, method, "Method", STRING, 0) \
    F(text, body, "Body", STRING, 0)        \
    F(opt_u64, bytes, "Size", BYTES, 0)
KYMO_TYPE(request, "Request", REQUEST, KYMO_ALL_LABELS(request, "", url));
KYMO_COUNTER(sent, net, "Sent", TOTAL, "bytes", BLUE);

#ifdef MISTAKE_label_of_unknown_key
KYMO_TYPE(unknown_key, "Request", REQUEST, KYMO_ALL_LABELS(unknown_key, "", method, " ", uri));
#endif
#ifdef MISTAKE_colour_of_unknown_key
KYMO_PAYLOAD(colourless, REQUEST);
KYMO_TYPE_OF(colourless, "Request", .color_key = KYMO_KEY(colourless, colour));
#endif
#ifdef MISTAKE_graph_of_unknown_key
KYMO_PAYLOAD(graphless, REQUEST);
static const struct kymo_mark_graph graphs[] = {KYMO_GRAPH(graphless, speed, LINE, RED),
                                                KYMO_GRAPH_END};
KYMO_TYPE_OF(graphless, "Request", .graphs = graphs);
#endif
#ifdef MISTAKE_label_that_is_no_literal
static const char *const some_text = "text";
KYMO_TYPE(no_literal, "Request", REQUEST, KYMO_ALL_LABELS(no_literal, some_text, url));
#endif
#ifdef MISTAKE_unknown_kind
#define UNKNOWN_KIND(F) F(u24, status, "Status", INTEGER, 0)
KYMO_TYPE(unknown_kind, "Unknown", UNKNOWN_KIND, .show = 0);
#endif
#ifdef MISTAKE_unknown_format
#define UNKNOWN_FORMAT(F) F(u32, status, "Status", ROMAN, 0)
KYMO_TYPE(unknown_format, "Unknown", UNKNOWN_FORMAT, .show = 0);
#endif
#ifdef MISTAKE_unknown_member_of_type
KYMO_TYPE(unknown_member, "Unknown", REQUEST, .shown = 0);
#endif
#ifdef MISTAKE_unknown_colour
KYMO_CATEGORY(beige, "Beige", BEIGE);
#endif
#ifdef MISTAKE_category_named_at_run_time
extern const char *name_of_category;
KYMO_CATEGORY(named, name_of_category, BLUE);
#endif
#ifdef MISTAKE_unknown_parent
KYMO_SUBCATEGORY(orphan, missing, "Orphan");
#endif
#ifdef MISTAKE_unknown_kind_of_counter
KYMO_COUNTER(strange, net, "Strange", AVERAGE, NULL, BLUE);
#endif

int use(const char *name, int n, const int *pointer);
int use(const char *name, int n, const int *pointer)
{
    KYMO_SCOPE_T(net, "scope", request, r);
    r.status = 200;
    KYMO_MARKER_T(net, "fine", request, .status = 200, .url = name);
    KYMO_MARKER_FMT(net, "fine", "%d of %s", n, name);
    KYMO_COUNT(sent, n);
#ifdef MISTAKE_name_at_run_time
    KYMO_MARKER(net, name);
#endif
#ifdef MISTAKE_unknown_category
    KYMO_MARKER(disk, "read");
#endif
#ifdef MISTAKE_unknown_type
    KYMO_MARKER_T(net, "request", response, .status = 200);
#endif
#ifdef MISTAKE_unknown_field
    KYMO_MARKER_T(net, "request", request, .stat = 200);
#endif
#ifdef MISTAKE_number_in_a_text_field
    KYMO_MARKER_T(net, "request", request, .url = 200);
#endif
#ifdef MISTAKE_text_in_a_number_field
    KYMO_MARKER_T(net, "request", request, .status = name);
#endif
#ifdef MISTAKE_text_in_a_literal_field
    KYMO_MARKER_T(net, "request", request, .method = name);
#endif
#ifdef MISTAKE_text_without_its_length
    KYMO_MARKER_T(net, "request", request, .body = name);
#endif
#ifdef MISTAKE_number_that_may_be_absent
    KYMO_MARKER_T(net, "request", request, .bytes = 5);
#endif
#ifdef MISTAKE_literal_at_run_time
    KYMO_MARKER_T(net, "request", request, .method = KYMO_LITERAL(name));
#endif
#ifdef MISTAKE_unknown_field_of_a_scope
    r.stat = 200;
#endif
#ifdef MISTAKE_argument_of_another_type
    KYMO_MARKER_FMT(net, "text", "%s", n);
#endif
#ifdef MISTAKE_missing_argument
    KYMO_MARKER_FMT(net, "text", "%d %d", n);
#endif
#ifdef MISTAKE_format_at_run_time
    KYMO_MARKER_FMT(net, "text", name, n);
#endif
#ifdef MISTAKE_too_many_values
    KYMO_MARKER_VALUES(net, "many", n, n, n, n, n, n, n, n, n, n, n, n, n, n);
#endif
#ifdef MISTAKE_text_that_is_a_number
    KYMO_MARKER_TEXT(net, "text", n);
#endif
#ifdef MISTAKE_unknown_option
    KYMO_MARKER_OPT(net, "text", KYMO_OPTIONS(.stak = KYMO_STACK_HERE));
#endif
#ifdef MISTAKE_options_that_are_a_number
    KYMO_SCOPE_OPT(net, "text", n);
#endif
#ifdef MISTAKE_count_of_a_pointer
    KYMO_COUNT(sent, pointer);
#endif
#ifdef MISTAKE_count_that_would_be_cut
    KYMO_COUNT(sent, n * 0.5);
#endif
#ifdef MISTAKE_unknown_counter
    KYMO_COUNT(received, n);
#endif
#ifdef MISTAKE_label_key_at_run_time
    KYMO_LABEL_SCOPE(name, n);
#endif
#ifdef MISTAKE_value_of_a_structure
    KYMO_LABEL_SET("key", r);
#endif
#ifdef MISTAKE_goto_past_a_scope
    if (n == 5)
        goto past;
    KYMO_SCOPE(net, "passed");
past:
    n++;
#endif
#ifdef MISTAKE_case_past_a_typed_scope
    switch (n) {
    case 1:
        n++;
        KYMO_SCOPE_T(net, "passed", request, passed);
    case 2:
        n++;
    }
#endif
#ifdef MISTAKE_goto_past_a_label
    if (n == 5)
        goto behind;
    KYMO_LABEL_SCOPE("key", n);
behind:
    n++;
#endif
    return pointer != NULL;
}
