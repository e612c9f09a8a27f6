/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_stacks.c - stacks, and the methods of their frames.
 *
 * A frame is a method of a class. Of Java that is a name, `package.Class.method`. Of native code
 * async-profiler and Kymo write the file that has the code as the class, and the function as the
 * method. "Native" is native code if the file also knows "Kernel"; in the JVM's own files it is a
 * method of Java.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "import/jfr/read_jfr.h"

#define NO_STACK "[no stack]" /* as Kymo writes a sample without one */
#define TRUNCATED "[truncated stack]"

/* What `made` of a type of frames is. */
enum frame_type { TYPE_OTHER, TYPE_JAVA, TYPE_INLINED, TYPE_NATIVE, TYPE_CPP, TYPE_KERNEL };

static int is(kymo_jfr_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* ---- types of frames ---- */

static enum frame_type type_of_text(kymo_jfr_text text)
{
    static const struct {
        const char *name;
        enum frame_type type;
    } types[] = {{"Interpreted", TYPE_JAVA}, {"JIT compiled", TYPE_JAVA},
                 {"C1 compiled", TYPE_JAVA}, {"Inlined", TYPE_INLINED},
                 {"Native", TYPE_NATIVE},    {"C++", TYPE_CPP},
                 {"Kernel", TYPE_KERNEL}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(types); i++)
        if (is(text, types[i].name))
            return types[i].type;
    return TYPE_OTHER;
}

kymo_err kymo_jfr_read_frame_types(struct kymo_jfr_reader *r)
{
    kymo_jfr_constants *pool = &r->part.pools[KYMO_JFR_FRAME_TYPES];
    kymo_jfr_text text;
    for (uint32_t i = 0; i < pool->count; i++) {
        KYMO_TRY(kymo_jfr_constant_text(r, KYMO_JFR_FRAME_TYPES, pool->rows[i].key, &text));
        pool->rows[i].made = type_of_text(text);
        r->part.has_native_frames |= pool->rows[i].made == TYPE_KERNEL;
    }
    return KYMO_OK;
}

static enum frame_type type_of(const struct kymo_jfr_reader *r, uint64_t key)
{
    const kymo_jfr_constant *type = kymo_jfr_find_constant(r, KYMO_JFR_FRAME_TYPES, key);
    return type ? (enum frame_type)type->made : TYPE_OTHER;
}

static int is_native(const struct kymo_jfr_reader *r, enum frame_type type)
{
    return r->is_kymo || type == TYPE_CPP || type == TYPE_KERNEL ||
           (type == TYPE_NATIVE && r->part.has_native_frames);
}

static kymo_category category_of(const struct kymo_jfr_reader *r, enum frame_type type,
                                 const kymo_function *function)
{
    const kymo_module *m = kymo_profile_module(r->d->profile, function->module);
    if (type == TYPE_KERNEL)
        return KYMO_CATEGORY_KERNEL;
    if (!is_native(r, type) || type == TYPE_JAVA)
        return KYMO_CATEGORY_JIT;
    return m ? (kymo_category)m->category : KYMO_CATEGORY_OTHER;
}

/* ---- modules ---- */

/* A value of a map from strings to strings; `string` if it has none. */
static uint32_t mapped(const kymo_key_map *map, uint32_t string)
{
    const uint32_t *found = kymo_key_map_find(map, string);
    return found ? *found : string;
}

/* The file says where a library was, but not where in it a frame is: addresses are left out. */
static kymo_err find_module(struct kymo_jfr_reader *r, uint32_t name, uint32_t *module)
{
    const uint32_t *known = kymo_key_map_find(&r->modules, name);
    uint32_t path = mapped(&r->libraries, name);
    *module = known ? *known : KYMO_NONE;
    if (known || name == 0)
        return KYMO_OK;
    kymo_profile *p = r->d->profile;
    const kymo_process *program = kymo_profile_process(p, 0);
    kymo_module row = {.size = sizeof row,
                       .path = kymo_profile_string(p, path),
                       .name = kymo_profile_string(p, name)};
    row.is_main = program && strcmp(row.name, program->name) == 0;
    const uint32_t *id = kymo_key_map_find(&r->build_ids, path);
    if (id)
        kymo_import_build_id(&row, kymo_profile_string(p, *id), kymo_profile_string_len(p, *id));
    KYMO_TRY(kymo_import_check_room(r->d));
    KYMO_TRY(kymo_profile_add_module(p, &row, module));
    return kymo_key_map_put(&r->modules, name, *module);
}

/* ---- classes and methods ---- */

/* `java/lang/String` is shown as `java.lang.String`. */
static size_t dotted(char *out, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = name[i] == '/' ? '.' : name[i];
    return len;
}

/* `[[I` is `int[][]`. */
static size_t array_name(char *out, size_t cap, const char *name, size_t len)
{
    static const char *const primitives[] = {"Bbyte", "Cchar", "Ddouble", "Ffloat",
                                             "Iint",  "Jlong", "Sshort",  "Zboolean"};
    char element[KYMO_STRING_MAX + 1];
    size_t depth = strspn(name, "[");
    size_t at = depth;
    int is_object = name[at] == 'L' && name[len - 1] == ';';
    size_t n = dotted(element, name + at + is_object, len - at - (is_object ? 2 : 0));
    const char *base = element;
    element[n] = '\0';
    for (size_t i = 0; n == 1 && i < KYMO_ARRAY_LEN(primitives); i++)
        if (primitives[i][0] == element[0])
            base = primitives[i] + 1;
    int written = snprintf(out, cap, "%s", base);
    size_t used = (size_t)written < cap ? (size_t)written : cap - 1;
    for (; depth > 0 && used + 2 < cap; depth--, used += 2)
        memcpy(out + used, "[]", 2);
    return used;
}

kymo_err kymo_jfr_class_name(struct kymo_jfr_reader *r, uint64_t key, uint32_t *string)
{
    char text[KYMO_STRING_MAX + 1];
    kymo_jfr_constant *class;
    kymo_jfr_row row;
    *string = 0;
    if (!kymo_jfr_open_constant(r, KYMO_JFR_CLASSES, key, &class, &row))
        return KYMO_OK;
    if (class->made == KYMO_NONE) {
        uint32_t raw;
        KYMO_TRY(kymo_jfr_row_string(r, &row, KYMO_JFR_ROLE_NAME, &raw));
        const char *name = kymo_profile_string(r->d->profile, raw);
        size_t len = kymo_profile_string_len(r->d->profile, raw);
        if (r->is_kymo || strchr(name, '/') == NULL) {
            class->made = raw;
        } else {
            len = dotted(text, name, len);
            KYMO_TRY(kymo_import_string(r->d, text, len, &class->made));
        }
    }
    *string = class->made;
    return KYMO_OK;
}

kymo_err kymo_jfr_object_class(struct kymo_jfr_reader *r, uint64_t key, uint32_t *string)
{
    char text[KYMO_STRING_MAX + 1];
    KYMO_TRY(kymo_jfr_class_name(r, key, string));
    const char *name = kymo_profile_string(r->d->profile, *string);
    size_t len = kymo_profile_string_len(r->d->profile, *string);
    if (name[0] != '[' || strspn(name, "[") == len)
        return KYMO_OK;
    len = array_name(text, sizeof text, name, len);
    return kymo_import_string(r->d, text, len, string);
}

static kymo_err name_function(struct kymo_jfr_reader *r, enum frame_type type,
                              const kymo_jfr_row *method, kymo_function *function)
{
    char text[KYMO_STRING_MAX + 1];
    kymo_profile *p = r->d->profile;
    uint32_t class;
    KYMO_TRY(kymo_jfr_row_string(r, method, KYMO_JFR_ROLE_NAME, &function->name));
    KYMO_TRY(kymo_jfr_class_name(r, kymo_jfr_number(method, KYMO_JFR_ROLE_TYPE), &class));
    if (function->name == 0)
        KYMO_TRY(kymo_import_string(r->d, "?", 1, &function->name));
    if (is_native(r, type))
        return find_module(r, class, &function->module);
    if (class == 0)
        return KYMO_OK;
    int len = snprintf(text, sizeof text, "%s.%s", kymo_profile_string(p, class),
                       kymo_profile_string(p, function->name));
    return kymo_import_string(r->d, text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1,
                              &function->name);
}

static kymo_err find_function(struct kymo_jfr_reader *r, enum frame_type type, uint64_t key,
                              uint32_t *id)
{
    kymo_function function = {.module = KYMO_NONE};
    kymo_jfr_constant *method = kymo_jfr_find_constant(r, KYMO_JFR_METHODS, key);
    kymo_jfr_row row;
    *id = method ? method->made : KYMO_NONE;
    if (*id != KYMO_NONE)
        return KYMO_OK;
    kymo_jfr_open_constant(r, KYMO_JFR_METHODS, key, &method, &row);
    KYMO_TRY(name_function(r, type, &row, &function));
    KYMO_TRY(kymo_import_function(r->d, &function, 0, id));
    if (method)
        method->made = *id;
    return KYMO_OK;
}

/* ---- stacks ---- */

static kymo_err take_frame(struct kymo_jfr_reader *r, const kymo_jfr_row *row)
{
    kymo_jfr_frame frame = {.line = 0};
    uint64_t line = kymo_jfr_number(row, KYMO_JFR_ROLE_LINE);
    enum frame_type type = type_of(r, kymo_jfr_number(row, KYMO_JFR_ROLE_TYPE));
    KYMO_TRY(find_function(r, type, kymo_jfr_number(row, KYMO_JFR_ROLE_METHOD), &frame.function));
    const kymo_function *function = kymo_profile_function(r->d->profile, frame.function);
    frame.category = category_of(r, type, function);
    frame.line = line <= INT32_MAX ? (uint32_t)line : 0;
    return kymo_vec_push(&r->frames, frame);
}

/* Innermost first, as in the file. */
static kymo_err read_frames(struct kymo_jfr_reader *r, const kymo_jfr_cell *frames)
{
    kymo_jfr_row row;
    kymo_reader in = kymo_jfr_reader_at(r, frames->at);
    uint64_t position = kymo_jfr_place(r, frames->at);
    uint64_t count = kymo_jfr_read_varint(&in);
    uint32_t class_at = frames->member->class_at;
    r->frames.len = 0;
    if (frames->kind != KYMO_JFR_CELL_ARRAY || frames->member->is_pool ||
        r->part.classes[class_at].shape != KYMO_JFR_SHAPE_STRUCT)
        return KYMO_OK;
    if (count > KYMO_IMPORT_DEPTH_MAX)
        return kymo_import_unsupported(r->d, position, "a stack has more than %u frames",
                                       KYMO_IMPORT_DEPTH_MAX);
    for (; count > 0; count--) {
        kymo_jfr_read_row(r, &in, class_at, &row);
        KYMO_TRY(take_frame(r, &row));
    }
    return KYMO_OK;
}

static int is_named(const struct kymo_jfr_reader *r, const kymo_jfr_frame *frame, const char *name)
{
    const kymo_function *function = kymo_profile_function(r->d->profile, frame->function);
    return strcmp(kymo_profile_string(r->d->profile, function->name), name) == 0;
}

/* The root of a stack whose outer frames are missing. */
static kymo_err add_truncated(struct kymo_jfr_reader *r, uint32_t *stack)
{
    kymo_function function = {.module = KYMO_NONE};
    uint32_t id, frame;
    KYMO_TRY(kymo_import_string(r->d, TRUNCATED, sizeof TRUNCATED - 1, &function.name));
    KYMO_TRY(kymo_import_function(r->d, &function, 0, &id));
    KYMO_TRY(kymo_profile_add_label_frame(r->d->profile, id, KYMO_CATEGORY_OTHER, &frame));
    return kymo_import_stack(r->d, *stack, frame, stack);
}

static kymo_err make_stack(struct kymo_jfr_reader *r, int is_truncated, uint32_t *stack)
{
    uint32_t frame;
    size_t count = r->frames.len;
    *stack = KYMO_NONE;
    if (count == 0 || (r->is_kymo && count == 1 && is_named(r, r->frames.data, NO_STACK)))
        return KYMO_OK;
    if (is_truncated && !is_named(r, &r->frames.data[count - 1], TRUNCATED))
        KYMO_TRY(add_truncated(r, stack));
    for (size_t i = count; i-- > 0;) {
        const kymo_jfr_frame *f = &r->frames.data[i];
        const kymo_line line = {.function = f->function, .line = f->line};
        KYMO_TRY(kymo_profile_add_lines_frame(r->d->profile, &line, 1, (kymo_category)f->category,
                                              &frame));
        KYMO_TRY(kymo_import_stack(r->d, *stack, frame, stack));
    }
    return KYMO_OK;
}

kymo_err kymo_jfr_find_stack(struct kymo_jfr_reader *r, uint64_t key, uint32_t *stack)
{
    kymo_jfr_constant *constant = kymo_jfr_find_constant(r, KYMO_JFR_STACKS, key);
    kymo_jfr_row row;
    *stack = constant ? constant->made : KYMO_NONE;
    if (*stack != KYMO_NONE || !kymo_jfr_open_constant(r, KYMO_JFR_STACKS, key, &constant, &row) ||
        !kymo_jfr_has(&row, KYMO_JFR_ROLE_FRAMES))
        return KYMO_OK;
    KYMO_TRY(read_frames(r, &row.cells[KYMO_JFR_ROLE_FRAMES]));
    KYMO_TRY(make_stack(r, kymo_jfr_number(&row, KYMO_JFR_ROLE_TRUNCATED) != 0, stack));
    constant->made = *stack;
    return KYMO_OK;
}
