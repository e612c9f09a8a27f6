/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker_payload.h - types of markers, the values that go into them, and the scopes that wait for
 * them.
 *
 * Flow:     marker.h -> [types, payloads, cells] -> what its macros hand to the library
 * Threads:  any
 * Memory:   a type is constant and static; a payload is a structure in the frame of its marker
 * Signals:  everything here may stand in a handler
 *
 * Included by marker.h, for which it is made.
 *
 * A payload is handed over as the bytes of a C structure, and lands in a file as such. So that
 * nothing of the stack gets there with it, structures are made of whole words, and what lies
 * between and behind the fields is zero: types that have such holes are copied field by field into
 * zeroed memory first. The compiler knows which, and the others cost nothing.
 */
#ifndef KYMO_MARKER_PAYLOAD_H
#define KYMO_MARKER_PAYLOAD_H

#include "kymo/marker_args.h"
#include "kymo/marker_link.h"

/* ---- types ---- */

#define KYMO_X_(name, NAME, type, size, alignment) \
    typedef type KYMO_C_##name;                    \
    enum { KYMO_K_##name = KYMO_KIND_##NAME };
KYMO_MARK_KINDS(KYMO_X_)
#undef KYMO_X_

/* KYMO_TYPE(T, "Name", FIELDS, ...): at file scope; declares struct T, whose members are the
 * fields, and the type. FIELDS is a macro of one argument that it uses on each field:
 *
 *     F(kind, key, label, format, flags)
 *
 * kind: the first word of a row of KYMO_MARK_KINDS; key: an identifier; label: a literal, or NULL
 * for the key; format: of KYMO_MARK_FORMATS; flags: enum kymo_mark_field_flags. What follows FIELDS
 * are members of struct kymo_mark_type in their order (.show, .chart, .tooltip, .table,
 * .description, .rows, .graphs, .color_key, .is_stack_based, .max_per_second).
 *
 * Types with graphs need struct T before: KYMO_PAYLOAD(T, FIELDS) declares that, and
 * KYMO_TYPE_OF(T, "Name", ...) the type. KYMO_TYPE_PLAIN takes the same values without their names.
 */
#define KYMO_TYPE(T, label, ...)               \
    KYMO_PAYLOAD(T, KYMO_FIRST_(__VA_ARGS__)); \
    KYMO_TYPE_OF_(T, label, KYMO_REST_(__VA_ARGS__))

#define KYMO_PAYLOAD(T, FIELDS)                                                                \
    __extension__ struct T {                                                                   \
        FIELDS(KYMO_MEMBER_)                                                                   \
    } __attribute__((aligned(8)));                                                             \
    typedef struct T kymo_payload_##T;                                                         \
    enum {                                                                                     \
        kymo_field_count_##T = 0 FIELDS(KYMO_PLUS_ONE_),                                       \
        kymo_payload_bytes_##T = kymo_field_count_##T ? sizeof(struct T) : 0,                  \
        kymo_has_holes_##T = kymo_payload_bytes_##T != 0 FIELDS(KYMO_PLUS_SIZE_)               \
    };                                                                                         \
    KYMO_INLINE_ const void *kymo_clean_##T(struct T *to, const struct T *from)                \
    {                                                                                          \
        if (!kymo_has_holes_##T)                                                               \
            return from;                                                                       \
        __builtin_memset(to, 0, sizeof *to);                                                   \
        FIELDS(KYMO_COPY_)                                                                     \
        return to;                                                                             \
    }                                                                                          \
    /* Before the scope's own end, while the payload is there. */                              \
    KYMO_INLINE_ void kymo_scope_end_of_##T(struct kymo_mark_scope *const *scope)              \
    {                                                                                          \
        struct T kymo_clean_;                                                                  \
        if (__builtin_expect(*scope != NULL, 0)) {                                             \
            (*scope)->payload =                                                                \
                kymo_clean_##T(&kymo_clean_, KYMO_CAST_(const struct T *, (*scope)->payload)); \
            KYMO_MARK_LINK_->scope_end(*scope);                                                \
        }                                                                                      \
    }                                                                                          \
    KYMO_CONSTANT_(                                                                            \
        struct kymo_mark_field, kymo_fields_##T, [],                                           \
        FIELDS(KYMO_FIELD_) { NULL, NULL, 0, 0, 0, 0 })

#define KYMO_TYPE_OF(T, ...) KYMO_TYPE_OF_(T, KYMO_FIRST_(__VA_ARGS__), KYMO_REST_(__VA_ARGS__))
#define KYMO_TYPE_OF_(T, label, ...)                                                              \
    KYMO_CONSTANT_(struct kymo_mark_type, kymo_type_##T, , .size = sizeof(struct kymo_mark_type), \
                   .line = __LINE__, .file = __FILE__, .name = "" label "",                       \
                   .fields = kymo_fields_##T, .field_count = kymo_field_count_##T,                \
                   .field_bytes = sizeof(struct kymo_mark_field),                                 \
                   .payload_bytes = kymo_payload_bytes_##T, __VA_ARGS__)

#define KYMO_TYPE_PLAIN(T, label, FIELDS, show, chart, tooltip, table, description, rows, graphs, \
                        color_key, is_stack_based, max_per_second)                                \
    KYMO_PAYLOAD(T, FIELDS);                                                                      \
    KYMO_CONSTANT_(struct kymo_mark_type, kymo_type_##T, , sizeof(struct kymo_mark_type),         \
                   __LINE__, __FILE__, "" label "", kymo_fields_##T, kymo_field_count_##T,        \
                   sizeof(struct kymo_mark_field), kymo_payload_bytes_##T, show, chart, tooltip,  \
                   table, description, rows, graphs, color_key, is_stack_based, max_per_second)

/* The kind is pasted without being expanded: stdbool.h has a macro bool. */
#define KYMO_MEMBER_(kind, key, label, format, flags) KYMO_C_##kind key;
#define KYMO_PLUS_ONE_(kind, key, label, format, flags) +1
#define KYMO_PLUS_SIZE_(kind, key, label, format, flags) +sizeof(KYMO_C_##kind)
#define KYMO_COPY_(kind, key, label, format, flags) to->key = from->key;
#define KYMO_FIELD_(kind, key, label, format, flags)                                              \
    {#key,  label, KYMO_CAST_(uint8_t, KYMO_K_##kind), KYMO_CAST_(uint8_t, KYMO_FORMAT_##format), \
     flags, 0},

/* The payload of a marker: what is handed over, by way of kymo_clean_ where it has holes. */
#ifdef __cplusplus
#define KYMO_PAYLOAD_AT_(T, ...) \
    kymo_clean_##T(&kymo_clean_, kymo_at_(kymo_payload_##T{__VA_ARGS__}))
#else
#define KYMO_PAYLOAD_AT_(T, ...) \
    kymo_clean_##T(&kymo_clean_, __extension__ &(const struct T){__VA_ARGS__})
#endif
/* Around its marker. Fields that are left out are zero, which the compiler need not mind; but a
 * lone pointer or number for a field that is a structure, a text without a length, would be its
 * first member. */
#define KYMO_STRICTLY_(...)                                                               \
    _Pragma("GCC diagnostic push")                                                        \
        KYMO_MAY_NAME_ _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"") \
            _Pragma("GCC diagnostic error \"-Wmissing-braces\"") __VA_ARGS__;             \
    _Pragma("GCC diagnostic pop")

/* Texts of a type that show fields, for .chart, .tooltip and .table: KYMO_SHOWN_AS(T, "text", key,
 * "text", key, "text") is "text{marker.data.key}text...", of up to 6 keys. A key that T does not
 * have does not compile. */
#define KYMO_SHOWN_AS(T, ...)                                                     \
    (KYMO_PASTE_(KYMO_KEYS_, KYMO_NUMBER_(__VA_ARGS__))(T, __VA_ARGS__)           \
         ? "" KYMO_PASTE_(KYMO_SHOWN_, KYMO_NUMBER_(__VA_ARGS__))(__VA_ARGS__) "" \
         : "")
/* One text for all three of them. */
#define KYMO_ALL_LABELS(T, ...)                                                       \
    .chart = KYMO_SHOWN_AS(T, __VA_ARGS__), .tooltip = KYMO_SHOWN_AS(T, __VA_ARGS__), \
    .table = KYMO_SHOWN_AS(T, __VA_ARGS__)
/* A key by itself, for .color_key and graphs. */
#define KYMO_KEY(T, key) (KYMO_HAS_(T, key) ? #key : "")
#define KYMO_GRAPH(T, key, kind_name, color_name)                         \
    {                                                                     \
        KYMO_KEY(T, key), KYMO_GRAPH_##kind_name, KYMO_COLOR_##color_name \
    }
#define KYMO_GRAPH_END \
    {                  \
        NULL, 0, 0     \
    }

#define KYMO_HAS_(T, key) (sizeof(KYMO_CAST_(struct T *, NULL)->key) != 0)
#define KYMO_KEYS_1(T, t) 1
#define KYMO_KEYS_2(T, t, k) KYMO_HAS_(T, k)
#define KYMO_KEYS_3(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_1(T, __VA_ARGS__)
#define KYMO_KEYS_4(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_2(T, __VA_ARGS__)
#define KYMO_KEYS_5(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_3(T, __VA_ARGS__)
#define KYMO_KEYS_6(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_4(T, __VA_ARGS__)
#define KYMO_KEYS_7(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_5(T, __VA_ARGS__)
#define KYMO_KEYS_8(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_6(T, __VA_ARGS__)
#define KYMO_KEYS_9(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_7(T, __VA_ARGS__)
#define KYMO_KEYS_10(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_8(T, __VA_ARGS__)
#define KYMO_KEYS_11(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_9(T, __VA_ARGS__)
#define KYMO_KEYS_12(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_10(T, __VA_ARGS__)
#define KYMO_KEYS_13(T, t, k, ...) KYMO_HAS_(T, k) && KYMO_KEYS_11(T, __VA_ARGS__)
#define KYMO_SHOWN_1(t) t
#define KYMO_SHOWN_2(t, k) t "{marker.data." #k "}"
#define KYMO_SHOWN_3(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_1(__VA_ARGS__)
#define KYMO_SHOWN_4(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_2(__VA_ARGS__)
#define KYMO_SHOWN_5(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_3(__VA_ARGS__)
#define KYMO_SHOWN_6(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_4(__VA_ARGS__)
#define KYMO_SHOWN_7(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_5(__VA_ARGS__)
#define KYMO_SHOWN_8(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_6(__VA_ARGS__)
#define KYMO_SHOWN_9(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_7(__VA_ARGS__)
#define KYMO_SHOWN_10(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_8(__VA_ARGS__)
#define KYMO_SHOWN_11(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_9(__VA_ARGS__)
#define KYMO_SHOWN_12(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_10(__VA_ARGS__)
#define KYMO_SHOWN_13(t, k, ...) t "{marker.data." #k "}" KYMO_SHOWN_11(__VA_ARGS__)

/* ---- values of fields ---- */

/* A literal for a field of kind literal: it is copied once, not in each marker. */
#define KYMO_LITERAL(text) KYMO_LITERAL_("" text "")
#ifdef __cplusplus
#define KYMO_LITERAL_(text_) (kymo_literal_of_(text_))
KYMO_INLINE_ struct kymo_mark_literal kymo_literal_of_(const char *text)
{
    struct kymo_mark_literal literal = KYMO_ZERO_;
    literal.text = text;
    return literal;
}
/* The same as an initializer, for tables of them: the first member of the union, by any name. */
#define KYMO_LITERAL_INIT(text_)                                            \
    {                                                                       \
        {                                                                   \
            reinterpret_cast<const struct kymo_mark_no_text *>("" text_ "") \
        }                                                                   \
    }
/* Text of so many bytes, or units, for fields of kinds text and utf16, and wherever markers take
 * text. */
#define KYMO_TEXT(data_, len_) (kymo_mark_text{data_, len_})
#define KYMO_UTF16(data_, len_) (kymo_mark_utf16{data_, len_})
/* Cells for fields of kind cells: an array of KYMO_CELL(value), and how many. */
#define KYMO_CELLS(data_, count_) (kymo_mark_cells{data_, count_})
/* A number that is there, for fields of kinds opt_*. */
#define KYMO_SOME_I64(value_) (kymo_mark_opt_i64{value_, 1})
#define KYMO_SOME_U64(value_) (kymo_mark_opt_u64{value_, 1})
#define KYMO_SOME_F64(value_) (kymo_mark_opt_f64{value_, 1})
#else
#define KYMO_LITERAL_(text_) ((struct kymo_mark_literal){{.text = text_}})
#define KYMO_LITERAL_INIT(text_) \
    {                            \
        {                        \
            .text = "" text_ ""  \
        }                        \
    }
#define KYMO_TEXT(data_, len_) ((struct kymo_mark_text){data_, len_})
#define KYMO_UTF16(data_, len_) ((struct kymo_mark_utf16){data_, len_})
#define KYMO_CELLS(data_, count_) ((struct kymo_mark_cells){data_, count_})
#define KYMO_SOME_I64(value_) ((struct kymo_mark_opt_i64){value_, 1})
#define KYMO_SOME_U64(value_) ((struct kymo_mark_opt_u64){value_, 1})
#define KYMO_SOME_F64(value_) ((struct kymo_mark_opt_f64){value_, 1})
#endif
/* Cells of 1 to 13 values, for the marker that this stands in. */
#define KYMO_LIST(...)                                                                        \
    KYMO_CELLS(KYMO_CELLS_AT_(KYMO_NUMBER_(__VA_ARGS__), KYMO_EACH_(KYMO_CELL, __VA_ARGS__)), \
               KYMO_NUMBER_(__VA_ARGS__))
/* The same number where a field is given its first value, of any of the three kinds. */
#define KYMO_SOME(value_) \
    {                     \
        value_, 1         \
    }

/* ---- values that carry their kind ---- */

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_i64_(int64_t value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_I64;
    cell.as.i64 = value;
    return cell;
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_u64_(uint64_t value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_U64;
    cell.as.u64 = value;
    return cell;
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_f64_(double value)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_F64;
    cell.as.f64 = value;
    return cell;
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_f32_(float value)
{
    return kymo_cell_f64_(KYMO_CAST_(double, value));
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_long_double_(long double value)
{
    return kymo_cell_f64_(KYMO_CAST_(double, value));
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_str_(const char *text)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_STR;
    cell.as.ptr = text;
    return cell;
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_text_(struct kymo_mark_text text)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_TEXT;
    cell.len = text.len < UINT32_MAX ? KYMO_CAST_(uint32_t, text.len) : UINT32_MAX;
    cell.as.ptr = text.data;
    return cell;
}

KYMO_INLINE_ struct kymo_mark_cell kymo_cell_ptr_(const volatile void *pointer)
{
    struct kymo_mark_cell cell = KYMO_ZERO_;
    cell.kind = KYMO_KIND_PTR;
    cell.as.u64 = KYMO_ADDRESS_(pointer);
    return cell;
}

KYMO_INLINE_ struct kymo_mark_text kymo_text_of_(const char *text)
{
    struct kymo_mark_text counted = KYMO_ZERO_;
    counted.data = text;
    counted.len = text ? __builtin_strlen(text) : 0;
    return counted;
}

KYMO_INLINE_ struct kymo_mark_text kymo_text_same_(struct kymo_mark_text text)
{
    return text;
}

/* Puts it where it stays: a text's scope needs it at its end. */
KYMO_INLINE_ const struct kymo_mark_text *kymo_text_at_(struct kymo_mark_text *place,
                                                        struct kymo_mark_text text)
{
    *place = text;
    return place;
}

/* KYMO_CELL(value): a value with its kind, of any number, text or pointer: for KYMO_MARKER_FMT and
 * labels, and for elements of lists and tables. Text has to stay until the marker is made.
 * KYMO_TEXT_OF_(text): a C string, or what KYMO_TEXT makes. */
#ifdef __cplusplus
#define KYMO_CELL_OF_(type, as)                                \
    KYMO_INLINE_ struct kymo_mark_cell KYMO_CELL(type value) { \
        return kymo_cell_##as##_(value);                       \
    }
KYMO_CELL_OF_(bool, u64)
KYMO_CELL_OF_(char, i64)
KYMO_CELL_OF_(signed char, i64)
KYMO_CELL_OF_(short, i64)
KYMO_CELL_OF_(int, i64)
KYMO_CELL_OF_(long, i64)
KYMO_CELL_OF_(long long, i64)
KYMO_CELL_OF_(unsigned char, u64)
KYMO_CELL_OF_(unsigned short, u64)
KYMO_CELL_OF_(unsigned, u64)
KYMO_CELL_OF_(unsigned long, u64)
KYMO_CELL_OF_(unsigned long long, u64)
KYMO_CELL_OF_(float, f32)
KYMO_CELL_OF_(double, f64)
KYMO_CELL_OF_(long double, long_double)
KYMO_CELL_OF_(char *, str)
KYMO_CELL_OF_(const char *, str)
KYMO_CELL_OF_(struct kymo_mark_text, text)
KYMO_CELL_OF_(decltype(nullptr), ptr)
#undef KYMO_CELL_OF_
/* Without it pointers to functions and to what is volatile would be taken for a bool. */
template <class T> KYMO_INLINE_ struct kymo_mark_cell KYMO_CELL(T *pointer) {
    return kymo_cell_ptr_(reinterpret_cast<const volatile void *>(pointer));
}

KYMO_INLINE_ struct kymo_mark_text
KYMO_TEXT_OF_(const char *text) {
    return kymo_text_of_(text);
}

KYMO_INLINE_ struct kymo_mark_text
KYMO_TEXT_OF_(struct kymo_mark_text text) {
    return text;
}

/* For what is read when a scope ends: of an object that is gone then there is none. */
KYMO_INLINE_ struct kymo_mark_text
KYMO_TEXT_THAT_STAYS_(const char *text) {
    return kymo_text_of_(text);
}

KYMO_INLINE_ struct kymo_mark_text
KYMO_TEXT_THAT_STAYS_(struct kymo_mark_text text) {
    return text;
}
#else
/* clang-format off */
#define KYMO_CELL(value)                          \
    _Generic((value),                             \
        _Bool: kymo_cell_u64_,                    \
        char: kymo_cell_i64_,                     \
        signed char: kymo_cell_i64_,              \
        short: kymo_cell_i64_,                    \
        int: kymo_cell_i64_,                      \
        long: kymo_cell_i64_,                     \
        long long: kymo_cell_i64_,                \
        unsigned char: kymo_cell_u64_,            \
        unsigned short: kymo_cell_u64_,           \
        unsigned: kymo_cell_u64_,                 \
        unsigned long: kymo_cell_u64_,            \
        unsigned long long: kymo_cell_u64_,       \
        float: kymo_cell_f32_,                    \
        double: kymo_cell_f64_,                   \
        long double: kymo_cell_long_double_,      \
        char *: kymo_cell_str_,                   \
        const char *: kymo_cell_str_,             \
        struct kymo_mark_text: kymo_cell_text_,   \
        default: kymo_cell_ptr_)(value)
#define KYMO_TEXT_OF_(text_)                      \
    _Generic((text_),                             \
        char *: kymo_text_of_,                    \
        const char *: kymo_text_of_,              \
        struct kymo_mark_text: kymo_text_same_)(text_)
#define KYMO_TEXT_THAT_STAYS_ KYMO_TEXT_OF_
/* clang-format on */
#endif

/* ---- scopes ---- */

/* What has a cleanup is a pointer, NULL while the scope is not recorded: it stays in a register,
 * and the scope itself is not touched then. */
#define KYMO_SCOPE_(var, end, category, type, label, kind, payload, options, min_ns)           \
    struct kymo_mark_options KYMO_PASTE_(var, _options) KYMO_UNUSED_;                          \
    struct kymo_mark_scope KYMO_PASTE_(var, _frame) KYMO_UNUSED_;                              \
    struct kymo_mark_scope *var KYMO_CLEANUP_(end) = NULL;                                     \
    KYMO_NO_JUMP_PAST_(var);                                                                   \
    KYMO_PARTLY_(if (kymo_mark_is_on_(&category)) {                                            \
        KYMO_SITE_(kymo_site_, category, type, label, NULL, kind, min_ns);                     \
        var = kymo_scope_begin_(&KYMO_PASTE_(var, _frame), KYMO_SITE_AT_(kymo_site_), payload, \
                                options, &KYMO_PASTE_(var, _options));                         \
    })                                                                                         \
    KYMO_ASSERT_(sizeof(var) != 0)
#define KYMO_SCOPE_TEXT_(var, category, label, min_ns, options, text)                          \
    struct kymo_mark_text KYMO_PASTE_(var, _text) KYMO_UNUSED_;                                \
    KYMO_SCOPE_(var, kymo_scope_end_, category, KYMO_NO_TYPE_, label, KYMO_SITE_TEXT,          \
                kymo_text_at_(&KYMO_PASTE_(var, _text), KYMO_TEXT_THAT_STAYS_(text)), options, \
                min_ns)

/* Options are evaluated only here, and stay in `place`, beside the scope. */
KYMO_INLINE_ struct kymo_mark_scope *
kymo_scope_begin_(struct kymo_mark_scope *scope, struct kymo_mark_site *site, const void *payload,
                  const struct kymo_mark_options *options, struct kymo_mark_options *place)
{
    scope->site = NULL;
    scope->payload = payload;
    scope->options = NULL;
    scope->flags = 0;
    if (options) {
        *place = *options;
        scope->options = place;
    }
    KYMO_MARK_LINK_->scope_begin(scope, site);
    return scope->site ? scope : NULL;
}

KYMO_INLINE_ void kymo_scope_end_(struct kymo_mark_scope *const *scope)
{
    if (__builtin_expect(*scope != NULL, 0))
        KYMO_MARK_LINK_->scope_end(*scope);
}

KYMO_INLINE_ void kymo_scope_cancel_(struct kymo_mark_scope *scope)
{
    if (__builtin_expect(scope != NULL, 0))
        scope->flags |= KYMO_SCOPE_IS_CANCELLED;
}

/* Never called: the compiler checks its arguments. */
__attribute__((format(printf, 1, 2), unused)) static inline void kymo_printf_(const char *format,
                                                                              ...)
{
    (void)format;
}

#endif
