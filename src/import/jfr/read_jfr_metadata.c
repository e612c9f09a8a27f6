/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_jfr_metadata.c - the description of a chunk: classes, and their fields.
 *
 * It is a table of strings and a tree of elements: root, metadata, class, field, annotation. A
 * first pass over the tree counts them, a second one makes rows.
 */
#include <string.h>

#include "base/str.h"
#include "import/jfr/read_jfr.h"

enum { DEPTH_MAX = 16 };

enum element {
    ELEMENT_OTHER,
    ELEMENT_ROOT,
    ELEMENT_METADATA,
    ELEMENT_CLASS,
    ELEMENT_FIELD,
    ELEMENT_ANNOTATION
};

/* What an annotation says of a class, or of a field. */
struct annotation {
    kymo_jfr_text *label; /* of the class or field */
    uint64_t class_id;
    kymo_jfr_text value;
};

struct tree {
    struct kymo_jfr_reader *r;
    kymo_reader in;
    const kymo_jfr_text *texts;
    uint64_t text_count;
    struct annotation *annotations;
    uint32_t annotation_count;
    unsigned depth;
    enum element kinds[DEPTH_MAX];
    uint64_t left[DEPTH_MAX]; /* children to come */
};

struct attributes {
    kymo_jfr_text element, name, id, class_id, pool, dimension, value;
};

static int is(kymo_jfr_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

static uint64_t number(kymo_jfr_text text)
{
    uint64_t value;
    return kymo_parse_u64(text.data, text.len, &value) == KYMO_OK ? value : 0;
}

/* ---- strings ---- */

/* What was decoded is kept. */
static kymo_err keep(struct kymo_jfr_reader *r, kymo_jfr_text *text)
{
    char *copy;
    if (text->data != r->text)
        return KYMO_OK;
    KYMO_TRY(kymo_jfr_table(r, text->len + 1, 1, &copy));
    memcpy(copy, text->data, text->len);
    text->data = copy;
    return KYMO_OK;
}

static kymo_err read_texts(struct tree *t, uint64_t position)
{
    kymo_jfr_text *texts;
    t->text_count = kymo_jfr_read_varint(&t->in);
    if (t->text_count > kymo_reader_left(&t->in))
        return kymo_import_fault(t->r->d, position, "the description has %llu strings, and ends",
                                 (unsigned long long)t->text_count);
    KYMO_TRY(kymo_jfr_table(t->r, t->text_count, sizeof *texts, &texts));
    t->texts = texts;
    for (uint64_t i = 0; i < t->text_count; i++) {
        kymo_jfr_read_text(t->r, &t->in, &texts[i]);
        KYMO_TRY(keep(t->r, &texts[i]));
    }
    return KYMO_OK;
}

static kymo_jfr_text next_text(struct tree *t)
{
    uint64_t index = kymo_jfr_read_varint(&t->in);
    if (index < t->text_count)
        return t->texts[index];
    kymo_reader_fail(&t->in);
    return (kymo_jfr_text){.data = ""};
}

/* ---- elements ---- */

static void take_attribute(struct attributes *a, kymo_jfr_text key, kymo_jfr_text value)
{
    const struct {
        const char *key;
        kymo_jfr_text *to;
    } known[] = {{"name", &a->name},           {"id", &a->id},
                 {"class", &a->class_id},      {"constantPool", &a->pool},
                 {"dimension", &a->dimension}, {"value", &a->value}};
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known); i++)
        if (is(key, known[i].key))
            *known[i].to = value;
}

/* Begins an element: its children follow. */
static enum element read_element(struct tree *t, struct attributes *a)
{
    enum element above = t->depth ? t->kinds[t->depth - 1] : ELEMENT_OTHER;
    *a = (struct attributes){.element = next_text(t)};
    for (uint64_t count = kymo_jfr_read_varint(&t->in); count > 0 && !t->in.failed; count--) {
        kymo_jfr_text key = next_text(t);
        take_attribute(a, key, next_text(t));
    }
    if (t->depth == 0)
        return ELEMENT_ROOT;
    if (above == ELEMENT_ROOT && is(a->element, "metadata"))
        return ELEMENT_METADATA;
    if (above == ELEMENT_METADATA && is(a->element, "class"))
        return ELEMENT_CLASS;
    if (above == ELEMENT_CLASS && is(a->element, "field"))
        return ELEMENT_FIELD;
    if ((above == ELEMENT_CLASS || above == ELEMENT_FIELD) && is(a->element, "annotation"))
        return ELEMENT_ANNOTATION;
    return ELEMENT_OTHER;
}

