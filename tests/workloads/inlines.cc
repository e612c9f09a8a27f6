// SPDX-License-Identifier: Apache-2.0
//
// inlines.cc [ROUNDS] - C++ whose time is in functions that the compiler has inlined. The names
// that a profile must show, from the outside in:
//
//     main > geometry::total_area > geometry::Shape<Tag>::area (inlined) > geometry::polish
//     (inlined) main > text::checksum > text::(anonymous namespace)::rotate (inlined), operator()
//     of a lambda main > careful > risky, which throws; both keep their frames
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#define INLINED inline __attribute__((always_inline))
#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa)) // not cloned for some argument either
#endif

namespace geometry {

struct Round {
    static constexpr std::uint64_t factor = 3141592653u;
};
struct Square {
    static constexpr std::uint64_t factor = 4000000007u;
};

INLINED std::uint64_t polish(std::uint64_t x, int rounds)
{
    for (int i = 0; i < rounds; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

template <typename Tag> class Shape {
  public:
    explicit Shape(std::uint64_t size) : size_(size)
    {
    }

    INLINED std::uint64_t area() const
    {
        return polish(size_ * Tag::factor, 400);
    }

  private:
    std::uint64_t size_;
};

template <typename Tag> KEPT std::uint64_t total_area(std::uint64_t count)
{
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < count; i++)
        total += Shape<Tag>(i).area();
    return total;
}

} // namespace geometry

namespace text {

namespace {

// Long enough that samples find it on every processor: of one instruction between others all
// samples may go to its neighbours.
INLINED std::uint32_t rotate(std::uint32_t x, int by)
{
    for (int i = 0; i < 24; i++)
        x = (x << by | x >> (32 - by)) * 2654435761u;
    return x;
}

} // namespace

KEPT std::uint32_t checksum(const std::string &text, std::uint64_t count)
{
    std::uint32_t sum = 1;
    auto mix = [&sum](unsigned char c) __attribute__((always_inline))
    {
        sum = rotate(sum ^ c, 13) * 5u + 0xe6546b64u;
    };
    for (std::uint64_t i = 0; i < count; i++)
        for (char c : text)
            mix(static_cast<unsigned char>(c));
    return sum;
}

} // namespace text

KEPT static std::uint64_t risky(std::uint64_t i)
{
    std::uint64_t x = geometry::polish(i, 300);
    if (x % 64 == 0)
        throw std::runtime_error("one in 64");
    return x;
}

KEPT static unsigned careful(std::uint64_t count)
{
    unsigned caught = 0;
    for (std::uint64_t i = 0; i < count; i++) {
        try {
            risky(i);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    return caught;
}

int main(int argc, char **argv)
{
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300;
    const std::string sentence(4000, 'k');
    std::uint64_t area = 0;
    std::uint32_t sum = 0;
    unsigned caught = 0;
    for (std::uint64_t i = 0; i < rounds; i++) {
        area += geometry::total_area<geometry::Round>(2000);
        area ^= geometry::total_area<geometry::Square>(2000);
        sum = sum * 31 + text::checksum(sentence, 8);
        caught += careful(2000);
    }
    std::printf("area %016llx checksum %08x caught %u\n", static_cast<unsigned long long>(area),
                static_cast<unsigned>(sum), caught);
    return 0;
}
