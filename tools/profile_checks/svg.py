# SPDX-License-Identifier: Apache-2.0
"""Flame graphs: one SVG file with its data and its script, and nothing from elsewhere."""
import json
import re
import xml.etree.ElementTree

RULES = """svg-xml svg-outside svg-scripts svg-data svg-length svg-index svg-weight svg-distinct svg-escape""".split()
SVG = "{http://www.w3.org/2000/svg}"
OUTSIDE = ("{http://www.w3.org/1999/xlink}href", "href", "src")


def is_index(value, size):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < size


def check(data, faults):
    try:
        root = xml.etree.ElementTree.fromstring(data)
    except (xml.etree.ElementTree.ParseError, ValueError) as error:
        faults.add("svg-xml", "file", str(error))
        return
    faults.unless(root.tag == SVG + "svg", "svg-xml", "file", "its root is no svg element")
    for element in root.iter():
        faults.unless(not any(name in element.attrib for name in OUTSIDE) and not re.search(
            r"@import|url\(", (element.text or "") if element.tag == SVG + "style" else ""), "svg-outside", element.tag,
                      "refers to something outside of the file")
    scripts = list(root.iter(SVG + "script"))
    if faults.unless(len(scripts) == 2 and scripts[0].get("type") == "application/json" and scripts[1].text, "svg-scripts",
                     "file", "not one element of data and one script"):
        faults.unless(not re.search(rb"[<>&]", data.partition(b'type="application/json">')[2].partition(b"</script>")[0]),
                      "svg-escape", "data", "a character that XML gives a meaning")
        check_data(scripts[0].text or "", faults)


def check_data(text, faults):
    try:
        tree = json.loads(text)
    except ValueError as error:
        faults.add("svg-data", "data", str(error))
        return
    columns = ("parent", "name", "self") + (("before",) if isinstance(tree, dict) and "before" in tree else ())
    good = isinstance(tree, dict) and isinstance(tree.get("unit"), str) and isinstance(tree.get("title"), str)
    if not faults.unless(good and all(isinstance(tree.get(k), list) for k in columns + ("modules", "names", "roots")),
                         "svg-data", "data", "a title, a unit or a table is missing"):
        return
    length = len(tree["parent"])
    if not faults.unless(all(len(tree[k]) == length for k in columns), "svg-length", "data", "columns of other lengths"):
        return
    names = all(isinstance(n, list) and len(n) == 2 and isinstance(n[0], str) and is_index(n[1], len(tree["modules"]))
                for n in tree["names"])
    roots = all(isinstance(r, list) and len(r) == 2 and all(isinstance(t, str) for t in r) for r in tree["roots"])
    rows = all(isinstance(p, int) and -len(tree["roots"]) <= p < i and is_index(n, len(tree["names"]))
               for i, (p, n) in enumerate(zip(tree["parent"], tree["name"])))
    faults.unless(names and roots and rows, "svg-index", "data", "a name, module, root or caller that there is not")
    weights = [w for k in columns[2:] for w in tree[k]]
    faults.unless(all(is_index(w, 1 << 63) for w in weights), "svg-weight", "data", "a weight below 0, or no number")
    faults.unless(len(set(zip(tree["parent"], tree["name"]))) == length, "svg-distinct", "data",
                  "one function twice below one caller")
