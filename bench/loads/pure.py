# SPDX-License-Identifier: Apache-2.0
"""Pure-Python work of two or three seconds: planets, words and sieves, as an interpreter sees them."""
import sys


def advance(bodies, steps):
    for _ in range(steps):
        for i, one in enumerate(bodies):
            for other in bodies[i + 1:]:
                dx, dy, dz = one[0] - other[0], one[1] - other[1], one[2] - other[2]
                pull = 0.01 / (dx * dx + dy * dy + dz * dz) ** 1.5
                for axis, distance in ((3, dx), (4, dy), (5, dz)):
                    one[axis] -= distance * other[6] * pull
                    other[axis] += distance * one[6] * pull
        for body in bodies:
            for axis in range(3):
                body[axis] += 0.01 * body[axis + 3]


def count_words(rounds):
    counts = {}
    for i in range(rounds):
        for word in f"the {i % 997} drum turns {i % 31} times and {i % 7} again".split():
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]


def primes(limit):
    sieve = [True] * limit
    for i in range(2, int(limit ** 0.5) + 1):
        if sieve[i]:
            for multiple in range(i * i, limit, i):
                sieve[multiple] = False
    return sum(sieve) - 2


def main(rounds):
    bodies = [[float(i), float(i * i % 7), float(i * 3 % 5), 0.1 * i, 0.2, -0.1 * i, 1.0 + i]
              for i in range(5)]
    for _ in range(rounds):
        advance(bodies, 4000)
        print(round(bodies[0][0], 6), count_words(80000), primes(600000))


main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
