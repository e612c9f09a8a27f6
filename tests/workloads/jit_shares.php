<?php
// SPDX-License-Identifier: Apache-2.0
// Two functions that PHP compiles, in turns, for SECONDS of CPU time; says how much each of them used.
// usage: php jit_shares.php SECONDS

function heavy($n)
{
    $s = 0;
    for ($i = 0; $i < $n; $i++)
        $s = ($s * 31 + $i) & 0xffff;
    return $s;
}

function light($n)
{
    $s = 1;
    for ($i = 0; $i < $n; $i++)
        $s = ($s * 33 ^ $i) & 0xffff;
    return $s;
}

function cpu()
{
    $u = getrusage();
    return $u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']
        + ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) / 1e6;
}

function turn($f, $s, &$used)
{
    $from = cpu();
    for ($now = $from; $now - $from < $s; $now = cpu())
        $f(1000000);
    $used[$f] += $now - $from;
}

$used = ['heavy' => 0.0, 'light' => 0.0];
$end = cpu() + (float) $argv[1];
while (cpu() < $end) {
    turn('heavy', 0.03, $used);
    turn('light', 0.01, $used);
}
echo json_encode($used), " true\n";
