/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.cc - what marker.hpp adds to marker.h, and what the library gets of it.
 */
#include "kymo/marker.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "fake_library.h"

#define CHECK(holds)                                                         \
    do {                                                                     \
        if (!(holds)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #holds); \
            std::exit(1);                                                    \
        }                                                                    \
    } while (0)

KYMO_CATEGORY(net, "Network calls", BLUE);
#define NOTE(F) F(text, text, NULL, STRING, 0) F(opt_i64, number, NULL, INTEGER, 0)
KYMO_TYPE_PLAIN(note, "Note", NOTE, 0, nullptr, KYMO_SHOWN_AS(note, "", text), nullptr, nullptr,
                nullptr, nullptr, nullptr, 0, 0);

namespace {

const fake_call *call;
bool is_on;

bool seen(unsigned expected)
{
    unsigned count;
    call = fake_calls(&count);
#ifdef KYMO_DISABLE
    expected = 0;
#endif
    if (!is_on)
        expected = 0;
    if (count != expected)
        std::fprintf(stderr, "%u calls, not %u\n", count, expected);
    CHECK(count == expected);
    return expected != 0;
}

void strings()
{
    std::string text = "a string";
    KYMO_MARKER_TEXT(net, "text", text);
    if (seen(1))
        CHECK(!std::strcmp(call->key, "a string"));
    KYMO_MARKER_TEXT(net, "text", "a literal");
    if (seen(1))
        CHECK(!std::strcmp(call->key, "a literal"));
    KYMO_MARKER_T(net, "typed", note, kymo::text(text), kymo::some(int64_t{3}));
    if (seen(1)) {
        note got;
        std::memcpy(&got, call->payload, sizeof got);
        CHECK(got.text.len == 8 && got.number.is_there == 1 && got.number.value == 3);
    }
    KYMO_MARKER_VALUES(net, "values", text, nullptr, text.size(), strings);
    if (seen(1)) {
        CHECK(call->cells[0].kind == KYMO_KIND_TEXT && call->cells[0].len == 8);
        CHECK(call->cells[1].kind == KYMO_KIND_PTR && call->cells[2].as.u64 == 8);
        CHECK(call->cells[3].kind == KYMO_KIND_PTR && call->cells[3].as.ptr);
    }
#if __cplusplus >= 201703L
    KYMO_MARKER_TEXT(net, "view", std::string_view(text).substr(2));
    if (seen(1))
        CHECK(!std::strcmp(call->key, "string"));
    CHECK(kymo::some(std::optional<double>()).is_there == 0);
    CHECK(kymo::text(std::u16string_view(u"abc")).len == 3);
#endif
}

/* What is there until the end of its statement, and says so when it goes. */
struct temporary {
    explicit temporary(const char *text)
    {
        std::snprintf(data, sizeof data, "%s", text);
    }
    ~temporary()
    {
        std::memset(data, '#', sizeof data);
    }
    temporary(const temporary &) = delete;
    temporary &operator=(const temporary &) = delete;
    operator kymo_mark_text() const
    {
        return {data, std::strlen(data)};
    }
    char data[16];
};

bool is_cell(const kymo_mark_cell &cell, const char *text)
{
    return cell.kind == KYMO_KIND_TEXT && cell.len == std::strlen(text);
}

/* fake_library copies texts of cells and payloads when they are handed over. */
void temporaries()
{
    KYMO_MARKER_TEXT(net, "text", temporary("alive"));
    if (seen(1))
        CHECK(!std::strcmp(call->key, "alive"));
    KYMO_MARKER_TEXT(net, "text", std::string(60, 'x'));
    if (seen(1))
        CHECK(std::string(call->key) == std::string(60, 'x'));
    KYMO_MARKER_TEXT_OPT(net, "text", kymo::options().name(std::string(40, 'n')),
                         temporary("alive"));
    if (seen(1))
        CHECK(!std::strcmp(call->key, "alive") && call->name == std::string(40, 'n'));
    KYMO_MARKER_FMT(net, "format", "%d %.*s", 1, 5, temporary("alive").data);
    if (seen(1))
        CHECK(!std::strcmp(call->cell_texts[2], "alive"));
    KYMO_MARKER_VALUES(net, "values", temporary("alive"), temporary("too"));
    if (seen(1)) {
        CHECK(is_cell(call->cells[0], "alive") && !std::strcmp(call->cell_texts[0], "alive"));
        CHECK(is_cell(call->cells[1], "too") && !std::strcmp(call->cell_texts[1], "too"));
    }
    KYMO_MARKER_T(net, "typed", note, temporary("alive"));
    if (seen(1))
        CHECK(!std::strcmp(call->key, "alive"));
    KYMO_MARKER_T_OPT(net, "typed", note, kymo::options(), kymo::text(std::string(60, 'y')));
    if (seen(1))
        CHECK(std::string(call->key) == std::string(60, 'y'));
    KYMO_LABEL_SET("set", temporary("alive"));
    {
        KYMO_LABEL_SCOPE("scope", temporary("alive"));
        kymo::label object("object", std::string(60, 'z'));
    }
    if (seen(5)) {
        CHECK(!std::strcmp(call[0].cell_texts[0], "alive"));
        CHECK(!std::strcmp(call[1].cell_texts[0], "alive"));
        CHECK(call[2].cell_texts[0] == std::string(60, 'z'));
    }
    uint64_t id = KYMO_INTERVAL_BEGIN_T(net, "job", note, temporary("begins"));
    KYMO_INTERVAL_END_T(net, "job", id, note, temporary("ends"));
    if (seen(2))
        CHECK(!std::strcmp(call[0].key, "begins") && !std::strcmp(call[1].key, "ends"));
}

void options()
{
    std::string name = "a name";
    KYMO_MARKER_OPT(net, "x", kymo::options().since(5).stack_here().owner(7).name(name));
    if (seen(1)) {
        CHECK(call->options.timing == KYMO_TIMING_SINCE && call->options.start == 5);
        CHECK(call->options.stack == KYMO_STACK_HERE && call->options.owner == 7);
        CHECK(call->options.size == sizeof call->options && !std::strcmp(call->name, "a name"));
    }
    {
        KYMO_SCOPE_OPT(net, "scope", kymo::options().track(3).main_thread());
    }
    if (seen(2))
        CHECK(call[1].options.track == 3 && call[1].options.thread == KYMO_THREAD_MAIN);
}

void throws()
{
    KYMO_SCOPE(net, "thrown out of");
    KYMO_LABEL_SCOPE("key", std::string("value"));
    throw std::runtime_error("x");
}

void scopes()
{
    try {
        throws();
    } catch (const std::exception &) {
    }
    if (seen(4)) {
        CHECK(!std::strcmp(call[2].what, "label_pop") && !std::strcmp(call[3].what, "scope_end"));
        CHECK(call[1].cells[0].kind == KYMO_KIND_TEXT && call[1].cells[0].len == 5);
    }
    {
        std::string text = "late";
        KYMO_SCOPE_OBJECT(one, net, "one");
        KYMO_SCOPE_OBJECT(two, net, "two");
        one.text(text);
        two.cancel();
    }
    if (seen(4)) {
        CHECK(call[2].flags == KYMO_SCOPE_IS_CANCELLED && call[3].flags == 0);
        CHECK(!std::strcmp(call[3].key, "late") && call[3].site->kind == KYMO_SITE_TEXT);
    }
    {
        kymo::label first("first", 1);
        kymo::label second("second", "two");
        second.end();
    }
    if (seen(4))
        CHECK(!std::strcmp(call[1].key, "second") && call[2].number == call[1].number);
}

void intervals()
{
    kymo::interval kept;
    {
        KYMO_INTERVAL_OBJECT(job, net, "job");
        KYMO_INTERVAL_OBJECT(given, net, "given");
        kept = std::move(job);
        given.release();
    }
    if (seen(2)) {
        CHECK(call[0].options.timing == KYMO_TIMING_START && call[0].options.id == kept.id());
        uint64_t id = kept.id();
        kept.end();
        CHECK(seen(1) && call[0].options.timing == KYMO_TIMING_END && call[0].options.id == id);
    }
}

} // namespace

int main()
{
    for (int on = 0; on < 2; on++) {
        is_on = on != 0;
        fake_switch(on);
        strings();
        temporaries();
        options();
        scopes();
        intervals();
    }
    return 0;
}
