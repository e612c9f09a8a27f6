# SPDX-License-Identifier: Apache-2.0
"""Chains of calls with known truth, for the stacks of Python frames: see integration/python_frames.py.

Each chain ends in a leaf that uses CPU time, in a loop that enters no other Python function. The leaf
writes the chain that sys._getframe shows, one line of JSON each, to the file that is named first: name,
file and line of each caller, the outermost first. Each chain runs cold, and again when the interpreter
has specialised it. Written for every version from 3.9 on.
"""
import asyncio
import collections
import contextlib
import ctypes
import functools
import gc
import itertools
import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import time

TRUTH = sys.argv[1]
SPIN_S = float(sys.argv[2])
WHICH = sys.argv[3] if len(sys.argv) > 3 else "plain"
spins = True
seen = set()


def write_truth(frame, leaf=None):
    chain, leaf = [], leaf or frame.f_code.co_name
    while frame:
        code = frame.f_code
        chain.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    line = json.dumps({"leaf": leaf, "pid": os.getpid(), "chain": chain[::-1]}) + "\n"
    if line not in seen:
        seen.add(line)
        fd = os.open(TRUTH, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(fd, line.encode())
        os.close(fd)


LEAF = """
def {name}(*unused):
    if not spins:
        return 0
    write_truth(_getframe())
    end = thread_time() + SPIN_S
    while thread_time() < end:
        pass
    return 0
"""
MARKING_LEAF = """
def {name}(*unused):
    if spins:
        mark(
            _getframe())
    return 0
"""
STOPPING_LEAF = MARKING_LEAF.replace("    return 0", "        stop()\n    return 0")
leaves = {}


def stop():
    """Until it is let go on: another program looks at it meanwhile."""
    os.kill(os.getpid(), signal.SIGSTOP)


def leaf(name):
    """A function with this name; the same one each time."""
    if name not in leaves:
        space = {"write_truth": write_truth, "_getframe": sys._getframe,
                 "thread_time": time.thread_time, "SPIN_S": SPIN_S, "mark": mark, "stop": stop}
        text = {"markers": MARKING_LEAF, "stops": STOPPING_LEAF}.get(WHICH, LEAF)
        exec(compile(text.format(name=name), "<leaf " + name + ">", "exec"), space)
        leaves[name] = space
    leaves[name]["spins"] = spins
    return leaves[name][name]


# ---- chains ----

def direct():
    leaf("leaf_direct")()


def recursion(n=20):
    if n == 0:
        return leaf("leaf_recursion")()
    return recursion(n - 1)


def mutual(n=11):
    def even(n):
        return leaf("leaf_mutual")() if n == 0 else odd(n - 1)

    def odd(n):
        return leaf("leaf_mutual")() if n == 0 else even(n - 1)
    return even(n)


def sorted_key():
    sorted([1], key=lambda x: leaf("leaf_sorted_key")())


class Ordered:
    def __lt__(self, other):
        leaf("leaf_less")()
        return False


def less():
    sorted([Ordered(), Ordered()])


def reduced():
    functools.reduce(lambda a, b: leaf("leaf_reduce")(), [1, 2])


def substituted():
    re.sub("a", lambda m: str(leaf("leaf_re_sub")()), "bab")


def mapped():
    list(map(lambda x: leaf("leaf_map")(), [1]))


def filtered():
    list(filter(leaf("leaf_filter"), [1]))


def maximum():
    max([1, 2], key=leaf("leaf_max"))


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)


def compare(a, b):
    return leaf("leaf_qsort")()


compare_c = CALLBACK(compare)


def ctypes_qsort():
    libc.qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), compare_c)


def ctypes_nested():
    def inner(a, b):
        return leaf("leaf_qsort_nested")()

    def outer(a, b):
        libc.qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), CALLBACK(inner))
        return 0
    libc.qsort((ctypes.c_int * 2)(2, 1), ctypes.c_size_t(2), ctypes.c_size_t(4), CALLBACK(outer))


def json_default():
    json.dumps({"a": object()}, default=lambda o: leaf("leaf_json")())


