# SPDX-License-Identifier: Apache-2.0
"""A program of another language that has markers: no static memory, no linker, the structures of
kymo/marker_abi.h written down once more. Prints as JSON what it was told.

Usage: binding.py LIBRARY
"""
import ctypes
import json
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_size_t, c_uint16,
                    c_uint32, c_uint64, c_uint8, c_void_p, cast, create_string_buffer, sizeof)

ABI = 1
KIND_U64, KIND_STR = 9, 13
FORMAT_URL, FORMAT_BYTES = 1, 14
COUNTER_TOTAL = 0


class Sized(Structure):
    """Begins with its size."""

    def __init__(self, **members):
        super().__init__(size=sizeof(self), **members)


class Category(Sized):
    _fields_ = [("size", c_uint32), ("on", c_uint32), ("name", c_char_p), ("parent", c_void_p),
                ("color", c_uint32), ("flags", c_uint32), ("id", c_uint32), ("reserved", c_uint32)]


class Field(Structure):
    _fields_ = [("key", c_char_p), ("label", c_char_p), ("kind", c_uint8), ("format", c_uint8),
                ("flags", c_uint16), ("reserved", c_uint32)]


class Type(Sized):
    _fields_ = [("size", c_uint32), ("line", c_uint32), ("file", c_char_p), ("name", c_char_p),
                ("fields", POINTER(Field)), ("field_count", c_uint32), ("field_bytes", c_uint32),
                ("payload_bytes", c_uint32), ("show", c_uint32), ("chart", c_char_p),
                ("tooltip", c_char_p), ("table", c_char_p), ("description", c_char_p),
                ("rows", c_void_p), ("graphs", c_void_p), ("color_key", c_char_p),
                ("is_stack_based", c_uint32), ("max_per_second", c_uint32)]


class Site(Sized):
    _fields_ = [("size", c_uint32), ("id", c_uint32), ("words", c_uint32), ("slow", c_uint32),
                ("min_ticks", c_uint64), ("texts", c_uint64), ("category", POINTER(Category)),
                ("type", POINTER(Type)), ("name", c_char_p), ("format", c_char_p),
                ("file", c_char_p), ("function", c_char_p), ("line", c_uint32), ("kind", c_uint32),
                ("min_ns", c_uint64)]


class Counter(Sized):
    _fields_ = [("size", c_uint32), ("id", c_uint32), ("category", POINTER(Category)),
                ("name", c_char_p), ("unit", c_char_p), ("description", c_char_p),
                ("kind", c_uint32), ("flags", c_uint32), ("color", c_uint32), ("cell", c_uint32)]


class Stats(Sized):
    _fields_ = [("size", c_uint32), ("sites", c_uint32), ("written", c_uint64), ("lost", c_uint64),
                ("capped", c_uint64), ("cut", c_uint64)]


def register(of):
    return CFUNCTYPE(c_int, POINTER(of), POINTER(POINTER(of)), c_char_p, c_size_t)


class Calls(Structure):
    _fields_ = [("size", c_uint32), ("abi", c_uint32)] + [
        (name, c_void_p) for name in ("detach", "now", "to_ns", "from_ns", "cells", "interval",
                                      "stack", "label_push", "label_pop", "label_set", "track")] + [
        ("select", CFUNCTYPE(c_int, c_char_p)), ("type_register", register(Type)),
        ("category_register", register(Category)), ("site_register", register(Site)),
        ("stats", CFUNCTYPE(c_int, POINTER(Stats))), ("on_recording", c_void_p)]


class Link(Sized):
    _fields_ = [("size", c_uint32), ("abi", c_uint32), ("is_open", c_uint32), ("on", c_uint32),
                ("flow_seed", c_uint64), ("categories", c_void_p), ("categories_end", c_void_p),
                ("next", c_void_p), ("calls", POINTER(Calls)),
                ("mark", CFUNCTYPE(None, POINTER(Site), c_void_p))] + [
        (name, c_void_p) for name in ("mark_with", "scope_begin", "scope_end")] + [
        ("count", CFUNCTYPE(None, POINTER(Counter), c_int64, c_uint64)), ("recording_fn", c_void_p),
        ("recording_context", c_void_p), ("recording_told", c_uint32)]


class Request(Structure):
    """A payload: members in the order of the fields, laid out as C does."""
    _fields_ = [("bytes", c_uint64), ("url", c_char_p)]


why = create_string_buffer(256)


def registered(call, what):
    """The library's copy, and what it has to say."""
    out = POINTER(type(what))()
    err = call(byref(what), byref(out), why, sizeof(why))
    return err, out, why.value.decode()


def request_type(line, chart, url_format=FORMAT_URL):
    fields = (Field * 2)(Field(b"bytes", b"Size", KIND_U64, FORMAT_BYTES),
                         Field(b"url", None, KIND_STR, url_format))
    return Type(line=line, file=b"binding.py", name=b"Request", fields=fields, field_count=2,
                field_bytes=sizeof(Field), payload_bytes=sizeof(Request), chart=chart)


def main():
    link = Link(abi=ABI)
    err = ctypes.CDLL(sys.argv[1]).kymo_mark_attach(byref(link))
    told = {"attach": err, "on": link.on}
    if err == 0:
        use(link, told)
    print(json.dumps(told))


def use(link, told):
    calls = link.calls.contents
    _, _, told["fault"] = registered(calls.type_register, request_type(10, b"{marker.data.uri}"))
    _, kind, told["nothing"] = registered(calls.type_register, request_type(11, b"{marker.data.url}"))
    _, same, _ = registered(calls.type_register, request_type(12, b"{marker.data.bytes}"))
    _, other, told["other"] = registered(calls.type_register, request_type(13, None, FORMAT_URL + 1))
    told["merged"] = cast(kind, c_void_p).value == cast(same, c_void_p).value
    told["apart"] = cast(kind, c_void_p).value != cast(other, c_void_p).value
    _, category, _ = registered(calls.category_register, Category(name=b"python"))
    _, site, _ = registered(calls.site_register,
                            Site(category=category, type=kind, name=b"request", file=b"binding.py"))
    counter = Counter(category=category, name=b"Bytes", unit=b"bytes", kind=COUNTER_TOTAL)
    for i in range(300):
        if i == 200:
            told["select"] = calls.select(b"-python")
        if category.contents.on:
            link.mark(site, cast(byref(Request(i, b"http://localhost/%d" % i)), c_void_p))
            link.count(byref(counter), i, 1)
    stats = Stats()
    calls.stats(byref(stats))
    told["written"] = stats.written
    told["sites"] = stats.sites


main()
