/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marker.hpp - marker.h for C++: objects instead of pairs of calls, strings with a length.
 *
 * Flow:     your code -> [marker.hpp] -> marker.h
 * Threads:  an interval may be moved to another thread; scopes and labels stay where they are
 * Memory:   nothing is allocated
 * Signals:  as marker.h
 *
 * Every macro of marker.h works in C++, exceptions included. With this file texts may be
 * std::string and std::string_view as well, and there are
 *
 *     KYMO_SCOPE_OBJECT(scope, net, "fetch");    that can be cancelled, and told a text
 *     KYMO_INTERVAL_OBJECT(job, work, "job");    ends when it is destroyed, in any thread
 *     kymo::label user("user", name);            with a key that need not be a literal
 *     KYMO_MARKER_OPT(net, "retry", kymo::options().since(t).stack_here());
 *
 * All of it is inline; a library of Kymo has no C++ in it.
 */
#ifndef KYMO_MARKER_HPP
#define KYMO_MARKER_HPP

#include <string>
#include <utility>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif

#include "kymo/marker.h"

namespace kymo {

/* ---- values of fields ---- */

inline kymo_mark_text text(const char *value)
{
    return kymo_text_of_(value);
}

inline kymo_mark_text text(const std::string &value)
{
    return {value.data(), value.size()};
}

inline kymo_mark_utf16 text(const std::u16string &value)
{
    return {reinterpret_cast<const uint16_t *>(value.data()), value.size()};
}

inline kymo_mark_opt_i64 some(int64_t value)
{
    return {value, 1};
}

inline kymo_mark_opt_u64 some(uint64_t value)
{
    return {value, 1};
}

inline kymo_mark_opt_f64 some(double value)
{
    return {value, 1};
}

#if __cplusplus >= 201703L
inline kymo_mark_text text(std::string_view value)
{
    return {value.data(), value.size()};
}

inline kymo_mark_utf16 text(std::u16string_view value)
{
    return {reinterpret_cast<const uint16_t *>(value.data()), value.size()};
}

inline kymo_mark_opt_i64 some(std::optional<int64_t> value)
{
    return {value.value_or(0), value.has_value()};
}

inline kymo_mark_opt_u64 some(std::optional<uint64_t> value)
{
    return {value.value_or(0), value.has_value()};
}

inline kymo_mark_opt_f64 some(std::optional<double> value)
{
    return {value.value_or(0), value.has_value()};
}
#endif

} // namespace kymo

/* What KYMO_MARKER_TEXT, KYMO_MARKER_FMT, KYMO_LABEL_SCOPE and so on take. */
inline kymo_mark_text KYMO_TEXT_OF_(const std::string &value)
{
    return kymo::text(value);
}

/* What a scope reads at its end: not of a string that is gone at the semicolon. */
inline kymo_mark_text KYMO_TEXT_THAT_STAYS_(const std::string &value)
{
    return kymo::text(value);
}
kymo_mark_text KYMO_TEXT_THAT_STAYS_(const std::string &&value) = delete;

inline kymo_mark_cell KYMO_CELL(const std::string &value)
{
    return kymo_cell_text_(kymo::text(value));
}

#if __cplusplus >= 201703L
inline kymo_mark_text KYMO_TEXT_OF_(std::string_view value)
{
    return kymo::text(value);
}

inline kymo_mark_text KYMO_TEXT_THAT_STAYS_(std::string_view value)
{
    return kymo::text(value);
}

inline kymo_mark_cell KYMO_CELL(std::string_view value)
{
    return kymo_cell_text_(kymo::text(value));
}
#endif

namespace kymo {

/* ---- options ---- */

/* What KYMO_OPTIONS says, one by one: where a macro takes options, `kymo::options().owner(7)`. */
class options {
  public:
    options() : options_()
    {
        options_.size = sizeof options_;
    }

    /* An instant at `clock`; from one to another; from one to now. */
    options &at(uint64_t clock)
    {
        options_.timing = KYMO_TIMING_AT;
        options_.start = clock;
        return *this;
    }
    options &interval(uint64_t start, uint64_t end)
    {
        options_.timing = KYMO_TIMING_INTERVAL;
        options_.start = start;
        options_.end = end;
        return *this;
    }
    options &since(uint64_t start)
    {
        options_.timing = KYMO_TIMING_SINCE;
        options_.start = start;
        return *this;
    }
    /* Of KYMO_INTERVAL_BEGIN_OPT: a number that the program has for it already. */
    options &id(uint64_t number)
    {
        options_.id = number;
        return *this;
    }
    options &stack_here()
    {
        return stack(KYMO_STACK_HERE);
    }
    options &stack(uint64_t taken)
    {
        options_.stack = taken;
        return *this;
    }
    options &track(uint64_t track)
    {
        options_.track = track;
        return *this;
    }
    options &owner(uint64_t owner)
    {
        options_.owner = owner;
        return *this;
    }
    options &thread(uint32_t thread)
    {
        options_.thread = thread;
        return *this;
    }
    options &main_thread()
    {
        return thread(KYMO_THREAD_MAIN);
    }
    /* The text has to stay until the marker is made. */
    options &name(kymo_mark_text name)
    {
        options_.name = name.data;
        options_.name_len = static_cast<uint32_t>(name.len);
        return *this;
    }
    options &name(const char *name)
    {
        return this->name(kymo_text_of_(name));
    }
    options &name(const std::string &name)
    {
        return this->name(text(name));
    }