def generated():
    def items():
        yield leaf("leaf_generator")()
    for item in items():
        pass


def generated_next():
    def items():
        yield leaf("leaf_generator_next")()
    next(items())


def generated_in_c():
    def items():
        yield leaf("leaf_generator_sum")()
    sum(items())


def delegated():
    def innermost():
        yield leaf("leaf_yield_from")()

    def middle():
        yield from innermost()

    def outer():
        yield from middle()
    list(outer())


def sent():
    def take():
        got = yield
        leaf(got)()
        yield
    g = take()
    next(g)
    g.send("leaf_send")


def thrown():
    def take():
        try:
            yield
        except KeyError:
            leaf("leaf_throw")()
            yield
    g = take()
    next(g)
    g.throw(KeyError())


def expression():
    sum(leaf("leaf_genexpr")() for x in [1])


def comprehension():
    [[leaf("leaf_comprehension")() for x in [y]] for y in [1]]


def dict_comprehension():
    {x: leaf("leaf_dict_comprehension")() for x in [1]}


async def awaited_inner():
    leaf("leaf_await")()


async def awaited_middle():
    await awaited_inner()


def awaited():
    try:
        awaited_middle().send(None)
    except StopIteration:
        pass


def tasks():
    async def worker():
        await asyncio.sleep(0)
        leaf("leaf_asyncio")()

    async def together():
        await asyncio.gather(worker(), worker())
    asyncio.run(together())


def async_generated():
    async def items():
        yield leaf("leaf_async_generator")()

    async def consume():
        async for item in items():
            pass
    try:
        consume().send(None)
    except StopIteration:
        pass


class Lazy:
    def __getattr__(self, name):
        return leaf("leaf_getattr")()

    @property
    def price(self):
        return leaf("leaf_property")()

    def __getitem__(self, i):
        return leaf("leaf_getitem")()

    def __call__(self):
        return leaf("leaf_call")()

    def __enter__(self):
        leaf("leaf_enter")()

    def __exit__(self, *why):
        leaf("leaf_exit")()

    def __iter__(self):
        leaf("leaf_iter")()
        return iter(())

    def __add__(self, other):
        return leaf("leaf_add")()

    def __hash__(self):
        return leaf("leaf_hash")()

    def __str__(self):
        return str(leaf("leaf_str")())


class Descriptor:
    def __get__(self, owner, kind):
        return leaf("leaf_descriptor")()


class Described:
    value = Descriptor()


def special_methods():
    lazy = Lazy()
    lazy.missing
    lazy.price
    lazy[1]
    lazy()
    with lazy:
        pass
    for x in lazy:
        pass
    lazy + 1
    {lazy: 1}
    f"{lazy}"
    Described().value


class Made:
    def __init__(self):
        leaf("leaf_init")()


class MadeDeep(Made):
    def __init__(self):
        super().__init__()


def constructed():
    Made()
    MadeDeep()


class Meta(type):
    def __new__(kind, name, bases, space):
        leaf("leaf_metaclass")()
        return type.__new__(kind, name, bases, space)


def class_creation():
    class Body(metaclass=Meta):
        leaf("leaf_class_body")()


class Deleted:
    def __del__(self):
        leaf("leaf_del")()


def deleted():
    d = Deleted()
    del d


def collected():
    d = Deleted()
    d.itself = d
    del d
    gc.collect()


def executed():
    exec(compile("def in_exec():\n\n  f()\nin_exec()", "<made up>", "exec"), {"f": leaf("leaf_exec")})


def evaluated():
    eval("(lambda: f())()", {"f": leaf("leaf_eval")})


@functools.lru_cache(maxsize=None)
def cached_inner(key):
    return leaf("leaf_cached")()


def cached():
    cached_inner(object())


def wraps(f):
    @functools.wraps(f)
    def wrapper(*a, **k):
        return f(*a, **k)
    return wrapper


@wraps
@wraps
def decorated():
    functools.partial(leaf("leaf_partial"), 1)()


@contextlib.contextmanager
def managed():
    yield
    leaf("leaf_context_manager")()


def in_context():
    with managed():
        pass


