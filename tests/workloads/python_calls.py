# SPDX-License-Identifier: Apache-2.0
"""Calls of many kinds. python_calls.py count SCENARIO,... FILE writes what a tracer in pure Python sees of
them; python_calls.py run SCENARIO,... does the same without it.

A row of the file: event, function, line of its beginning, how often. Events are those of sys.setprofile: of
functions of this file, and of native functions that they call.
"""
import asyncio
import collections
import contextlib
import dataclasses
import functools
import json
import operator
import re
import sys
import threading


# ---- scenarios ----

def recursion():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    assert even(100) and fib(12) == 144


def generators():
    def numbers(n):
        for i in range(n):
            got = yield i
            if got:
                yield -got

    def chain(n):
        yield from numbers(n)
        return (yield from numbers(2))

    def stubborn():
        try:
            yield 1
        except ValueError:
            yield 2
        finally:
            len("done")
    assert list(chain(5)) == [0, 1, 2, 3, 4, 0, 1]
    g = numbers(4)
    assert next(g) == 0 and g.send(7) == -7 and next(g) == 1
    g.close()
    s = stubborn()
    assert next(s) == 1 and s.throw(ValueError("x")) == 2
    s.close()
    # Up to 3.10 a tracer in pure Python misses calls of these.
    if sys.version_info >= (3, 11):
        never = numbers(3)
        never.close()
        left = numbers(5)
        next(left)
        del left
    assert sum(x * x for x in range(10)) == 285


def coroutines():
    class Lock:
        async def __aenter__(self):
            await asyncio.sleep(0)

        async def __aexit__(self, *_):
            await asyncio.sleep(0)

    async def ticks(n):
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    async def worker(n):
        async with Lock():
            return [i async for i in ticks(n)]

    async def fails():
        await asyncio.sleep(0)
        raise KeyError("async")

    async def main():
        got = await asyncio.gather(worker(3), worker(4), fails(), return_exceptions=True)
        assert [len(x) for x in got[:2]] == [3, 4] and isinstance(got[2], KeyError)
        task = asyncio.ensure_future(worker(1000))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    asyncio.run(main())


def exceptions():
    def fail(n):
        if n % 2:
            raise ValueError("odd")
        return int("none")

    def passes(n):
        return fail(n)

    def through_native(n):
        return sorted([3, 1, 2], key=lambda x: passes(n))

    def again(n):
        try:
            through_native(n)
        except ValueError as why:
            raise RuntimeError("again") from why

    def cleans(n):
        try:
            again(n)
        finally:
            abs(n)
    for i in range(100):
        try:
            cleans(i)
        except RuntimeError:
            pass
    for i in range(20):
        try:
            exec("def inside(): return {}[1]\ninside()", {})
        except KeyError:
            pass
    try:
        {}["missing"]
    except KeyError:
        pass


def callbacks():
    def key(x):
        return -x

    def add(a, b):
        return a + b

    class Ordered:
        def __init__(self, value):
            self.value = value

        def __lt__(self, other):
            return self.value < other.value

        def __eq__(self, other):
            return self.value == other.value

        def __hash__(self):
            return hash(self.value)
    assert sorted([1, 3, 2], key=key) == [3, 2, 1]
    assert functools.reduce(add, range(10)) == 45
    assert list(map(add, [1, 2], [3, 4])) == [4, 6]
    assert re.sub("a", lambda m: m.group().upper(), "banana") == "bAnAnA"
    assert min(Ordered(3), Ordered(2)).value == 2
    assert len({Ordered(1), Ordered(1), Ordered(2)}) == 2
    assert operator.methodcaller("upper")("x") == "X"
    assert functools.partial(add, 1)(2) == 3
    assert "x".join(str(i) for i in range(3)) == "0x1x2"


def classes():
    class Meta(type):
        def __new__(mcs, name, bases, space):
            return super().__new__(mcs, name, bases, space)

        def __call__(cls, *args):
            return super().__call__(*args)

    class Base(metaclass=Meta):
        def __init_subclass__(cls, **kwargs):
            super().__init_subclass__(**kwargs)

        def __init__(self, x=1):
            self._x = x

        @property
        def x(self):
            return self._x

        @staticmethod
        def static():
            return 1

        @classmethod
        def made(cls):
            return cls(5)

        def __getattr__(self, name):
            return name

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return True

    class Derived(Base):
        pass

    @dataclasses.dataclass
    class Point:
        x: int
        y: int = 2
    assert Derived.made().x == 5 and Derived.static() == 1 and Base().missing == "missing"
    with Derived() as d:
        assert d.x == 1
        raise ValueError("swallowed")
    assert Point(1) == Point(1) and repr(Point(1))


def comprehensions():
    assert [i for i in range(5)] and {i: i for i in range(5)} and {i for i in range(5)}
    assert [[j for j in range(i)] for i in range(4)]
    assert (lambda: [x for x in (lambda n: range(n))(3)])() == [0, 1, 2]


def executed():
    space = {}
    exec(compile("def f(n):\n    return n and f(n - 1)\nf(5)\n", __file__, "exec"), space)
    assert eval("f(3)", space) == 0


def threads():
    def work(n):
        return sum(half(i) for i in range(n))

    def half(i):
        return i // 2
    running = [threading.Thread(target=work, args=(50 + i,), name=f"worker {i}") for i in range(6)]
    for t in running:
        t.start()
    for t in running:
        t.join()


def deep():
    def down(n):
        return n and down(n - 1)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    down(5000)
    sys.setrecursionlimit(limit)
    caught = 0
    try:
        down(100000)
    except RecursionError:
        caught = 1
    assert caught


SCENARIOS = {f.__name__: f for f in (recursion, generators, coroutines, exceptions, callbacks, classes,
                                     comprehensions, executed, threads, deep)}


# ---- the reference ----

class Reference:
    def __init__(self):
        self.counts = collections.Counter()

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if code.co_filename != __file__:
            return
        if event in ("call", "return"):
            name = getattr(code, "co_qualname", code.co_name)
            self.counts[event, name, code.co_firstlineno] += 1
        elif arg is not sys.setprofile:
            self.counts[event, arg.__name__, 0] += 1


def count(scenario, reference):
    threading.setprofile(reference)
    sys.setprofile(reference)
    scenario()
    sys.setprofile(None)
    threading.setprofile(None)


def main():
    names = sys.argv[2].split(",")
    if sys.argv[1] == "run":
        for name in names:
            SCENARIOS[name]()
        return
    reference = Reference()
    for name in names:
        count(SCENARIOS[name], reference)
    with open(sys.argv[3], "w") as out:
        json.dump([[*key, n] for key, n in sorted(reference.counts.items())], out)


if __name__ == "__main__":
    main()
