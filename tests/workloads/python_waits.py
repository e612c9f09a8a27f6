# SPDX-License-Identifier: Apache-2.0
"""python_waits.py WAY SECONDS [LIBRARY]: threads of Python that wait, and what they measured themselves.

Writes a JSON object: "elapsed": seconds in each function by its name; "waits": how many; "late": how much
longer its sleeps took than they asked for; "stacks": for each function the [name, line] of its frames from
the outermost one of this file, where it waited.
"""
import asyncio
import ctypes
import json
import os
import queue
import select
import socket
import sys
import threading
import time

elapsed = {}
waits = {}
late = {}
stacks = {}


def note(name):
    """The caller waits on the line that calls this."""
    frame, found = sys._getframe(1), []
    while frame:
        code = frame.f_code
        if code.co_filename == __file__:
            found.append([getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    stacks.setdefault(name, found[::-1])
    return time.monotonic()


def took(name, began, asked=None):
    spent = time.monotonic() - began
    elapsed[name] = elapsed.get(name, 0) + spent
    waits[name] = waits.get(name, 0) + 1
    late[name] = late.get(name, 0) + (max(spent - asked, 0) if asked else 0)


# These two reach the same native code at the same depth of the native stack.
def sleep_long():
    began = note("sleep_long"); time.sleep(0.18)
    took("sleep_long", began, 0.18)


def sleep_short():
    began = note("sleep_short"); time.sleep(0.06)
    took("sleep_short", began, 0.06)


def sleep_in_turn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sleep_long()
        sleep_short()


def wait_lock(lock):
    began = note("wait_lock"); lock.acquire()
    took("wait_lock", began)


def wait_queue(q):
    began = note("wait_queue"); q.get()
    took("wait_queue", began)


def wait_socket(s):
    began = note("wait_socket"); s.recv(1)
    took("wait_socket", began)


def wait_select(s):
    began = note("wait_select"); select.select([s], [], [], 600)
    took("wait_select", began)


def wait_pipe(fd):
    began = note("wait_pipe"); os.read(fd, 1)
    took("wait_pipe", began)


class Waiter:
    def __init__(self, event):
        began = note("Waiter.__init__"); event.wait()
        took("Waiter.__init__", began)


def wait_deep(n, event):
    if n:
        wait_deep(n - 1, event)
        return
    began = note("wait_deep"); event.wait()
    took("wait_deep", began)


# Calls go through native code, and so through more than one call of the evaluator.
def wait_in_callback(event):
    def key(_):
        began = note("key"); event.wait()
        took("key", began)
        return 0
    sorted([1], key=key)


def wait_in_generator(event):
    def values():
        began = note("values"); event.wait()
        took("values", began)
        yield 1
    sum(values())


def begin(function, *arguments):
    function(*arguments)


def waits_of_all_kinds(seconds):
    lock, q, event = threading.Lock(), queue.Queue(), threading.Event()
    lock.acquire()
    near, far = socket.socketpair()
    near_too, far_too = socket.socketpair()
    read_end, write_end = os.pipe()
    threads = [threading.Thread(target=begin, args=how) for how in (
        (sleep_in_turn, seconds), (wait_lock, lock), (wait_queue, q), (wait_socket, near),
        (wait_select, near_too), (wait_pipe, read_end), (Waiter, event), (wait_deep, 40, event),
        (wait_in_callback, event), (wait_in_generator, event))]
    for t in threads:
        t.start()
    threads[0].join()
    lock.release()
    q.put(1)
    far.send(b"x")
    far_too.send(b"x")
    os.write(write_end, b"x")
    event.set()
    for t in threads[1:]:
        t.join()


def spin_one(seconds):
    spin(seconds, "spin_one")


def spin_two(seconds):
    spin(seconds, "spin_two")


def spin(seconds, name):
    began, n = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        n += 1
    took(name, began)


def waits_for_the_gil(seconds):
    threads = [threading.Thread(target=begin, args=how) for how in (
        (spin_one, seconds), (spin_two, seconds), (sleep_in_turn, seconds))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


async def wait_awaited(seconds):
    await asyncio.sleep(seconds)


async def wait_in_tasks(seconds):
    began = time.monotonic()
    await asyncio.gather(*(wait_awaited(seconds) for _ in range(3)))
    took("loop", began)


def run_loop(seconds):
    asyncio.run(wait_in_tasks(seconds))


# Two functions wait at the same place of the native stack, which is not to be walked from outside.
def native_long(library, fd, size):
    began = note("native_long"); library.read_with_variable_frame(fd, size)
    took("native_long", began)


def native_short(library, fd, size):
    began = note("native_short"); library.read_with_variable_frame(fd, size)
    took("native_short", began)


def read_in_turn(fd, seconds):
    library = ctypes.CDLL(sys.argv[3])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # With more than one size the distance of its frame pointer is not to be learnt.
        for size in (200, 300):
            native_long(library, fd, size)
            native_short(library, fd, size)


def waits_in_native_code(seconds):
    read_end, write_end = os.pipe()
    reader = threading.Thread(target=begin, args=(read_in_turn, read_end, seconds))
    reader.start()
    while reader.is_alive():
        for pause in (0.3, 0.1):
            time.sleep(pause)
            os.write(write_end, b"x")
    reader.join()


# The child has other thread numbers, and its interpreter has forgotten the threads of its parent.
def waits_in_forked(seconds):
    pid = os.fork()
    if pid == 0:
        t = threading.Thread(target=begin, args=(sleep_in_turn, seconds))
        t.start()
        t.join()
        print(json.dumps({"elapsed": elapsed, "waits": waits, "late": late, "stacks": stacks}))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    sys.exit(0)


ways = {"kinds": waits_of_all_kinds, "gil": waits_for_the_gil, "asyncio": run_loop, "forked": waits_in_forked,
        "native": waits_in_native_code}
ways[sys.argv[1]](float(sys.argv[2]))
print(json.dumps({"elapsed": elapsed, "waits": waits, "late": late, "stacks": stacks}))