    operator const kymo_mark_options *() const
    {
        return &options_;
    }

  private:
    kymo_mark_options options_;
};

/* ---- labels ---- */

/* KYMO_LABEL_SCOPE with a key that is copied, and with an object that can end early. */
class label {
  public:
    template <class Value> label(const char *key, const Value &value) : depth_(0)
    {
        if (KYMO_LISTENS_()) {
            const kymo_mark_cell cell = KYMO_CELL(value);
            depth_ = KYMO_MARK_CALLS_->label_push(key, &cell);
        }
    }
    ~label()
    {
        end();
    }
    label(const label &) = delete;
    label &operator=(const label &) = delete;

    /* Labels end in the reverse of the order in which they began. */
    void end()
    {
        if (depth_ != 0)
            KYMO_MARK_CALLS_->label_pop(depth_);
        depth_ = 0;
    }

  private:
    uint32_t depth_;
};

/* ---- scopes ---- */

/* Made by KYMO_SCOPE_OBJECT. */
class scope {
  public:
    scope() : open_(nullptr), text_()
    {
    }
    ~scope()
    {
        kymo_scope_end_(&open_);
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;

    void begin(kymo_mark_site *site)
    {
        open_ = kymo_scope_begin_(&scope_, site, &text_, nullptr, nullptr);
    }
    /* Its text, which is copied at its end, and has to stay until then. */
    void text(kymo_mark_text text)
    {
        text_ = text;
    }
    void text(const char *text)
    {
        text_ = kymo_text_of_(text);
    }
    void text(const std::string &value)
    {
        text_ = kymo::text(value);
    }
    void text(const std::string &&value) = delete;
    void cancel()
    {
        kymo_scope_cancel_(open_);
    }

  private:
    kymo_mark_scope scope_; /* while it is recorded */
    kymo_mark_scope *open_; /* it, or NULL */
    kymo_mark_text text_;
};

/* ---- intervals ---- */

/* Made by KYMO_INTERVAL_OBJECT. Moves with the work, to any thread. */
class interval {
  public:
    interval() : site_(nullptr), id_(0)
    {
    }
    interval(kymo_mark_site *site, uint64_t id) : site_(site), id_(id)
    {
    }
    interval(interval &&other) noexcept : site_(other.site_), id_(other.id_)
    {
        other.id_ = 0;
    }
    interval &operator=(interval &&other) noexcept
    {
        if (this != &other) {
            end();
            std::swap(site_, other.site_);
            std::swap(id_, other.id_);
        }
        return *this;
    }
    interval(const interval &) = delete;
    interval &operator=(const interval &) = delete;
    ~interval()
    {
        end();
    }

    void end()
    {
        if (id_ != 0 && kymo_mark_is_on_(site_->category))
            kymo_interval_end_(site_, nullptr, id_, nullptr);
        id_ = 0;
    }
    /* 0: its category was off when it began. */
    uint64_t id() const
    {
        return id_;
    }
    /* This object no longer ends the interval: KYMO_INTERVAL_END_T will, by this number. */
    uint64_t release()
    {
        uint64_t id = id_;
        id_ = 0;
        return id;
    }

  private:
    kymo_mark_site *site_;
    uint64_t id_;
};

} // namespace kymo

#ifndef KYMO_DISABLE
#define KYMO_SCOPE_OBJECT(var, category, label)                                               \
    KYMO_SITE_(KYMO_PASTE_(var, _site), kymo_category_##category, KYMO_NO_TYPE_, label, NULL, \
               KYMO_SITE_TEXT, 0);                                                            \
    kymo::scope var;                                                                          \
    if (KYMO_IS_ON(category))                                                                 \
    var.begin(KYMO_SITE_AT_(KYMO_PASTE_(var, _site)))
#define KYMO_INTERVAL_OBJECT(var, category, label)                                            \
    KYMO_SITE_(KYMO_PASTE_(var, _site), kymo_category_##category, KYMO_NO_TYPE_, label, NULL, \
               KYMO_SITE_MARKER, 0);                                                          \
    kymo::interval var(                                                                       \
        KYMO_SITE_AT_(KYMO_PASTE_(var, _site)),                                               \
        KYMO_IS_ON(category)                                                                  \
            ? kymo_interval_begin_(KYMO_SITE_AT_(KYMO_PASTE_(var, _site)), NULL, NULL)        \
            : 0)
#else
#define KYMO_SCOPE_OBJECT(var, category, label) \
    kymo::scope var;                            \
    (void)sizeof("" label "");                  \
    (void)sizeof(kymo_category_##category)
#define KYMO_INTERVAL_OBJECT(var, category, label) \
    kymo::interval var;                            \
    (void)sizeof("" label "");                     \
    (void)sizeof(kymo_category_##category)
#endif

#endif