static void add_class(kymo_jfr_part *part, const struct attributes *a)
{
    if (part->classes)
        part->classes[part->class_count] = (kymo_jfr_class){
            .name = a->name, .id = number(a->id), .first_member = part->member_count};
    part->class_count++;
}

static void add_member(kymo_jfr_part *part, const struct attributes *a)
{
    if (part->members) {
        part->members[part->member_count] =
            (kymo_jfr_member){.name = a->name,
                              .class_id = number(a->class_id),
                              .is_pool = (uint8_t)is(a->pool, "true"),
                              .is_array = number(a->dimension) > 0};
        part->classes[part->class_count - 1].member_count++;
    }
    part->member_count++;
}

static void add_annotation(struct tree *t, const struct attributes *a)
{
    kymo_jfr_part *part = &t->r->part;
    int is_of_field = t->kinds[t->depth - 1] == ELEMENT_FIELD;
    if (t->annotations)
        t->annotations[t->annotation_count] =
            (struct annotation){.label = is_of_field ? &part->members[part->member_count - 1].label
                                                     : &part->classes[part->class_count - 1].label,
                                .class_id = number(a->class_id),
                                .value = a->value};
    t->annotation_count++;
}

static kymo_err walk(struct tree *t, kymo_reader in)
{
    struct attributes a;
    t->in = in;
    t->depth = 0;
    t->annotation_count = t->r->part.class_count = t->r->part.member_count = 0;
    do {
        enum element kind = read_element(t, &a);
        uint64_t children = kymo_jfr_read_varint(&t->in);
        if (t->in.failed)
            return kymo_import_fault(t->r->d, t->r->part.metadata_at,
                                     "the description of the events "
                                     "makes no sense");
        if (kind == ELEMENT_CLASS)
            add_class(&t->r->part, &a);
        else if (kind == ELEMENT_FIELD)
            add_member(&t->r->part, &a);
        else if (kind == ELEMENT_ANNOTATION && a.value.data)
            add_annotation(t, &a);
        if (children > 0 && t->depth == DEPTH_MAX)
            return kymo_import_fault(t->r->d, t->r->part.metadata_at,
                                     "the description of the events "
                                     "is more than %d levels deep",
                                     DEPTH_MAX);
        if (children > 0) {
            t->kinds[t->depth] = kind;
            t->left[t->depth++] = children;
            continue;
        }
        while (t->depth > 0 && --t->left[t->depth - 1] == 0)
            t->depth--;
    } while (t->depth > 0);
    return KYMO_OK;
}

/* Its own children are counted down when the last of them ends. */
static kymo_err read_tree(struct tree *t)
{
    kymo_jfr_part *part = &t->r->part;
    kymo_reader begin = t->in;
    KYMO_TRY(walk(t, begin));
    if (part->class_count > KYMO_JFR_CLASSES_MAX)
        return kymo_import_unsupported(t->r->d, part->metadata_at,
                                       "%u classes of events; at most %u are read",
                                       (unsigned)part->class_count, KYMO_JFR_CLASSES_MAX);
    KYMO_TRY(kymo_jfr_table(t->r, part->class_count, sizeof *part->classes, &part->classes));
    KYMO_TRY(kymo_jfr_table(t->r, part->member_count, sizeof *part->members, &part->members));
    KYMO_TRY(kymo_jfr_table(t->r, t->annotation_count, sizeof *t->annotations, &t->annotations));
    return walk(t, begin);
}

/* ---- what is known by its name ---- */

