#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jfr_file.py FILE - the chunks of a JFR file as text: types, constants and events.

It knows the format by its description, and nothing of the encoder: every type but those of the description itself
is read as the file's own metadata says.
"""
import struct
import sys
from collections import namedtuple

HEADER = struct.Struct(">4sHHqqqqqqqI")
PRIMITIVES = {"boolean", "byte", "char", "short", "int", "long", "float", "double", "java.lang.String"}
Chunk = namedtuple("Chunk", "header types pools events")
Header = namedtuple("Header", "magic major minor size constants_at metadata_at start_ns duration_ns start_ticks frequency flags")
Event = namedtuple("Event", "type fields")


class Element:
    def __init__(self, name, attributes, children):
        self.name, self.attributes, self.children = name, attributes, children

    def all(self, name):
        return [child for child in self.children if child.name == name]


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, n):
        assert self.at + n <= len(self.data), "cut"
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        """Of 9 bytes at most, of which the last has 8 bits; unsigned."""
        value = 0
        for i in range(9):
            byte = self.take(1)[0]
            if i == 8:
                return value | byte << 56
            value |= (byte & 127) << 7 * i
            if byte < 128:
                return value
        raise AssertionError

    def signed(self):
        value = self.varint()
        return value - (1 << 64) if value >> 63 else value

    def string(self):
        encoding = self.take(1)[0]
        if encoding == 0:
            return None
        assert encoding == 3, f"text of encoding {encoding}"
        return self.take(self.varint()).decode("utf-8")

    def element(self, texts):
        name = texts[self.varint()]
        attributes = {texts[self.varint()]: texts[self.varint()] for _ in range(self.varint())}
        return Element(name, attributes, [self.element(texts) for _ in range(self.varint())])

    def primitive(self, name):
        if name == "java.lang.String":
            return self.string()
        if name in ("boolean", "byte"):
            return self.take(1)[0]
        if name == "float":
            return struct.unpack(">f", self.take(4))[0]
        if name == "double":
            return struct.unpack(">d", self.take(8))[0]
        return self.signed()

    def value(self, types, type_id):
        name = types[type_id].attributes["name"]
        if name in PRIMITIVES:
            return self.primitive(name)
        return {field.attributes["name"]: self.field(types, field) for field in types[type_id].all("field")}

    def field(self, types, field):
        type_id = int(field.attributes["class"])
        one = self.varint if field.attributes.get("constantPool") else lambda: self.value(types, type_id)
        return [one() for _ in range(self.varint())] if field.attributes.get("dimension") else one()


def read_event(data, at):
    """The reader of an event's fields, its type, and where it ends."""
    reader = Reader(data, at)
    size = reader.varint()
    assert size > 1 and at + size <= len(data), f"size {size} at {at}"
    return Reader(data[:at + size], reader.at), at + size


def read_metadata(chunk, at):
    reader, end = read_event(chunk, at)
    assert reader.varint() == 0
    reader.varint(), reader.varint(), reader.varint()
    texts = [reader.string() for _ in range(reader.varint())]
    assert len(set(texts)) == len(texts), "a text is there twice"
    root = reader.element(texts)
    assert reader.at == end and [e.name for e in root.children] == ["metadata", "region"]
    types = {int(e.attributes["id"]): e for e in root.children[0].all("class")}
    assert len(types) == len(root.children[0].children), "two types of one number"
    return types, end


def read_constants(chunk, at, types):
    reader, end = read_event(chunk, at)
    assert reader.varint() == 1
    reader.varint(), reader.varint()
    assert reader.signed() == 0, "there are earlier constants"
    reader.take(1)
    pools = {}
    for _ in range(reader.varint()):
        type_id = reader.varint()
        count = reader.varint()
        assert count > 0 and type_id not in pools
        pools[type_id] = {}
        for _ in range(count):
            key = reader.varint()
            pools[type_id][key] = reader.value(types, type_id)
        assert len(pools[type_id]) == count and 0 not in pools[type_id]
    assert reader.at == end
    return pools, end


def read_chunk(data):
    header = Header(*HEADER.unpack(data[:HEADER.size]))
    assert header.magic == b"FLR\0" and (header.major, header.minor) == (2, 0)
    chunk = data[:header.size]
    assert len(chunk) == header.size
    types, metadata_end = read_metadata(chunk, header.metadata_at)
    pools, constants_end = read_constants(chunk, header.constants_at, types)
    skip = {header.metadata_at: metadata_end, header.constants_at: constants_end}
    events, at = [], HEADER.size
    while at < len(chunk):
        if at in skip:
            at = skip[at]
            continue
        reader, at = read_event(chunk, at)
        type_id = reader.varint()
        fields = {f.attributes["name"]: reader.field(types, f) for f in types[type_id].all("field")}
        assert reader.at == at, f"{types[type_id].attributes['name']} has more than its fields"
        events.append(Event(types[type_id].attributes["name"], fields))
    return Chunk(header, types, pools, events)


def read_file(path):
    with open(path, "rb") as file:
        data = file.read()
    chunks = []
    while data:
        chunks.append(read_chunk(data))
        data = data[chunks[-1].header.size:]
    return chunks


class Names:
    """What numbers of a chunk's constants stand for."""

    def __init__(self, chunk):
        self.chunk = chunk
        self.ids = {e.attributes["name"]: i for i, e in chunk.types.items()}

    def of(self, type_name, key):
        return self.chunk.pools[self.ids[type_name]][key] if key else None

    def symbol(self, key):
        return self.of("jdk.types.Symbol", key)["string"]

    def thread(self, key):
        return self.of("java.lang.Thread", key)

    def frames(self, key):
        """(library, function, line, type), innermost first."""
        for frame in self.of("jdk.types.StackTrace", key)["frames"]:
            method = self.of("jdk.types.Method", frame["method"])
            library = self.of("java.lang.Class", method["type"])
            yield (self.symbol(library["name"]), self.symbol(method["name"]), frame["lineNumber"],
                   self.of("jdk.types.FrameType", frame["type"])["description"])


def annotations(chunk, element):
    for a in element.all("annotation"):
        name = chunk.types[int(a.attributes["class"])].attributes["name"].rpartition(".")[2]
        values = [value for key, value in a.attributes.items() if key.startswith("value")]
        yield f"@{name}" + (f"({', '.join(values)})" if values else "")


def lines(chunks):
    for chunk in chunks:
        h = chunk.header
        yield f"chunk of {h.size} bytes, from {h.start_ns} for {h.duration_ns} ns, ticks {h.start_ticks} of {h.frequency}/s, flags {h.flags}"
        for i, e in chunk.types.items():
            rest = {k: v for k, v in e.attributes.items() if k not in ("name", "id")}
            yield " ".join([f"type {i} {e.attributes['name']}", *(f"{k}={v}" for k, v in rest.items()), *annotations(chunk, e)])
            for f in e.all("field"):
                a = f.attributes
                kind = chunk.types[int(a["class"])].attributes["name"]
                yield " ".join([f"  {a['name']}: {kind}{'[]' if 'dimension' in a else ''}{' in pool' if 'constantPool' in a else ''}",
                                *annotations(chunk, f)])
        for type_id, pool in chunk.pools.items():
            yield f"constants of {chunk.types[type_id].attributes['name']}"
            for key, value in pool.items():
                yield f"  {key}: {value!r}"
        for event in chunk.events:
            yield f"{event.type} {event.fields!r}"


if __name__ == "__main__":
    print("\n".join(lines(read_file(sys.argv[1]))))
