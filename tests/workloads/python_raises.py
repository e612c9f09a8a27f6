# SPDX-License-Identifier: Apache-2.0
"""Exceptions, each of which is raised once, however far it passes.

Where a line raises, "raises N" behind it says how many; "leaving M" how many of these leave the function
in which they are raised and reach another one of Python, or end the program.
"""
import asyncio
import concurrent.futures
import contextlib
import threading
import xml.parsers.expat


def caught():
    try:
        raise ValueError("here")  # raises 6
    except ValueError:
        pass


def deep(n):
    if n:
        deep(n - 1)
    raise KeyError("deep")  # raises 17 leaving 17


def attempt(function, *arguments):
    try:
        function(*arguments)  # raises 1
    except (KeyError, ValueError, RuntimeError):
        pass


# ---- that pass, and are raised again ----

def cleans_up():
    try:
        deep(1)
    finally:
        caught()


def cleans_up_its_own():
    try:
        raise ValueError("outer")  # raises 1 leaving 1
    finally:
        caught()


def passes_on():
    try:
        deep(0)
    except KeyError:
        raise


def raises_again():
    try:
        deep(0)
    except KeyError as e:
        raise e  # raises 1


def raises_later():
    try:
        deep(0)
    except KeyError as e:
        saved = e
    caught()
    raise saved  # raises 1


def raises_another():
    try:
        deep(0)
    except KeyError as e:
        raise RuntimeError("from") from e  # raises 1 leaving 1


def raises_freed():
    """The second may have the address of the first."""
    for _ in range(3):
        try:
            deep(0)
        except KeyError:
            pass
        try:
            raise KeyError("fresh")  # raises 3
        except KeyError:
            pass


# ---- through native code ----

def natives():
    attempt(int, "none")
    try:
        {}["key"]  # raises 1
    except KeyError:
        pass
    try:
        [].pop()  # raises 1
    except IndexError:
        pass
    try:
        next(iter(()))  # raises 1
    except StopIteration:
        pass
    try:
        sorted([1], key=lambda x: deep(0))
    except KeyError:
        pass


def parses():
    """Expat's binding has an entry of its own in the traceback."""
    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler = lambda *_: deep(0)
    parser.Parse("<a/>", True)


class Numbers:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration("mine")  # raises 2 leaving 1
        return self.n

    def __getattr__(self, name):
        raise AttributeError("no such")  # raises 2


def natives_that_catch():
    for _ in Numbers():
        pass
    list(Numbers())
    hasattr(Numbers(), "some")
    getattr(Numbers(), "some", None)
    for _ in [1]:
        pass
    for _ in (i for i in [1]):
        pass


class Key:
    def __hash__(self):
        deep(0)


class Dying:
    def __del__(self):
        caught()


def dies(_):
    deep(0)


# ---- generators ----

def numbers():
    try:
        yield 1
        yield 2
    except ValueError:
        pass
    yield 3
    return 4


def begun(generator):
    next(generator)
    return generator


def delegates():
    yield from numbers()


def fails():
    yield 1
    raise ValueError("in a generator")  # raises 1 leaving 1


def generators():
    # What is thrown is not raised.
    begun(numbers()).throw(ValueError("thrown"))
    begun(numbers()).close()
    begun(delegates()).throw(ValueError("to another"))
    attempt(list, fails())
    list(delegates())


@contextlib.contextmanager
def context():
    yield


class Cleaning:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        caught()


def contexts(manager):
    with manager:
        deep(0)


# ---- threads and tasks ----

def futures():
    future = concurrent.futures.Future()
    try:
        deep(0)
    except KeyError as e:
        future.set_exception(e)
    attempt(future.result)


async def coroutine():
    raise ValueError("async")  # raises 1 leaving 1


class Feed:
    def __aiter__(self):
        return self

    async def __anext__(self):
        raise StopAsyncIteration("end")  # raises 1 leaving 1


async def tasks():
    try:
        await coroutine()
    except ValueError:
        pass
    async for _ in Feed():
        pass


def main():
    attempt(deep, 3)
    for function in (cleans_up, cleans_up_its_own, passes_on, raises_again, raises_later, raises_another):
        attempt(function)
    raises_freed()
    natives()
    natives_that_catch()
    attempt(parses)
    attempt(lambda: {Key(): 1})
    attempt(dies, Dying())
    generators()
    for manager in (context(), contextlib.suppress(KeyError), Cleaning()):
        attempt(contexts, manager)
    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    futures()
    asyncio.run(tasks())


main()
raise OSError("uncaught")  # raises 1 leaving 1
