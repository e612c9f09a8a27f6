#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chart.py MARKER_CHART - a page is well-formed whatever texts there are, its labels say what they name, and
50000 markers of as many names, all open at once in part, take no longer than they have to: the limit
of CPU time is far below what each with each would take."""
import json
import os
import resource
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

COUNT = 50000


def profile():
    # Half of them of names of their own, half of one name and open at the same time.
    names = [f"request {i}" for i in range(COUNT // 2)] + ["open", "odd \x1b\x00 text", "told"]
    name = list(range(COUNT // 2)) + [COUNT // 2] * (COUNT // 2) + [COUNT // 2 + 1, COUNT // 2 + 2]
    start = [i / 100 for i in range(COUNT // 2)] + [i / 1000 for i in range(COUNT // 2)] + [600.5, 700]
    end = [s + 1 for s in start[:COUNT // 2]] + [500.0] * (COUNT // 2) + [650.25, 1000]
    data = [None] * COUNT + [{"type": "Told", "text": "\x07"}, {"type": "Told", "text": "x"}]
    rows = len(name)
    schema = {"name": "Told", "display": [], "fields": [{"key": "text", "label": "Text", "format": "string"}],
              "chartLabel": "{marker.name} of {marker.category} from {marker.start} for {marker.duration}: {marker.data.text}"}
    return {"meta": {"categories": [{"name": "Net", "color": "blue", "subcategories": []}], "markerSchema": [schema]},
            "shared": {"stringArray": names},
            "threads": [{"name": "main", "tid": 1, "markers": {
                "length": rows, "name": name, "startTime": start, "endTime": end, "phase": [1] * rows,
                "category": [0] * rows, "data": data}}]}


def main():
    with tempfile.TemporaryDirectory() as folder:
        source, page = os.path.join(folder, "a.json"), os.path.join(folder, "a.html")
        with open(source, "w", encoding="utf-8") as file:
            json.dump(profile(), file)
        # Two seconds of it; minutes where each name looks at each marker.
        subprocess.run([sys.argv[1], source, page], check=True,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
        with open(page, encoding="utf-8") as file:
            tree = ElementTree.fromstring(file.read().split("\n", 1)[1])
    texts = {"".join(e.itertext()) for e in tree.iter() if e.tag.endswith("text")}
    assert {"odd \ufffd\ufffd text", "told", "open", "request 0"} <= texts, "names are missing"
    assert "told of Net from 700ms for 300ms: x" in texts, [t for t in texts if "told" in t]
    return 0


if __name__ == "__main__":
    sys.exit(main())
