# SPDX-License-Identifier: Apache-2.0
"""pprof's profile.proto, read without a protobuf library."""
import re

RULES = """pb-wire pb-field pb-string-zero pb-string-utf8 pb-string-index pb-sample-type pb-count-first
pb-default-type pb-period pb-time pb-id pb-id-sequence pb-values pb-value-negative pb-base pb-location pb-mapping pb-function
pb-name pb-range pb-address pb-label pb-label-key pb-label-prefix pb-has-functions pb-has-filenames pb-has-lines
pb-has-inline pb-heap-types pb-heap-period pb-heap-bytes pb-aggregate pb-system-name pb-empty-stack""".split()

# Each message: field number -> (name, kind). Kinds: u a number, s a string index, M a message, with * repeated.
VALUE_TYPE = {1: ("type", "s"), 2: ("unit", "s")}
LABEL = {1: ("key", "s"), 2: ("str", "s"), 3: ("num", "u"), 4: ("num_unit", "s")}
LINE = {1: ("function_id", "u"), 2: ("line", "u"), 3: ("column", "u")}
SAMPLE = {1: ("location_id", "u*"), 2: ("value", "u*"), 3: ("label", LABEL)}
MAPPING = {1: ("id", "u"), 2: ("start", "u"), 3: ("limit", "u"), 4: ("offset", "u"), 5: ("filename", "s"),
           6: ("build_id", "s"), 7: ("has_functions", "u"), 8: ("has_filenames", "u"),
           9: ("has_line_numbers", "u"), 10: ("has_inline_frames", "u")}
LOCATION = {1: ("id", "u"), 2: ("mapping_id", "u"), 3: ("address", "u"), 4: ("line", LINE),
            5: ("is_folded", "u")}
FUNCTION = {1: ("id", "u"), 2: ("name", "s"), 3: ("system_name", "s"), 4: ("filename", "s"),
            5: ("start_line", "u")}
PROFILE = {1: ("sample_type", VALUE_TYPE), 2: ("sample", SAMPLE), 3: ("mapping", MAPPING),
           4: ("location", LOCATION), 5: ("function", FUNCTION), 6: ("string_table", "b*"),
           7: ("drop_frames", "s"), 8: ("keep_frames", "s"), 9: ("time_nanos", "u"),
           10: ("duration_nanos", "u"), 11: ("period_type", ("one", VALUE_TYPE)), 12: ("period", "u"),
           13: ("comment", "s*"), 14: ("default_sample_type", "s"), 15: ("doc_url", "s")}


# Servers know heap profiles by these, in this order.
HEAP_TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


