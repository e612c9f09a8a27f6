// SPDX-License-Identifier: Apache-2.0
//
// allocs_new.cc - each operator new and delete, with sizes that are known, and those that throw.
// Prints its truth as allocs.c does.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define KEPT __attribute__((noipa))

static char told[1 << 14];
static size_t told_bytes;

template <typename... Values> static void tell(const char *format, Values... values)
{
    told_bytes += static_cast<size_t>(
        snprintf(told + told_bytes, sizeof(told) - told_bytes, format, values...));
}

static void hold(void *&block)
{
    asm volatile("" : "+r"(block) : : "memory");
}

static constexpr std::align_val_t aligned{256};
static constexpr size_t EACH = 10;

// Each asks by its own operator; what stays is never freed.
#define DEFINE_SITE(name, ...)           \
    extern "C" KEPT void *name(size_t n) \
    {                                    \
        void *block = __VA_ARGS__;       \
        hold(block);                     \
        return block;                    \
    }
DEFINE_SITE(new_plain, ::operator new(n))
DEFINE_SITE(new_array, ::operator new[](n))
DEFINE_SITE(new_nothrow, ::operator new(n, std::nothrow))
DEFINE_SITE(new_array_nothrow, ::operator new[](n, std::nothrow))
DEFINE_SITE(new_aligned, ::operator new(n, aligned))
DEFINE_SITE(new_array_aligned, ::operator new[](n, aligned))
DEFINE_SITE(new_aligned_nothrow, ::operator new(n, aligned, std::nothrow))
DEFINE_SITE(new_array_aligned_nothrow, ::operator new[](n, aligned, std::nothrow))

// The deletes of each, in turn.
static void give_back(size_t site, size_t turn, void *block, size_t n)
{
    switch (site * 4 + turn % 3) {
    case 0:
        ::operator delete(block);
        break;
    case 1:
        ::operator delete(block, n);
        break;
    case 2:
        ::operator delete(block, std::nothrow);
        break;
    case 4:
        ::operator delete[](block);
        break;
    case 5:
        ::operator delete[](block, n);
        break;
    case 6:
        ::operator delete[](block, std::nothrow);
        break;
    case 16:
        ::operator delete(block, aligned);
        break;
    case 17:
        ::operator delete(block, n, aligned);
        break;
    case 18:
        ::operator delete(block, aligned, std::nothrow);
        break;
    case 20:
        ::operator delete[](block, aligned);
        break;
    case 21:
        ::operator delete[](block, n, aligned);
        break;
    case 22:
        ::operator delete[](block, aligned, std::nothrow);
        break;
    default:
        if (site == 2)
            ::operator delete(block, std::nothrow);
        else if (site == 3)
            ::operator delete[](block, std::nothrow);
        else if (site == 6)
            ::operator delete(block, aligned, std::nothrow);
        else
            ::operator delete[](block, aligned, std::nothrow);
    }
}

static int handler_calls;

static void on_no_memory()
{
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

static volatile size_t too_much = static_cast<size_t>(PTRDIFF_MAX) - 4096;

// allocs_new [calm]: calm leaves out what must fail; mimalloc's operators end the program there.
int main(int argc, char **argv)
{
    const bool is_calm = argc > 1 && strcmp(argv[1], "calm") == 0;
    static const struct {
        const char *name;
        void *(*ask)(size_t);
    } sites[] = {{"new_plain", new_plain},
                 {"new_array", new_array},
                 {"new_nothrow", new_nothrow},
                 {"new_array_nothrow", new_array_nothrow},
                 {"new_aligned", new_aligned},
                 {"new_array_aligned", new_array_aligned},
                 {"new_aligned_nothrow", new_aligned_nothrow},
                 {"new_array_aligned_nothrow", new_array_aligned_nothrow}};
    int thrown = 0, null = 0;
    tell("{\"sites\":{");
    for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
        // libstdc++ rounds what it asks for up to the alignment.
        const size_t bytes = 256 + 256 * i;
        for (size_t k = 0; k < EACH; k++) {
            void *block = sites[i].ask(bytes);
            if (!block)
                return 3;
            memset(block, 1, bytes);
            if (k < EACH - 4)
                give_back(i, k, block, bytes);
        }
        tell("%s\"%s\":{\"objects\":%zu,\"bytes\":%zu,\"live_objects\":4,\"live_bytes\":%zu}",
             i ? "," : "", sites[i].name, EACH, EACH * bytes, 4 * bytes);
        if (is_calm)
            continue;
        std::set_new_handler(on_no_memory);
        handler_calls = 0;
        try {
            if (!sites[i].ask(too_much))
                null++;
        } catch (const std::bad_alloc &) {
            thrown++;
        }
        if (handler_calls != 3)
            return 4;
    }
    tell("},\"thrown\":%d,\"null\":%d}\n", thrown, null);
    return write(STDOUT_FILENO, told, told_bytes) == static_cast<ssize_t>(told_bytes) ? 0 : 5;
}