static const struct {
    const char *name;
    uint8_t shape, pool, event;
} known_classes[] = {
    {"boolean", .shape = KYMO_JFR_SHAPE_BYTE},
    {"byte", .shape = KYMO_JFR_SHAPE_BYTE},
    {"char", .shape = KYMO_JFR_SHAPE_VARINT},
    {"short", .shape = KYMO_JFR_SHAPE_VARINT},
    {"int", .shape = KYMO_JFR_SHAPE_VARINT},
    {"long", .shape = KYMO_JFR_SHAPE_VARINT},
    {"float", .shape = KYMO_JFR_SHAPE_FLOAT},
    {"double", .shape = KYMO_JFR_SHAPE_DOUBLE},
    {"java.lang.String", .shape = KYMO_JFR_SHAPE_STRING, .pool = KYMO_JFR_STRINGS},
    {"jdk.types.Symbol", .pool = KYMO_JFR_SYMBOLS},
    {"java.lang.Class", .pool = KYMO_JFR_CLASSES},
    {"java.lang.Thread", .pool = KYMO_JFR_THREADS},
    {"jdk.types.Method", .pool = KYMO_JFR_METHODS},
    {"jdk.types.FrameType", .pool = KYMO_JFR_FRAME_TYPES},
    {"jdk.types.ThreadState", .pool = KYMO_JFR_STATES},
    {"jdk.types.StackTrace", .pool = KYMO_JFR_STACKS},
    {"jdk.ExecutionSample", .event = KYMO_JFR_EVENT_EXECUTION},
    {"jdk.CPUTimeSample", .event = KYMO_JFR_EVENT_CPU_TIME_SAMPLE},
    {"jdk.NativeMethodSample", .event = KYMO_JFR_EVENT_NATIVE},
    {"profiler.WallClockSample", .event = KYMO_JFR_EVENT_WALL},
    {"jdk.ObjectAllocationSample", .event = KYMO_JFR_EVENT_ALLOCATION},
    {"jdk.ObjectAllocationInNewTLAB", .event = KYMO_JFR_EVENT_ALLOCATION},
    {"jdk.ObjectAllocationOutsideTLAB", .event = KYMO_JFR_EVENT_ALLOCATION},
    {"profiler.LiveObject", .event = KYMO_JFR_EVENT_LIVE_OBJECT},
    {"profiler.Malloc", .event = KYMO_JFR_EVENT_MALLOC},
    {"profiler.Free", .event = KYMO_JFR_EVENT_FREE},
    {"jdk.JavaMonitorEnter", .event = KYMO_JFR_EVENT_LOCK},
    {"jdk.ThreadPark", .event = KYMO_JFR_EVENT_LOCK},
    {"profiler.NativeLock", .event = KYMO_JFR_EVENT_LOCK},
    {"kymo.CPUTime", .event = KYMO_JFR_EVENT_KYMO_CPU_TIME},
    {"kymo.WallTime", .event = KYMO_JFR_EVENT_KYMO_WALL_TIME},
    {"kymo.Label", .event = KYMO_JFR_EVENT_KYMO_LABEL},
    {"kymo.MallocWeight", .event = KYMO_JFR_EVENT_KYMO_MALLOC_WEIGHT},
    {"jdk.ActiveSetting", .event = KYMO_JFR_EVENT_SETTING},
    {"jdk.JVMInformation", .event = KYMO_JFR_EVENT_JVM},
    {"jdk.OSInformation", .event = KYMO_JFR_EVENT_SYSTEM},
    {"jdk.CPUInformation", .event = KYMO_JFR_EVENT_CPU},
    {"jdk.NativeLibrary", .event = KYMO_JFR_EVENT_LIBRARY},
    {"kymo.BuildId", .event = KYMO_JFR_EVENT_KYMO_BUILD_ID},
    {"kymo.Process", .event = KYMO_JFR_EVENT_KYMO_PROCESS},
    {"kymo.Thread", .event = KYMO_JFR_EVENT_KYMO_THREAD},
    {"jdk.CPUTimeSamplesLost", .event = KYMO_JFR_EVENT_SAMPLES_LOST},
    {"jdk.DataLoss", .event = KYMO_JFR_EVENT_DATA_LOST},
    {"kymo.Quality", .event = KYMO_JFR_EVENT_KYMO_QUALITY},
};