class Bad(Exception):
    """(rule, text)"""


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Bad("pb-wire", "a number that does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if value >> 64:
                raise Bad("pb-wire", "a number of more than 64 bits")
            return value, at


def packed(data):
    if data.isascii():  # each is of one byte
        return list(data)
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def decode(data, message, name):
    out = {}
    for field, kind in message.values():
        out[field] = [] if isinstance(kind, dict) or kind[-1] == "*" else None if isinstance(kind, tuple) else 0
    at, end = 0, len(data)
    while at < end:
        tag = data[at]
        if tag < 128:  # most are of one byte
            at += 1
        else:
            tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire not in (0, 2):
            raise Bad("pb-wire", f"wire type {wire} in {name}")
        if at < end and data[at] < 128:
            value, at = data[at], at + 1
        else:
            value, at = varint(data, at)
        if wire == 2:
            if value > len(data) - at:
                raise Bad("pb-wire", f"a field of {name} is longer than what there is")
            value, at = data[at:at + value], at + value
        if number not in message:
            raise Bad("pb-field", f"{name} has no field {number}")
        field, kind = message[number]
        store(out, field, kind, wire, value, name)
    return out


def store(out, field, kind, wire, value, name):
    is_message = isinstance(kind, (dict, tuple))
    is_list = not is_message and kind[-1] == "*"
    if (wire == 2) != (is_message or kind == "b*") and not (is_list and kind != "b*"):
        raise Bad("pb-wire", f"{name}.{field} has wire type {wire}")
    if isinstance(kind, dict):
        out[field].append(decode(value, kind, field))
    elif is_message:
        out[field] = decode(value, kind[1], field)
    elif kind == "b*":
        out[field].append(value)
    elif is_list:
        out[field] += packed(value) if wire == 2 else [value]
    else:
        out[field] = value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def check(data, faults):
    try:
        profile = decode(data, PROFILE, "profile")
    except Bad as bad:
        faults.add(bad.args[0], "file", bad.args[1])
        return
    Checker(profile, faults).check()


class Checker:
    def __init__(self, profile, faults):
        self.p = profile
        self.faults = faults
        self.strings = []

    def check(self):
        if not self.read_strings() or not self.check_string_indices(self.p, PROFILE, "profile"):
            return
        self.check_types()
        self.mappings = self.by_id("mapping")
        self.functions = self.by_id("function")
        self.locations = self.by_id("location")
        for mapping in self.p["mapping"]:
            self.faults.unless(mapping["start"] < mapping["limit"], "pb-range", f"mapping {mapping['id']}",
                               "is empty")
        for function in self.p["function"]:
            self.faults.unless(self.strings[function["name"]], "pb-name", f"function {function['id']}", "no name")
            self.faults.unless(self.strings[function["system_name"]], "pb-system-name",
                               f"function {function['id']}", "no system name")
        for location in self.p["location"]:
            self.check_location(location)
        self.check_flags()
        self.check_samples()

    def read_strings(self):
        table = self.p["string_table"]
        if not self.faults.unless(table[:1] == [b""], "pb-string-zero", "string_table", "the first is not empty"):
            return False
        for i, text in enumerate(table):
            try:
                self.strings.append(text.decode("utf-8"))
            except UnicodeDecodeError as error:
                self.faults.add("pb-string-utf8", f"string {i}", str(error))
                return False
        return True

    def check_string_indices(self, row, message, where):
        good = True
        for field, kind in message.values():
            if kind in ("s", "s*"):
                for index in row[field] if kind == "s*" else [row[field]]:
                    good &= self.faults.unless(index < len(self.strings), "pb-string-index",
                                               f"{where}.{field}", f"{index} of {len(self.strings)}")
            elif isinstance(kind, dict):
                for inner in row[field]:
                    good &= self.check_string_indices(inner, kind, field)
            elif isinstance(kind, tuple) and row[field]:
                good &= self.check_string_indices(row[field], kind[1], field)
        return good

    def value_type(self, row):
        return self.strings[row["type"]], self.strings[row["unit"]]

    def check_types(self):
        types = [self.value_type(t) for t in self.p["sample_type"]]
        faults = self.faults
        if faults.unless(types and all(t and u for t, u in types), "pb-sample-type", "sample_type",
                         "none, or one without a type or unit"):
            faults.unless(types[0][1] == "count", "pb-count-first", "sample_type", "the first does not count")
        faults.unless(self.strings[self.p["default_sample_type"]] in [t for t, _ in types], "pb-default-type",
                      "default_sample_type", "not one of the types")
        period = self.p["period_type"]
        faults.unless(period and all(self.value_type(period)) and signed(self.p["period"]) > 0, "pb-period", "period",
                      "no period or no type of it")
        self.is_heap = bool({t for t, _ in types} & {t for t, _ in HEAP_TYPES})
        if self.is_heap:
            faults.unless(types == HEAP_TYPES, "pb-heap-types", "sample_type", "not those of a heap profile, in their order")
            faults.unless(period and self.value_type(period) == ("space", "bytes"), "pb-heap-period", "period_type",
                          "not space/bytes")
        faults.unless(signed(self.p["time_nanos"]) > 0 and signed(self.p["duration_nanos"]) > 0, "pb-time", "profile",
                      "no time or no duration")

    def by_id(self, table):
        rows = {}
        for i, row in enumerate(self.p[table]):
            good = self.faults.unless(row["id"] and row["id"] not in rows, "pb-id", table, "an id is 0 or twice")
            if good:
                self.faults.unless(row["id"] == i + 1, "pb-id-sequence", table, "ids are not 1, 2, 3...")
            rows[row["id"]] = row
        return rows

    def check_location(self, location):
        where = f"location {location['id']}"
        mapping = self.mappings.get(location["mapping_id"])
        if location["mapping_id"]:
            if self.faults.unless(mapping, "pb-mapping", where, "no such mapping"):
                self.faults.unless(mapping["start"] <= location["address"] < mapping["limit"], "pb-address", where,
                                   "its address is not in its mapping")
        for line in location["line"]:
            self.faults.unless(line["function_id"] in self.functions, "pb-function", where, "no such function")

    def check_flags(self):
        """A flag that promises too much keeps the reader from looking names up; FILE+0x1234 is no name."""
        def is_named(function):
            return not re.search(r"\+0x[0-9a-f]+$", self.strings[function.get("name", 0)])
        flags = (("has_functions", "pb-has-functions", lambda f, line: is_named(f)),
                 ("has_filenames", "pb-has-filenames", lambda f, line: f["filename"]),
                 ("has_line_numbers", "pb-has-lines", lambda f, line: line["line"]))
        locations = {}
        for location in self.p["location"]:
            locations.setdefault(location["mapping_id"], []).append(location)
        for id_, mapping in self.mappings.items():
            mine = locations.get(id_, [])
            where = f"mapping {id_}"
            for name, rule, test in flags:
                true = bool(mine) and all(
                    location["line"] and all(test(self.functions.get(line["function_id"], {"filename": 0}), line)
                                             for line in location["line"]) for location in mine)
                self.faults.unless(bool(mapping[name]) == true, rule, where, f"{name} is not true")
            self.faults.unless(bool(mapping["has_inline_frames"]) == any(len(l["line"]) > 1 for l in mine),
                               "pb-has-inline", where, "has_inline_frames is not true")

    def check_samples(self):
        seen = set()
        for i, sample in enumerate(self.p["sample"]):
            where = f"sample {i}"
            self.faults.unless(sample["location_id"], "pb-empty-stack", where, "no location: readers leave it out")
            self.faults.unless(all(id_ in self.locations for id_ in sample["location_id"]), "pb-location", where,
                               "no such location")
            self.faults.unless(len(sample["value"]) == len(self.p["sample_type"]), "pb-values", where,
                               "not a value for each type")
            if self.is_base(sample):
                self.faults.unless(all(signed(v) <= 0 for v in sample["value"]), "pb-base", where,
                                   "it is taken off, but a value is above 0")
            else:
                self.faults.unless(all(signed(v) >= 0 for v in sample["value"]), "pb-value-negative", where, "below 0")
            labels = self.check_labels(sample["label"], where)
            if self.is_heap:
                sizes = [l for l in sample["label"] if self.strings[l["key"]] == "bytes"]
                self.faults.unless(len(sizes) == 1 and not sizes[0]["str"] and self.strings[sizes[0]["num_unit"]] == "bytes",
                                   "pb-heap-bytes", where, "no size of its blocks")
            key = (tuple(sample["location_id"]), labels)
            self.faults.unless(key not in seen, "pb-aggregate", where, "a stack and labels that were there before")
            seen.add(key)

    def is_base(self, sample):
        """Of the profile that a difference takes off, as go tool pprof marks it."""
        return any(self.strings[l["key"]] == "pprof::base" and self.strings[l["str"]] == "true" for l in sample["label"])

    def check_labels(self, labels, where):
        keys = set()
        for label in labels:
            key = self.strings[label["key"]]
            self.faults.unless(key and not (label["str"] and (label["num"] or label["num_unit"])), "pb-label", where,
                               "no key, or both text and a number")
            self.faults.unless(key not in keys, "pb-label-key", where, f"two labels {key}")
            is_base = key == "pprof::base" and self.strings[label["str"]] == "true"
            self.faults.unless(is_base or not key.startswith("pprof::"), "pb-label-prefix", where, "pprof:: is reserved")
            keys.add(key)
        return tuple(sorted((l["key"], l["str"], l["num"]) for l in labels))