def in_finally():
    try:
        try:
            raise ValueError
        finally:
            leaf("leaf_finally")()
    except ValueError:
        leaf("leaf_except")()


def traced():
    def trace(frame, event, argument):
        sys.settrace(None)
        leaf("leaf_trace")()

    def target():
        pass
    sys.settrace(trace)
    try:
        target()
    finally:
        sys.settrace(None)


def handled():
    previous = signal.signal(signal.SIGUSR1, lambda *a: leaf("leaf_signal")())
    signal.raise_signal(signal.SIGUSR1)
    time.sleep(0)
    signal.signal(signal.SIGUSR1, previous)


def by_keyword_only(*, a, **k):
    leaf("leaf_keywords")(a)


def keywords():
    by_keyword_only(**{"a": 1, "b": 2})


def long_lines():
    x = [0,
         0,
         leaf("leaf_multiline")(
             1,
             2),
         0]
    return x


def long_function():
    """One whose line table has 10 KiB from 3.11 on."""
    if "long_function" not in kept:
        space = {}
        exec(compile("def long_one(f, a):\n" + "    a = (a +\n 1 - 1)\n" * 600 + "    f()\n", "<long>", "exec"),
             space)
        kept["long_function"] = space["long_one"]
    kept["long_function"](leaf("leaf_long_function"), 1)


kept = {}


def threads():
    def work():
        leaf("leaf_thread")()
    several = [threading.Thread(target=work) for _ in range(3)]
    for t in several:
        t.start()
    for t in several:
        t.join()


def starmapped():
    list(itertools.starmap(leaf("leaf_starmap"), [(1, 2)]))


def defaulted():
    collections.defaultdict(lambda: leaf("leaf_default"))["a"]
    collections.defaultdict(lambda: leaf("leaf_default_dict")())["a"]


CHAINS = [direct, recursion, mutual, sorted_key, less, reduced, substituted, mapped, filtered, maximum,
          ctypes_qsort, ctypes_nested, json_default, generated, generated_next, generated_in_c,
          delegated, sent, thrown, expression, comprehension, dict_comprehension, awaited, tasks,
          async_generated, special_methods, constructed, class_creation, deleted, collected, executed,
          evaluated, cached, decorated, in_context, in_finally, traced, handled, keywords, long_lines,
          starmapped, defaulted, long_function, threads]


# ---- markers: the stack of one moment ----

def prepare_marks(library):
    """The structures of binding.py, which knows them; what it makes of them is its own."""
    space = {"__name__": "binding"}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "binding.py")) as file:
        exec(file.read().replace("\nmain()\n", "\n"), space)

    class Options(ctypes.Structure):
        _fields_ = [("size", ctypes.c_uint32), ("timing", ctypes.c_uint32)] + [
            (name, ctypes.c_uint64) for name in ("start", "end", "id", "stack", "track", "owner")] + [
            ("thread", ctypes.c_uint32), ("name_len", ctypes.c_uint32), ("name", ctypes.c_char_p)]
    link = space["Link"](abi=space["ABI"])
    assert ctypes.CDLL(library).kymo_mark_attach(ctypes.byref(link)) == 0
    calls = link.calls.contents
    _, kind, _ = space["registered"](calls.type_register, space["request_type"](1, None))
    _, category, _ = space["registered"](calls.category_register, space["Category"](name=b"chains"))
    _, site, _ = space["registered"](calls.site_register, space["Site"](
        category=category, type=kind, name=b"chain", file=b"python_stacks.py"))
    assert category.contents.on
    payload = space["Request"](1, b"u")
    mark_with = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(link.mark_with)

    def mark(frame):
        name = "%s#%d" % (frame.f_code.co_name, next(numbers))
        options = Options(size=ctypes.sizeof(Options), stack=STACK_HERE, name=name.encode(),
                          name_len=len(name))
        write_truth(frame, name)
        mark_with(ctypes.addressof(site.contents), ctypes.addressof(payload), ctypes.addressof(options))
    return mark, (link, kind, category, site)


STACK_HERE = 2**64 - 1
numbers = itertools.count()
mark = None


