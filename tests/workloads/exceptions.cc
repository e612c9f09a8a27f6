// SPDX-License-Identifier: Apache-2.0
//
// exceptions.cc [THROWS] - throws through five frames, each with a destructor, about ten thousand
// times a second of CPU time. Fails when a single destructor or handler was missed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#ifdef __clang__
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noipa)) // not cloned for some argument either
#endif

static volatile std::uint64_t burnt;

KEPT static void burn_between_throws(int rounds)
{
    std::uint64_t x = burnt;
    for (int i = 0; i < rounds; i++)
        x = x * 6364136223846793005u + 23;
    burnt = x;
}

static unsigned long destroyed;

struct Witness {
    ~Witness()
    {
        destroyed++;
    }
};

KEPT static int fall(int depth, int number)
{
    Witness witness;
    burn_between_throws(8000);
    if (depth == 0)
        throw std::out_of_range(std::to_string(number));
    return fall(depth - 1, number) + 1;
}

int main(int argc, char **argv)
{
    const int throws = argc > 1 ? std::atoi(argv[1]) : 10000;
    long caught = 0;
    for (int i = 0; i < throws; i++) {
        try {
            caught += fall(4, i);
        } catch (const std::out_of_range &error) {
            caught += std::atoi(error.what()) == i;
        }
    }
    std::printf("%d throws, %ld caught, %lu destroyed\n", throws, caught, destroyed);
    return caught == throws && destroyed == 5ul * static_cast<unsigned long>(throws) ? 0 : 1;
}
