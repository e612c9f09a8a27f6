// SPDX-License-Identifier: Apache-2.0
// Two functions that V8 compiles, in turns, for SECONDS of CPU time; says how much each of them used.
// usage: node jit_shares.js SECONDS [remove-map]
'use strict';

function heavy(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 31 + i) | 0;
  return s;
}

function light(n) {
  let s = 1;
  for (let i = 0; i < n; i++)
    s = (s * 33 ^ i) | 0;
  return s;
}

// A call with many targets is not inlined.
const others = [1, 2, 3, 4, 5].map(k => new Function('n', `return n + ${k}`));
const used = {heavy: 0, light: 0};
let sum = 0;

function cpu() {
  const u = process.cpuUsage();
  return u.user + u.system;
}

function turn(f, us) {
  const from = cpu();
  let now = from;
  while (now - from < us) {
    sum += f(2000000);
    now = cpu();
  }
  used[f.name] += now - from;
}

for (const f of others) for (let i = 0; i < 20000; i++) sum += f(i);
const end = cpu() + Number(process.argv[2]) * 1e6;
while (cpu() < end) {
  turn(heavy, 30000);
  turn(light, 10000);
}
console.log(JSON.stringify(used), sum !== 0);
if (process.argv[3] === 'remove-map') require('fs').unlinkSync(`/tmp/perf-${process.pid}.map`);