# ---- text that is not ASCII, and long ----

def odd_names(folder):
    """Names and files whose text is kept in 1, 2 and 4 bytes a character, and long ones."""
    deep = "d" * 200
    for number, (name, path) in enumerate([
            ("h\u00e9l\u00e8ne", "caf\u00e9.py"), ("\u0434\u0430", "\u0444\u0430\u0439\u043b.py"),
            ("\U00020000\U00020001", "\U0001f40d.py"), ("n" * 250, "plain.py"),
            ("m" * 2000, "plain.py"), ("\u00fc" * 300, "\u00fc" * 700 + "end.py"),
            ("short", "/".join([deep] * 6) + "/end.py"), ("empty_file", ""), ("spaces", "a b\tc.py")]):
        space = {"f": leaf("leaf_odd_%d" % number)}
        exec(compile("def %s():\n    f()\n" % name, path, "exec"), space)
        space[name]()


# ---- the shares of work ----

def turn(seconds, used, name):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass
    used[name] += time.thread_time() - begin


def most(used):
    turn(0.0060, used, "most")


def some(used):
    turn(0.0030, used, "some")


def few(used):
    turn(0.0010, used, "few")


def shares(seconds):
    used = {"most": 0, "some": 0, "few": 0}
    while sum(used.values()) < seconds:
        most(used)
        some(used)
        few(used)
    print(json.dumps(used))


# ---- tasks: prints the CPU time that each used, and what no task did ----

def named_tasks(seconds):
    used = {}

    def spin_for(name, share):
        turn(seconds * share / 10, used, name)

    async def step_by_step(name, share, pause):
        for _ in range(10):
            spin_for(name, share)
            await asyncio.sleep(pause)

    class Subclass(asyncio.Task):
        pass

    async def together():
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(step_by_step(name, share, pause), name=name) for name, share, pause in (
            ("quick", 0.3, 0), ("sleeps", 0.2, 0.001), ("caf\u00e9", 0.1, 0), ("n" * 200, 0.1, 0))]
        unnamed = loop.create_task(step_by_step("unnamed", 0.1, 0))
        loop.set_task_factory(lambda loop, coroutine, **how: Subclass(coroutine, loop=loop, **how))
        tasks.append(loop.create_task(step_by_step("subclass", 0.1, 0.001), name="subclass"))
        loop.call_soon(by_callback)
        await asyncio.gather(unnamed, *tasks)
        used[unnamed.get_name()] = used.pop("unnamed")

    def by_callback():
        spin_for("", 1)
    used[""] = 0
    for name in ("quick", "sleeps", "caf\u00e9", "n" * 200, "unnamed", "subclass"):
        used[name] = 0
    asyncio.run(together())
    spin_for("", 1)
    print(json.dumps(used))


# ---- sub-interpreters ----

IN_SUB = """
import json, os, sys, threading, time

def chain_of(frame):
    chain = []
    while frame:
        code = frame.f_code
        chain.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return chain[::-1]

def write(leaf, chain):
    fd = os.open({truth!r}, os.O_WRONLY | os.O_APPEND)
    os.write(fd, (json.dumps({{"leaf": leaf, "pid": os.getpid(), "chain": chain}}) + "\\n").encode())
    os.close(fd)

def {leaf}(outer):
    write("{leaf}", outer + chain_of(sys._getframe()))
    end = time.thread_time() + {seconds}
    while time.thread_time() < end:
        pass
    return 0

def {leaf}_waits(outer):
    write("{leaf}_waits", outer + chain_of(sys._getframe()))
    time.sleep(0.2)

def called(n, outer):
    if n:
        return called(n - 1, outer)
    list(map({leaf}, [outer]))
    {leaf}_waits(outer)

{then}
"""


