# SPDX-License-Identifier: Apache-2.0
"""What a Firefox processed profile says of the types of its markers."""
import re

RULES = """schema schema-distinct schema-format schema-key schema-label schema-graph schema-color
schema-magic schema-network schema-tooltip""".split()

DISPLAYS = """marker-chart marker-table timeline-overview timeline-memory timeline-ipc timeline-fileio
timeline-network stack-chart""".split()
INDEX_FORMATS = "unique-string flow-id terminating-flow-id".split()
TEXT_FORMATS = "url file-path sanitized-string string pid".split()
NUMBER_FORMATS = """duration time seconds milliseconds microseconds nanoseconds bytes percentage integer decimal
hexadecimal tid""".split()
FORMATS = INDEX_FORMATS + TEXT_FORMATS + NUMBER_FORMATS + ["list"]
GRAPH_COLORS = "blue green grey ink magenta orange purple red teal yellow".split()
GRAPH_TYPES = "bar line line-filled".split()
# The front-end has rules of its own for markers of these types.
MAGIC = """Network CompositorScreenshot CompositorScreenshotWindowDestroyed IPC tracing Log FileIO UserTiming GCMajor
GCMinor GCSlice DOMEvent Jank""".split()
MAGIC_KEYS = "type cause stack innerWindowID".split()


def fields_by_name(schemas):
    """By schema: the format of each key."""
    result = {}
    for schema in schemas if isinstance(schemas, list) else []:
        if isinstance(schema, dict) and isinstance(schema.get("fields"), list):
            result[schema.get("name")] = {f["key"]: f.get("format") for f in schema["fields"]
                                          if isinstance(f, dict) and "key" in f}
    return result


def is_format(format_):
    if isinstance(format_, dict):
        columns = format_.get("columns")
        return format_.get("type") == "table" and isinstance(columns, list) and bool(columns) and all(
            isinstance(c, dict) and c.get("type", "string") in FORMATS for c in columns)
    return format_ in FORMATS


def check_schemas(schemas, faults):
    if not isinstance(schemas, list):
        faults.add("schema", "meta.markerSchema", "missing")
        return
    names = set()
    for i, schema in enumerate(schemas):
        where = f"meta.markerSchema[{i}]"
        good = isinstance(schema, dict) and isinstance(schema.get("name"), str)
        good = good and isinstance(schema.get("fields"), list) and isinstance(schema.get("display"), list)
        if not faults.unless(good and all(d in DISPLAYS for d in schema["display"]), "schema", where,
                             "not a name, known displays and fields"):
            continue
        faults.unless(schema["name"] not in names, "schema-distinct", where, "a name that was there before")
        names.add(schema["name"])
        faults.unless(schema["name"] not in MAGIC, "schema-magic", where, "a name with rules of its own")
        faults.unless("timeline-network" not in schema["display"], "schema-network", where,
                      "has a Network track, which stays blank")
        faults.unless("{marker.name}" in str(schema.get("tooltipLabel", "{marker.name}")), "schema-tooltip", where,
                      "a tooltip without the marker's name")
        if check_fields(schema["fields"], where, faults):
            check_references(schema, where, faults)


def check_fields(fields, where, faults):
    good = True
    keys = set()
    for field in fields:
        if not faults.unless(isinstance(field, dict) and isinstance(field.get("key"), str)
                             and is_format(field.get("format")), "schema-format", where,
                             "a field without a key or a known format"):
            good = False
            continue
        faults.unless(field["key"] not in keys and field["key"] not in MAGIC_KEYS, "schema-key", where,
                      "a key that is there twice, or means something else")
        keys.add(field["key"])
    return good


def check_references(schema, where, faults):
    """Labels, graphs and the colour name fields that there are."""
    formats = {f["key"]: f["format"] for f in schema["fields"]}
    for name in ("chartLabel", "tooltipLabel", "tableLabel"):
        label = schema.get(name, "")
        named = re.findall(r"\{marker\.data\.([^}?\s]*)", label) if isinstance(label, str) else [None]
        faults.unless(all(key in formats for key in named), "schema-label", f"{where}.{name}",
                      "names a field that there is not")
    graphs = schema.get("graphs", [])
    good = isinstance(graphs, list) and all(
        isinstance(g, dict) and g.get("type") in GRAPH_TYPES and g.get("color", "blue") in GRAPH_COLORS
        and str(formats.get(g.get("key"))) in NUMBER_FORMATS for g in graphs)
    faults.unless(good, "schema-graph", where, "a graph of an unknown kind or colour, or not of a field of numbers")
    faults.unless(schema.get("colorField") in (None, *formats), "schema-color", where,
                  "colorField names a field that there is not")
