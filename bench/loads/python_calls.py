# SPDX-License-Identifier: Apache-2.0
"""python_calls.py WAY LOAD ROUNDS - one of four loads, traced in this process in a way; prints the CPU time of
the load in ns, and what it came to."""
import ast
import heapq
import json
import os
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def run_fib(rounds):
    return sum(fib(22) for _ in range(rounds))


SOURCE = open(os.path.abspath(ast.__file__)).read()


def run_ast(rounds):
    n = 0
    for _ in range(rounds):
        tree = ast.parse(SOURCE)
        n += sum(1 for _ in ast.walk(tree))
        n += len(ast.unparse(ast.Module(tree.body[:40], [])))
    return n


def run_json(rounds):
    data = [{"id": i, "name": f"n{i}", "values": [i, i * 0.5, None, True], "more": {"k": str(i)}}
            for i in range(200)]
    # In Python, not in C.
    encoder = json.encoder._make_iterencode(None, json.JSONEncoder().default, json.encoder.py_encode_basestring,
                                            None, repr, ": ", ", ", False, False, False)
    return sum(len("".join(encoder(data, 0))) for _ in range(rounds))


class Event:
    def __init__(self, at, actor):
        self.at, self.actor = at, actor

    def __lt__(self, other):
        return self.at < other.at


class Actor:
    def __init__(self, number):
        self.number, self.seen = number, 0

    @property
    def weight(self):
        return self.number % 7 + 1

    def step(self, world, at):
        self.seen += self.weight
        world.post(Event(at + self.weight, self))


class World:
    def __init__(self):
        self.queue = []

    def post(self, event):
        heapq.heappush(self.queue, event)

    def run(self, steps):
        for _ in range(steps):
            event = heapq.heappop(self.queue)
            event.actor.step(self, event.at)


def run_sim(rounds):
    world = World()
    actors = [Actor(i) for i in range(50)]
    for actor in actors:
        world.post(Event(0, actor))
    world.run(4000 * rounds)
    return sum(actor.seen for actor in actors)


def begin(way):
    """Starts the tracer; returns what ends it."""
    if way == "hook":
        import _hook
        _hook.start()
    elif way == "records":
        import _hook
        _hook.start_records()
    elif way == "kymo":
        import kymo
        if not kymo.start():
            sys.exit("there is no recorder")
        return kymo.stop
    elif way == "cprofile":
        import cProfile
        profile = cProfile.Profile()
        profile.enable()
        return lambda: (profile.disable(), profile.dump_stats(sys.argv[4]))
    elif way == "viztracer":
        from viztracer import VizTracer
        tracer = VizTracer(output_file=sys.argv[4], tracer_entries=int(sys.argv[5]), verbose=0)
        tracer.start()
        return lambda: (tracer.stop(), tracer.save())
    elif way == "trace0":
        import trace0
        tracer = trace0.Tracer(sys.argv[4])
        tracer.__enter__()
        return lambda: tracer.__exit__(None, None, None)
    return lambda: None


def main():
    load, rounds = globals()["run_" + sys.argv[2]], int(sys.argv[3])
    load(1)
    end = begin(sys.argv[1]) or (lambda: None)
    before = time.process_time_ns()
    result = load(rounds)
    took = time.process_time_ns() - before
    end()
    print(took, result)


main()