static const struct {
    const char *name;
    uint8_t role;
} known_members[] = {
    {"startTime", KYMO_JFR_ROLE_START_TIME},
    {"duration", KYMO_JFR_ROLE_DURATION},
    {"eventThread", KYMO_JFR_ROLE_THREAD},
    {"sampledThread", KYMO_JFR_ROLE_THREAD},
    {"stackTrace", KYMO_JFR_ROLE_STACK},
    {"state", KYMO_JFR_ROLE_STATE},
    {"samples", KYMO_JFR_ROLE_SAMPLES},
    {"wallTime", KYMO_JFR_ROLE_WALL_TIME},
    {"samplingPeriod", KYMO_JFR_ROLE_SAMPLING_PERIOD},
    {"cpuTime", KYMO_JFR_ROLE_CPU_TIME},
    {"weight", KYMO_JFR_ROLE_WEIGHT},
    {"allocationSize", KYMO_JFR_ROLE_ALLOCATION_SIZE},
    {"tlabSize", KYMO_JFR_ROLE_TLAB_SIZE},
    {"objectClass", KYMO_JFR_ROLE_OBJECT_CLASS},
    {"monitorClass", KYMO_JFR_ROLE_OBJECT_CLASS},
    {"parkedClass", KYMO_JFR_ROLE_OBJECT_CLASS},
    {"address", KYMO_JFR_ROLE_ADDRESS},
    {"size", KYMO_JFR_ROLE_SIZE},
    {"allocated", KYMO_JFR_ROLE_ALLOCATED},
    {"key", KYMO_JFR_ROLE_KEY},
    {"value", KYMO_JFR_ROLE_VALUE},
    {"operations", KYMO_JFR_ROLE_OPERATIONS},
    {"id", KYMO_JFR_ROLE_ID},
    {"name", KYMO_JFR_ROLE_NAME},
    {"pid", KYMO_JFR_ROLE_PID},
    {"javaArguments", KYMO_JFR_ROLE_ARGUMENTS},
    {"osVersion", KYMO_JFR_ROLE_SYSTEM},
    {"cpu", KYMO_JFR_ROLE_CPU},
    {"osName", KYMO_JFR_ROLE_OS_NAME},
    {"osThreadId", KYMO_JFR_ROLE_OS_ID},
    {"javaName", KYMO_JFR_ROLE_JAVA_NAME},
    {"truncated", KYMO_JFR_ROLE_TRUNCATED},
    {"frames", KYMO_JFR_ROLE_FRAMES},
    {"method", KYMO_JFR_ROLE_METHOD},
    {"lineNumber", KYMO_JFR_ROLE_LINE},
    {"type", KYMO_JFR_ROLE_TYPE},
    {"string", KYMO_JFR_ROLE_STRING},
    {"description", KYMO_JFR_ROLE_DESCRIPTION},
    {"lostSamples", KYMO_JFR_ROLE_LOST},
    {"amount", KYMO_JFR_ROLE_LOST},
};

static int starts_with(kymo_jfr_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static void recognize_class(struct kymo_jfr_reader *r, uint32_t at)
{
    kymo_jfr_class *class = &r->part.classes[at];
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known_classes); i++)
        if (is(class->name, known_classes[i].name)) {
            class->shape = known_classes[i].shape;
            class->pool = known_classes[i].pool;
            class->event = known_classes[i].event;
        }
    if (starts_with(class->name, "kymo.sample."))
        class->event = KYMO_JFR_EVENT_KYMO_SAMPLE;
    if (starts_with(class->name, "kymo.counter."))
        class->event = KYMO_JFR_EVENT_KYMO_COUNTER;
    r->is_kymo |= starts_with(class->name, "kymo.");
    if (class->pool)
        r->part.pools[class->pool].class_at = at;
}

static void recognize_member(kymo_jfr_part *part, kymo_jfr_member *m)
{
    const uint32_t *at = kymo_key_map_find(&part->class_map, m->class_id);
    m->class_at = at ? *at : KYMO_NONE;
    for (size_t i = 0; i < KYMO_ARRAY_LEN(known_members); i++)
        if (is(m->name, known_members[i].name))
            m->role = known_members[i].role;
}

static void take_labels(struct tree *t)
{
    kymo_jfr_part *part = &t->r->part;
    uint64_t label = 0;
    for (uint32_t i = 0; i < part->class_count; i++)
        if (is(part->classes[i].name, "jdk.jfr.Label"))
            label = part->classes[i].id;
    for (uint32_t i = 0; label && i < t->annotation_count; i++)
        if (t->annotations[i].class_id == label)
            *t->annotations[i].label = t->annotations[i].value;
}

