// SPDX-License-Identifier: Apache-2.0
// flame.js - draws the call trees that stand in #data, and answers the mouse and the keys.
//
// #data has a tree for each thread (svg.c says how). A view merges them by name: all of them, or
// by process or thread; from the outermost caller, or inverted, from the function itself. Names
// come from the profiled program: they are only ever set as text, never as markup.
(() => {
  'use strict';
  const XML = 'http://www.w3.org/2000/svg';
  const ROW = 17; // pixels of a row
  const TOP = 92; // of the controls above the rows
  const CHARACTER = 7.3; // pixels of a letter
  const SMALLEST = 0.4; // frames of fewer pixels are not drawn
  const data = JSON.parse(document.getElementById('data').textContent);
  const isDiff = data.before !== undefined;
  const element = (id) => document.getElementById(id);
  const view = { by: 'all', inverted: false, search: null, zoom: null, root: null };

  // ---- the tree of a view ----

  const node = (above, name, module) =>
    ({ above, name, module, self: 0, total: 0, was: 0, children: new Map() });

  function below(above, key, name, module) {
    let found = above.children.get(key);
    if (!found) {
      found = node(above, name, module);
      above.children.set(key, found);
    }
    return found;
  }

  // What stands above the stacks of a thread: nothing, its process, or itself.
  function firstLevel(root, [process, thread]) {
    if (view.by === 'process') return below(root, process, process, '');
    if (view.by === 'thread') return below(root, `${process}\n${thread}`, `${process}: ${thread}`, '');
    return root;
  }

  function makeTree() {
    const root = node(null, 'all', '');
    data.self.forEach((self, i) => {
      const was = isDiff ? data.before[i] : 0;
      if (!self && !was) return;
      const path = [];
      let at = i;
      for (; at >= 0; at = data.parent[at]) path.push(data.name[at]);
      if (!view.inverted) path.reverse();
      const nodes = [root, firstLevel(root, data.roots[-1 - at])];
      for (const name of path) {
        const [text, module] = data.names[name];
        nodes.push(below(nodes[nodes.length - 1], name, text, data.modules[module]));
      }
      nodes[view.inverted ? nodes.length - path.length : nodes.length - 1].self += self;
      new Set(nodes).forEach((n) => {
        n.total += self;
        n.was += was;
      });
    });
    return root;
  }

  // ---- text ----

  function amount(value) {
    if (data.unit !== 'bytes' && data.unit !== 'ns') return `${value} ${data.unit}`;
    const steps = data.unit === 'bytes'
      ? [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B']]
      : [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']];
    const [factor, unit] = steps.find(([least]) => Math.abs(value) >= least) || steps[3];
    const number = value / factor;
    return `${factor === 1 ? number : number.toPrecision(3)} ${unit}`;
  }

  const share = (part, whole) => `${(whole ? (100 * part) / whole : 0).toFixed(2)} %`;

  function describe(n) {
    const lines = [n.name];
    if (n.module) lines.push(n.module);
    if (n.name === '[too small to show]') lines.push(`each less than ${amount(data.least)}`);
    lines.push(`total ${amount(n.total)}, ${share(n.total, view.root.total)}`);
    lines.push(`self ${amount(n.self)}, ${share(n.self, view.root.total)}`);
    if (isDiff) {
      const sign = n.total > n.was ? '+' : '';
      lines.push(`before ${amount(n.was)}, change ${sign}${amount(n.total - n.was)}`);
    }
    return lines;
  }

  // ---- colours ----

  // The modules from that which weighs most: neighbours are far apart on the circle of hues.
  const weights = new Map();
  data.self.forEach((self, i) => {
    const module = data.modules[data.names[data.name[i]][1]];
    weights.set(module, (weights.get(module) || 0) + self);
  });
  const modules = [...weights.keys()].filter((m) => m).sort((a, b) => weights.get(b) - weights.get(a));
  const hues = new Map(modules.map((module, i) => [module, (100 + i * 137.5) % 360]));

  const moduleColor = (module) => (module ? `hsl(${hues.get(module)} 62% 74%)` : 'hsl(0 0% 82%)');

  // The greatest change of a function, by which the others are coloured.
  function greatestChange(n) {
    let most = n.above ? Math.abs(n.total - n.was) : 0;
    for (const c of n.children.values()) most = Math.max(most, greatestChange(c));
    return most;
  }

  function color(n) {
    if (view.search && view.search.test(n.name)) return 'hsl(310 90% 66%)';
    if (!isDiff) return moduleColor(n.module);
    const part = view.most ? (n.total - n.was) / view.most : 0;
    return `hsl(${part > 0 ? 5 : 215} 85% ${96 - 40 * Math.sqrt(Math.abs(part))}%)`;
  }

  // ---- drawing ----

  function make(tag, attributes, text) {
    const made = document.createElementNS(XML, tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function drawFrame(n, x, width, depth, isAbove) {
    const group = make('g', { class: isAbove ? 'frame above' : 'frame' });
    const y = TOP + depth * ROW;
    const letters = Math.floor((width - 4) / CHARACTER);
    group.node = n;
    group.append(make('title', {}, describe(n).join('\n')));
    group.append(make('rect', { x: x.toFixed(2), y, width: width.toFixed(2), height: ROW - 1, fill: color(n) }));
    if (letters >= 3) {
      const text = n.name.length <= letters ? n.name : `${n.name.slice(0, letters - 1)}\u2026`;
      group.append(make('text', { x: (x + 3).toFixed(2), y: y + 12 }, text));
    }
    element('frames').append(group);
  }

  // Children from the largest to the smallest; what is left out is summed up and said.
  function drawBelow(n, x, width, depth, drawn) {
    drawn.depth = Math.max(drawn.depth, depth);
    drawFrame(n, x, width, depth, false);
    let at = x;
    const children = [...n.children.values()];
    children.sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
    for (const c of children) {
      const part = n.total ? (width * c.total) / n.total : 0;
      if (part < SMALLEST) drawn.small += c.total;
      else drawBelow(c, at, part, depth + 1, drawn);
      at += part;
    }
  }

  function draw() {
    const width = Math.max(document.documentElement.clientWidth || window.innerWidth || 1200, 320);
    const above = [];
    for (let n = view.zoom.above; n; n = n.above) above.unshift(n);
    const drawn = { depth: 0, small: 0 };
    element('frames').replaceChildren();
    above.forEach((n, depth) => drawFrame(n, 0, width, depth, true));
    drawBelow(view.zoom, 0, width, above.length, drawn);
    document.documentElement.setAttribute('height', TOP + (drawn.depth + 2) * ROW);
    element('small').textContent = drawn.small
      ? `too small to draw: ${share(drawn.small, view.zoom.total)}` : '';
    element('matched').textContent = view.search
      ? `matched: ${share(matched(view.zoom), view.zoom.total)}` : '';
  }

  // What is below a match is in it, and does not count twice.
  function matched(n) {
    if (n.above && view.search.test(n.name)) return n.total;
    let sum = 0;
    for (const c of n.children.values()) sum += matched(c);
    return sum;
  }

  function rebuild() {
    view.root = view.zoom = makeTree();
    view.most = isDiff ? greatestChange(view.root) : 0;
    draw();
  }

  // ---- what the user does ----

  function search(text) {
    try {
      view.search = text ? new RegExp(text, 'i') : null;
    } catch (error) {
      view.search = new RegExp(text.replace(/[^\w]/g, '\\$&'), 'i');
    }
    draw();
  }

  const frameOf = (event) => event.target.closest && event.target.closest('.frame');

  element('frames').addEventListener('click', (event) => {
    const frame = frameOf(event);
    if (!frame) return;
    view.zoom = frame.node;
    draw();
  });
  element('frames').addEventListener('mouseover', (event) => {
    const frame = frameOf(event);
    if (frame) element('details').textContent = describe(frame.node).join('   ');
  });
  element('search').addEventListener('input', (event) => search(event.target.value));
  element('by').addEventListener('change', (event) => {
    view.by = event.target.value;
    rebuild();
  });
  element('inverted').addEventListener('change', (event) => {
    view.inverted = event.target.checked;
    rebuild();
  });
  window.addEventListener('resize', draw);
  window.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      element('search').value = '';
      view.search = null;
      view.zoom = view.root;
      draw();
    } else if (event.key === '/' && event.target.id !== 'search') {
      event.preventDefault();
      element('search').focus();
    }
  });

  // ---- the beginning ----

  function drawLegend() {
    let x = 8;
    for (const module of modules.slice(0, 8)) {
      element('legend').append(make('rect', { x, y: 0, width: 10, height: 10, fill: moduleColor(module) }));
      element('legend').append(make('text', { x: x + 14, y: 10 }, module));
      x += 30 + module.length * CHARACTER;
    }
  }

  element('without').remove();
  element('heading').textContent = isDiff ? `${data.title} (red: more than before, blue: less)` : data.title;
  if (!isDiff) drawLegend();
  rebuild();
})();
