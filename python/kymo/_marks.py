# SPDX-License-Identifier: Apache-2.0
"""Markers, counters and labels that a program makes itself. Without a recorder they do nothing."""
import functools
import inspect

from kymo import _kymo

marker = _kymo.marker
now = _kymo.now
set_label = _kymo.label_set

_NO_FIELDS = frozenset(("category", "since", "stack"))
_MOST_FIELDS = 63  # of a scope: with its category it has as many arguments as a marker may have


def describe(name, label=None, /, **formats):
    """How the fields of markers of this name are shown, by their keys: 'string', 'unique-string', 'sanitized',
    'url', 'file-path', 'integer', 'bytes', 'hexadecimal', 'pid', 'tid', 'decimal', 'percentage' (0 to 1),
    'duration' (in seconds), 'flow' and 'flow-end' (the same number connects markers of this process).

    label   their text in charts and tables, with keys in braces: "{method} {url}"

    Before the first marker of that name. Fields that are not named here are shown by their values' types."""
    _kymo.describe(name, label and label.replace("{", "{marker.data."), formats)


def _check_count(fields):
    if len(fields) > _MOST_FIELDS:
        raise TypeError("a scope has at most 63 fields")


class scope:
    """An interval: a with block, or the calls of a function that it decorates.

        with kymo.scope("parse", category="Parser", path=path) as parse:
            parse.set(rows=len(rows))

    Names, categories and fields are those of marker. One that is open when the program ends is shown as unfinished,
    without its fields. An object is one interval at a time: a function that it decorates makes one for each call."""
    __slots__ = ("_name", "_category", "_stack", "_fields", "_number")

    def __init__(self, name=None, /, *, category=None, stack=False, **fields):
        _check_count(fields)
        self._name, self._category, self._stack, self._fields = name, category, stack, fields

    def set(self, **fields):
        """Fields that are known before the end."""
        if not _NO_FIELDS.isdisjoint(fields):
            raise TypeError("no field is named category, since or stack")
        all_fields = {**self._fields, **fields}
        _check_count(all_fields)
        self._fields = all_fields

    def __enter__(self):
        self._number = _kymo.begin(self._name, category=self._category, stack=self._stack)
        return self

    def __exit__(self, *_):
        if self._number:
            _kymo.end(self._name, self._number, category=self._category, **self._fields)

    def _again(self, function):
        return scope(self._name or function.__qualname__, category=self._category, stack=self._stack,
                     **self._fields)

    def __call__(self, function):
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def wrapper(*args, **names):
                with self._again(function):
                    return await function(*args, **names)
        elif inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def wrapper(*args, **names):
                with self._again(function):
                    return (yield from function(*args, **names))
        else:
            @functools.wraps(function)
            def wrapper(*args, **names):
                with self._again(function):
                    return function(*args, **names)
        return wrapper


class label:
    """A key and a value that each sample and marker of this thread has in a with block.

    A thread has its labels, not a task: do not await in the block."""
    __slots__ = ("_key", "_value", "_depth")

    def __init__(self, key, value):
        self._key, self._value = key, value

    def __enter__(self):
        self._depth = _kymo.label_push(self._key, self._value)
        return self

    def __exit__(self, *_):
        _kymo.label_pop(self._depth)


class counter:
    """A value that changes: kind 'gauge' (set), 'delta' (goes up and down) or 'total' (grows). The recorder reads it
    at regular times. Make it once, not for each change."""
    __slots__ = ("_counter", "_is_gauge")

    def __init__(self, name, kind="gauge", *, unit=None, category=None, description=None):
        self._counter = _kymo.counter(name, kind, unit, category, description)
        self._is_gauge = kind == "gauge"

    def set(self, value):
        """A gauge's value now."""
        if not self._is_gauge:
            raise ValueError("only a gauge is set")
        _kymo.count(self._counter, value)

    def add(self, value=1):
        """Adds to a delta or a total."""
        if self._is_gauge:
            raise ValueError("a gauge is set")
        _kymo.count(self._counter, value)
