/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "base/atomic.h"
#include "buffer/definition.h"
#include "session_fixture.h"
#include "unit.h"

#define SLOTS 4096u

struct named {
    const char *name;
    uint64_t word;
};

static void say_named(struct kymo_definition_pen *pen, const void *what)
{
    const struct named *n = what;
    kymo_definition_text(pen, n->name, n->name ? strlen(n->name) : 7);
    kymo_definition_word(pen, n->word);
}

static uint32_t intern(struct fixture *f, uint32_t *slots, enum kymo_definition_kind kind,
                       const char *name, uint64_t word)
{
    const struct kymo_definition_index index = {slots, SLOTS - 1};
    const struct named n = {name, word};
    return kymo_definition_intern(f->session, &f->plan, &index, kind, say_named, &n);
}

static void equal_content_has_one_number(void **state)
{
    static uint32_t slots[SLOTS], others[SLOTS];
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    uint32_t first = intern(&f, slots, KYMO_DEFINE_TRACK, "one", 1);
    assert_int_equal(first, 1);
    char copy[] = "one";
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, copy, 1), first);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_LITERAL, "one", 1), 2);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "one", 2), 3);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "", 1), 4);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, NULL, 1), 4);
    /* A text's end is not another one's beginning. */
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "onetwo12", 1), 5);
    /* A caller that forgot what it interned does so again. */
    assert_int_equal(intern(&f, others, KYMO_DEFINE_TRACK, "one", 1), 6);
    fixture_close(&f);
}

static void content_is_as_it_was_said(void **state)
{
    static uint32_t slots[SLOTS];
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    uint32_t number = intern(&f, slots, KYMO_DEFINE_SITE, "ninechars", 77);
    const struct kymo_definition *d = kymo_definition_at(f.session, &f.plan, number);
    assert_non_null(d);
    assert_int_equal(d->kind, KYMO_DEFINE_SITE);
    assert_int_equal(d->number, number);
    assert_int_equal(d->size_bytes, sizeof *d + 8 + 16 + 8);
    const uint64_t *words = (const uint64_t *)(const void *)(d + 1);
    assert_int_equal(words[0], 9);
    assert_memory_equal(words + 1, "ninechars\0\0\0\0\0\0\0", 16);
    assert_int_equal(words[3], 77);
    assert_null(kymo_definition_at(f.session, &f.plan, 0));
    assert_null(kymo_definition_at(f.session, &f.plan, number + 1));
    assert_null(kymo_definition_at(f.session, &f.plan, UINT32_MAX));
    fixture_close(&f);
}

static void long_text_is_cut_where_a_character_begins(void **state)
{
    static uint32_t slots[SLOTS];
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    char text[KYMO_DEFINITION_TEXT_MAX + 8];
    memset(text, 'a', sizeof text);
    memcpy(text + KYMO_DEFINITION_TEXT_MAX - 1, "\xe2\x82\xac", 3); /* one character */
    text[sizeof text - 1] = '\0';
    uint32_t number = intern(&f, slots, KYMO_DEFINE_TRACK, text, 0);
    const struct kymo_definition *d = kymo_definition_at(f.session, &f.plan, number);
    assert_non_null(d);
    assert_int_equal(*(const uint64_t *)(const void *)(d + 1), KYMO_DEFINITION_TEXT_MAX - 1);
    fixture_close(&f);
}

static void a_full_area_says_so_and_keeps_what_it_has(void **state)
{
    static uint32_t slots[SLOTS];
    (void)state;
    struct fixture f = fixture_open(1u << 20);
    uint32_t n = 0;
    while (intern(&f, slots, KYMO_DEFINE_TRACK, "x", n))
        n++;
    assert_true(n == f.plan.definitions || n == f.plan.definition_bytes / 40);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "x", 0), 1);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "x", n - 1), n);
    assert_int_equal(intern(&f, slots, KYMO_DEFINE_TRACK, "new", 0), 0);
    fixture_close(&f);
}

/* ---- threads ---- */

enum { THREADS = 4, NAMES = 100, ROUNDS = 50 };

static struct fixture shared;
static uint32_t shared_slots[SLOTS];
static int go;

static void *intern_all(void *seen)
{
    uint32_t *numbers = seen;
    while (!kymo_load_acquire(&go)) {
    }
    for (uint32_t i = 0; i < NAMES; i++)
        numbers[i] = intern(&shared, shared_slots, KYMO_DEFINE_TRACK, "name", i);
    for (int round = 1; round < ROUNDS; round++)
        for (uint32_t i = 0; i < NAMES; i++)
            if (intern(&shared, shared_slots, KYMO_DEFINE_TRACK, "name", i) != numbers[i])
                return seen;
    return NULL;
}

static void threads_find_each_others(void **state)
{
    static uint32_t seen[THREADS][NAMES];
    pthread_t threads[THREADS];
    (void)state;
    shared = fixture_open(1u << 20);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, intern_all, seen[i]), 0);
    kymo_store_release(&go, 1);
    for (int i = 0; i < THREADS; i++) {
        void *other = seen;
        pthread_join(threads[i], &other);
        assert_null(other);
    }
    for (int i = 0; i < THREADS; i++)
        for (uint32_t name = 0; name < NAMES; name++) {
            const struct kymo_definition *d =
                kymo_definition_at(shared.session, &shared.plan, seen[i][name]);
            assert_non_null(d);
            const uint64_t *words = (const uint64_t *)(const void *)(d + 1);
            assert_int_equal(words[2], name);
        }
    /* Two at once may make two of one, but not each time, and both go by the first one. */
    assert_true(shared.session->definition_count <= THREADS * NAMES);
    for (int i = 1; i < THREADS; i++)
        assert_memory_equal(seen[i], seen[0], sizeof seen[0]);
    fixture_close(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_content_has_one_number),
        cmocka_unit_test(content_is_as_it_was_said),
        cmocka_unit_test(long_text_is_cut_where_a_character_begins),
        cmocka_unit_test(a_full_area_says_so_and_keeps_what_it_has),
        cmocka_unit_test(threads_find_each_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
