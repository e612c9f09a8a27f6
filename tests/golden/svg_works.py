#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""svg_works.py WRITE_FIXED - a browser draws our flame graph, and what its user does works: search, zoom, views.
What is seen is held to the same profile as collapsed stacks. Skipped (77) where there is no Chromium."""
import base64
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

PAGE = """<!DOCTYPE html><meta charset="utf-8"><iframe id="frame" src="%s" width="1000" height="800"></iframe>
<pre id="seen">nothing</pre>
<script>
window.onload = () => {
  const frame = document.getElementById('frame').contentWindow, d = frame.document, seen = {};
  const text = (id) => d.getElementById(id).textContent;
  const look = (name) => {
    seen[name] = [...d.querySelectorAll('.frame')].map((g) => ({
      name: g.node.name, total: g.node.total, self: g.node.self, above: g.classList.contains('above'),
      x: +g.querySelector('rect').getAttribute('x'), y: +g.querySelector('rect').getAttribute('y'),
      width: +g.querySelector('rect').getAttribute('width'), title: g.querySelector('title').textContent }));
  };
  const change = (id, key, value, kind) => {
    d.getElementById(id)[key] = value;
    d.getElementById(id).dispatchEvent(new frame.Event(kind, { bubbles: true }));
  };
  const click = (name) => [...d.querySelectorAll('.frame')].find((g) => g.node.name === name)
    .querySelector('rect').dispatchEvent(new frame.MouseEvent('click', { bubbles: true }));
  const escape = () => frame.dispatchEvent(new frame.KeyboardEvent('keydown', { key: 'Escape' }));
  try {
    seen.heading = text('heading');
    look('first');
    change('search', 'value', 'loop', 'input');
    seen.matched = text('matched');
    change('search', 'value', '([', 'input');
    seen.strange = text('matched');
    escape();
    click('loop');
    look('zoomed');
    d.querySelector('.frame rect').dispatchEvent(new frame.MouseEvent('mouseover', { bubbles: true }));
    seen.details = text('details');
    escape();
    look('again');
    change('inverted', 'checked', true, 'change');
    look('inverted');
    change('inverted', 'checked', false, 'change');
    change('by', 'value', 'thread', 'change');
    look('threads');
    change('by', 'value', 'process', 'change');
    look('processes');
    seen.scripts = d.querySelectorAll('script').length;
  } catch (error) { seen.error = String(error) + error.stack; }
  document.getElementById('seen').textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
};
</script>"""


def same(value, expected, what):
    assert value == expected, f"{what}: {value!r}, not {expected!r}"


def look(browser, folder, svg):
    """What the page saw of the file."""
    page = os.path.join(folder, "page.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write(PAGE % svg)
    # The profile's folder is short, for its socket; nothing of it outlives the test.
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
               "--disable-sync", "--disable-dev-shm-usage", "--no-first-run", "--allow-file-access-from-files",
               f"--user-data-dir={folder}/user", "--virtual-time-budget=20000", "--dump-dom", f"file://{page}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "HOME": folder})
    found = re.search(r'<pre id="seen">([^<]*)</pre>', run.stdout)
    if not found or found[1] == "nothing":
        return None, run.stderr
    return json.loads(base64.b64decode(found[1])), ""


def main():
    browser = shutil.which("chromium")
    if not browser:
        print("skipped: there is no chromium")
        return 77
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        svg, folded = os.path.join(folder, "a.svg"), os.path.join(folder, "a.folded")
        subprocess.run([sys.argv[1], svg, folded], check=True)
        tree = xml.etree.ElementTree.parse(svg)
        same(tree.getroot().tag, "{http://www.w3.org/2000/svg}svg", "an XML file")
        check_outside(svg)
        seen, error = look(browser, folder, "a.svg")
        if seen is None:
            print("skipped: chromium does not start here:\n" + error[-2000:])
            return 77
        assert "error" not in seen, seen["error"]
        compare(seen, truth(folded))
        hostile(svg, os.path.join(folder, "hostile.svg"))
        seen, _ = look(browser, folder, "hostile.svg")
        assert seen and "error" not in seen, seen
        same(seen["scripts"], 2, "scripts of the file where a function is called like one")
        assert any(f["name"] == HOSTILE and HOSTILE in f["title"] for f in seen["first"]), "a hostile name"
    return 0


HOSTILE = "</script><script>document.title = 'no'</script>]]><img src=x onerror=alert(1)>&lt;"


def hostile(svg, path):
    """The same with another name for main, written as the encoder writes names."""
    name = json.dumps(HOSTILE)
    for character in "<>&":
        name = name.replace(character, f"\\u{ord(character):04x}")
    with open(svg, encoding="utf-8") as file:
        text = file.read()
    assert text.count('["main",') == 1, "main"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace('"main"', name))


def check_outside(path):
    """Nothing in the file comes from elsewhere."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r'xmlns="[^"]*"', "", file.read())
    text = re.sub(r"const XML = '[^']*'", "", text)
    script_and_head = re.sub(r'<script id="data".*?</script>', "", text, flags=re.DOTALL)
    for word in ("http", "href", "src=", "@import", "url(", "eval", "innerHTML", "fetch", "XMLHttp"):
        assert word not in script_and_head, f"{word} in the file"


def truth(path):
    """(names, weight) of each line."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").rpartition(" ") for line in file]
    return [(stack.split(";"), int(weight)) for stack, _, weight in lines]


def plain(name):
    return re.sub("[\x00-\x1f]", " ", name.replace(";", ":")) or "?"


def level(frames, depth):
    """By name: functions of one name in two modules are two frames."""
    rows = sorted({f["y"] for f in frames})
    sums = collections.Counter()
    for f in frames:
        if f["y"] == rows[depth]:
            sums[plain(f["name"])] += f["total"]
    return sums


def compare(seen, lines):
    total = sum(weight for _, weight in lines)
    calls = collections.Counter()
    leaves, threads, processes = collections.Counter(), collections.Counter(), collections.Counter()
    loops = 0
    for stack, weight in lines:
        calls[stack[2]] += weight
        leaves[stack[-1]] += weight
        threads[f"{stack[0]}: {stack[1]}"] += weight
        processes[stack[0]] += weight
        loops += weight if any("loop" in name for name in stack[2:]) else 0

    def compare_level(frames, expected, what):
        """Frames that are not a part of a pixel wide are not drawn."""
        found = level(frames, 1)
        for name in found.keys() | expected.keys():
            assert abs(found[name] - expected[name]) <= total / 1000, f"{what}: {name} in {found}, {expected}"

    assert "CPU time of" in seen["heading"], seen["heading"]
    same(level(seen["first"], 0), {"all": total}, "the whole")
    compare_level(seen["first"], calls, "outermost functions")
    same(seen["matched"], f"matched: {100 * loops / total:.2f} %", "what is found")
    same(seen["strange"], "matched: 0.00 %", "what is no pattern")
    same(seen["again"], seen["first"], "after Esc")
    widths = [f["width"] for f in seen["zoomed"] if f["name"] == "loop"]
    assert widths and widths[0] == seen["zoomed"][0]["width"], f"the function that is zoomed: {widths}"
    assert [f["name"] for f in seen["zoomed"] if f["above"]][0] == "all", "its callers"
    assert "total" in seen["details"] and "self" in seen["details"], seen["details"]
    compare_level(seen["inverted"], leaves, "functions themselves")
    compare_level(seen["threads"], threads, "threads")
    compare_level(seen["processes"], processes, "processes")
    same(seen["scripts"], 2, "scripts of the file")
    for frame in seen["first"]:
        assert frame["name"] in frame["title"] and "total" in frame["title"], frame


if __name__ == "__main__":
    sys.exit(main())