static kymo_err recognize(struct tree *t)
{
    kymo_jfr_part *part = &t->r->part;
    for (uint32_t i = 0; i < part->class_count; i++) {
        if (kymo_key_map_find(&part->class_map, part->classes[i].id))
            return kymo_import_fault(t->r->d, part->metadata_at, "class %llu is there twice",
                                     (unsigned long long)part->classes[i].id);
        KYMO_TRY(kymo_key_map_put(&part->class_map, part->classes[i].id, i));
        recognize_class(t->r, i);
    }
    for (uint32_t i = 0; i < part->member_count; i++)
        recognize_member(part, &part->members[i]);
    take_labels(t);
    return KYMO_OK;
}

/* ---- shapes ---- */

/* Levels of structures below this one; KYMO_JFR_CLASS_DEPTH_MAX: too many, or without an end. */
static unsigned find_shape(kymo_jfr_part *part, kymo_jfr_class *class, unsigned level);

static unsigned member_depth(kymo_jfr_part *part, const kymo_jfr_member *m, unsigned level)
{
    if (m->is_pool)
        return 0;
    if (m->class_at == KYMO_NONE)
        return KYMO_JFR_CLASS_DEPTH_MAX;
    return find_shape(part, &part->classes[m->class_at], level + 1);
}

static int is_empty(const kymo_jfr_part *part, const kymo_jfr_member *m)
{
    return !m->is_pool && !m->is_array && part->classes[m->class_at].shape == KYMO_JFR_SHAPE_EMPTY;
}

/* Members without bytes are left out, so that none is walked. */
static void close_up(kymo_jfr_part *part, kymo_jfr_class *class)
{
    kymo_jfr_member *members = part->members + class->first_member;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < class->member_count; i++)
        if (!is_empty(part, &members[i]))
            members[kept++] = members[i];
    class->member_count = kept;
}

static unsigned find_shape(kymo_jfr_part *part, kymo_jfr_class *class, unsigned level)
{
    enum { NEW, OPEN, DONE };
    unsigned depth = 0;
    if (class->shape != KYMO_JFR_SHAPE_UNKNOWN && class->mark == NEW)
        return 0; /* a number or a string */
    if (class->mark >= DONE)
        return class->mark - DONE;
    if (class->mark == OPEN || level == KYMO_JFR_CLASS_DEPTH_MAX)
        return KYMO_JFR_CLASS_DEPTH_MAX;
    class->mark = OPEN;
    for (uint32_t i = 0; i < class->member_count && depth < KYMO_JFR_CLASS_DEPTH_MAX; i++) {
        unsigned below = member_depth(part, &part->members[class->first_member + i], level);
        depth = below > depth ? below : depth;
    }
    depth += depth < KYMO_JFR_CLASS_DEPTH_MAX;
    class->mark = (uint8_t)(DONE + depth);
    if (depth == KYMO_JFR_CLASS_DEPTH_MAX)
        return depth; /* its shape stays unknown */
    close_up(part, class);
    class->shape = class->member_count ? KYMO_JFR_SHAPE_STRUCT : KYMO_JFR_SHAPE_EMPTY;
    return depth;
}

/* ---- the whole ---- */

kymo_err kymo_jfr_read_metadata(struct kymo_jfr_reader *r)
{
    kymo_jfr_part *part = &r->part;
    struct tree t = {.r = r};
    uint64_t at = part->metadata_at;
    kymo_reader in = kymo_reader_part(r->d->data, part->end, at, part->end);
    uint64_t size = kymo_jfr_read_varint(&in);
    if (in.failed || size > part->end - at)
        return kymo_import_fault(r->d, at,
                                 "the description of the events is longer than its chunk");
    t.in = kymo_reader_part(r->d->data, at + size, kymo_jfr_place(r, in.at), at + size);
    if (kymo_jfr_read_varint(&t.in) != 0)
        return kymo_import_fault(r->d, at,
                                 "there is no description of the events where the chunk "
                                 "says");
    kymo_jfr_read_varint(&t.in); /* start */
    kymo_jfr_read_varint(&t.in); /* duration */
    kymo_jfr_read_varint(&t.in); /* its number */
    KYMO_TRY(read_texts(&t, at));
    KYMO_TRY(read_tree(&t));
    KYMO_TRY(recognize(&t));
    for (uint32_t i = 0; i < part->class_count; i++)
        find_shape(part, &part->classes[i], 0);
    return KYMO_OK;
}