def sub_interpreters():
    try:
        import _interpreters as subs
    except ImportError:
        import _xxsubinterpreters as subs
    open(TRUTH, "a").close()
    # From 3.12 on an isolated one has a GIL of its own.
    kinds = ["isolated", "legacy"]

    def outer_of(frame):
        chain = []
        while frame:
            code = frame.f_code
            chain.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
            frame = frame.f_back
        return chain[::-1]

    def make(number, then, outer):
        return IN_SUB.format(truth=TRUTH, leaf="leaf_sub_%d" % number, seconds=SPIN_S,
                             then=then.format(outer=json.dumps(outer)))

    def run_in(number, one, then):
        subs.run_string(one, make(number, then, outer_of(sys._getframe())))
        return 0

    def here(number):
        kind = kinds[number % len(kinds)]
        one = (subs.create(kind) if sys.version_info >= (3, 13) else
               subs.create(isolated=kind == "isolated"))
        list(map(lambda n: run_in(n, one, "called(3, {outer})"), [number]))
        if kind == "legacy":  # in an isolated one there are no threads
            run_in(number + 100, one, "t = threading.Thread(target=called, args=(2, []))\nt.start()\nt.join()")
        subs.destroy(one)

    for number in range(len(kinds)):
        here(number)
    threads = [threading.Thread(target=here, args=(number,)) for number in range(10, 12)]
    for t in threads:
        t.start()
    direct()
    for t in threads:
        t.join()


# ---- greenlets: each has a chain that ends where it began ----

def greenlets():
    import greenlet

    def other(n):
        return greenlet.getcurrent().parent.switch(n)

    def deep(n, name):
        if n:
            return list(map(deep, [n - 1], [name]))[0]
        leaf(name)()
        other(n)
        leaf(name + "_again")()

    def shallow(name):
        other(0)
        leaf(name)()
        other(1)
        sorted([1], key=lambda x: leaf(name + "_sorted")())

    def caller(n=6):
        if n:
            return caller(n - 1)
        several = [greenlet.greenlet(lambda: deep(5, "leaf_deep_greenlet")),
                   greenlet.greenlet(lambda: shallow("leaf_shallow_greenlet"))]
        while not all(g.dead for g in several):
            for g in several:
                if not g.dead:
                    g.switch()
            leaf("leaf_hub")()
    caller()


# ---- processes ----

def in_child():
    leaf("leaf_child")()


def forked():
    pid = os.fork()
    if pid == 0:
        leaf("leaf_fork")()
        os._exit(0)
    os.waitpid(pid, 0)


def processes():
    for kind in ("fork", "spawn"):
        child = multiprocessing.get_context(kind).Process(target=in_child)
        child.start()
        child.join()
        assert child.exitcode == 0
    forked()


# ---- memory of code that is freed ----

def made_up(count):
    for i in range(count):
        space = {"time": time.thread_time}
        exec("def made_%d():\n end = time() + 0.0005\n while time() < end:\n  pass\n" % i, space)
        space["made_%d" % i]()


def deep(n):
    if n == 0:
        return leaf("leaf_deep")()
    return deep(n - 1)


def main():
    global spins, mark
    if WHICH in ("markers", "stops"):
        mark, kept["marks"] = prepare_marks(sys.argv[4])
    if WHICH in ("plain", "markers"):
        for chain in CHAINS:
            spins = True
            chain()
            if chain not in (threads, tasks):
                for i in range(60):
                    spins = i == 59
                    chain()
    elif WHICH == "stops":
        # Of a frame that is traced in 3.10, py-spy tells another line than sys._getframe.
        chains = [chain for chain in CHAINS if chain not in (threads, traced)]
        for i in range(int(SPIN_S)):
            chains[i % len(chains)]()
    elif WHICH == "odd":
        odd_names(os.getcwd())
    elif WHICH == "shares":
        shares(SPIN_S)
    elif WHICH == "greenlets":
        greenlets()
    elif WHICH == "subs":
        sub_interpreters()
    elif WHICH == "tasks":
        named_tasks(SPIN_S)
    elif WHICH == "processes":
        processes()
    elif WHICH == "made":
        made_up(int(SPIN_S))
    elif WHICH == "deep":
        sys.setrecursionlimit(20000)
        threading.stack_size(512 << 20)
        t = threading.Thread(target=deep, args=(5000,))
        t.start()
        t.join()


if __name__ == "__main__":
    main()
