# SPDX-License-Identifier: Apache-2.0
"""Programs that know where their time goes, and what Kymo says of them."""
import json

from kymotest import (HZ, WORKLOADS, add_case, as_many, by_chance, case, check, check_close, check_complete,
                      check_nothing_lost, engines, main, record, say, skip)

ENGINE = engines()[0]


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def record_workload(*command):
    recording = record([WORKLOADS / command[0], *command[1:]], engine=ENGINE)
    report = recording.report()
    check_nothing_lost(report.quality)
    return recording, report


def period_s(report):
    """The CPU time that one sample stands for, on average."""
    return (report.total_s - report.quality.get("cpu_startup_s", 0)) / max(report.quality["samples"], 1)


@case
def split():
    """Three functions at 60 : 30 : 10 on two threads. What the program takes for their time is that
    of its readings of the clock, too, which are shared out alike."""
    recording, report = record_workload("split", "2")
    check_close("CPU seconds", report.total_s, recording.cpu_s, 0.01 * recording.cpu_s)
    profile = recording.firefox()
    names = {t["name"]: t for t in profile.data["threads"]}
    for truth in lines(recording.result):
        samples = profile.samples(names[truth["thread"]])
        check_close(f"{truth['thread']}: CPU seconds", sum(s.cpu_ns for s in samples) / 1e9,
                    truth["cpu_s"], 0.01 * truth["cpu_s"])
        weights = {name: sum(s.cpu_ns for s in samples if s.function() == name)
                   for name in ("burn_sixty", "burn_thirty", "burn_ten")}
        enough = as_many(s.cpu_ns for s in samples)
        for name, weight in weights.items():
            check_close(f"{truth['thread']}: {name}", weight / sum(weights.values()), truth[name],
                        max(0.02, by_chance(truth[name], enough)))


@case
def phases():
    """The function changes every 20 ms: each change is seen, between two samples that lie on the
    right sides of it and no more than 2 ms of CPU time apart. In a gap no thread can be sampled: for a
    virtual CPU that was taken away the kernel counts CPU time in which nothing ran."""
    if ENGINE != "perf":
        skip("changes of 2 ms are not for timers")
    recording, _ = record_workload("phases", "100")
    samples = [s for s in recording.firefox().all_samples()
               if any(f.name.startswith("phase_") for f in s.frames)]
    truth = lines(recording.result)
    at, expected = 0, 0
    narrow = 0
    for i, phase in enumerate(truth):
        own = []
        while at < len(samples) and samples[at].function() == phase["phase"]:
            own.append(samples[at])
            at += 1
        check(own, f"phase {i} ({phase['phase']}) was not seen")
        possible = (phase["cpu_ns"] - phase["gaps_ns"]) / 1e6
        expected += possible
        check(len(own) >= 0.75 * possible - 2, f"only {len(own)} samples in phase {i}, of {possible:.1f}")
        early, late = phase["start_ns"] - own[0].time_ns, own[-1].time_ns - phase["end_ns"]
        check(early <= 2e6 and late <= 2e6, f"phase {i}: {early} ns too early, {late} ns too late")
        if i > 0:
            # The weight of a phase's first sample goes back to the last of the phase before.
            narrow += own[0].cpu_ns <= 2e6 + truth[i - 1]["gaps_ns"] + phase["gaps_ns"]
    check(at == len(samples), f"{len(samples) - at} samples after the last phase")
    say(f"{len(truth)} phases, {narrow} changes between samples at most 2 ms apart; {len(samples)} samples of "
        f"{expected:.0f}, gaps of {sum(p['gaps_ns'] for p in truth) / 1e6:.1f} ms")
    check(len(samples) >= 0.9 * expected, f"only {len(samples)} samples in all, of {expected:.0f}")
    check(narrow >= 0.95 * (len(truth) - 1), f"only {narrow} changes lie between samples 2 ms apart")


def outermost_first(frames, names):
    """Whether these names occur in this order; others may lie between them."""
    at = 0
    for frame in frames:
        if at < len(names) and frame.name.startswith(names[at]):
            at += 1
    return at == len(names)


def inlining(program, chains, inlined):
    """chains: beginnings of names from the outside in, and the least share of the samples that have
    them. inlined: such beginnings, and how deep the compiler has inlined them at least."""
    if not (WORKLOADS / program).exists():
        skip(f"{program} was not built: its compiler is not here")
    recording, _ = record_workload(program, "300")
    profile = recording.firefox()
    samples = profile.all_samples()
    wrong = []
    for chain, least in chains:
        share = sum(outermost_first(s.frames, chain) for s in samples) / len(samples)
        say(f"{' > '.join(chain)}: {share:.3f}")
        if share < least:
            wrong.append(f"{chain} is only {share:.3f} of the samples")
    for name, depth in inlined.items():
        depths = {f.inline_depth for f in profile.frames if f.name.startswith(name)}
        say(f"{name}: inlined {sorted(depths)} deep")
        if not depths or min(depths) < depth or depth == 0 and depths != {0}:
            wrong.append(f"{name} is inlined {sorted(depths)} deep, not {depth}")
    check(not wrong, "; ".join(wrong))


# Each loops in the function inlined deepest, and all loops wait for multiplications: on every processor each
# has about as many samples as the others, and not just one instruction to have them at.
# What debug information calls the functions of an unnamed namespace and of a lambda, and with it
# addr2line, is their bare name.
add_case(
    "inlines", inlining, "inlines",
    [(["main", "unsigned long geometry::total_area<geometry::Round>",
       "geometry::Shape<geometry::Round>::area() const", "geometry::polish(unsigned long"], 0.1),
     (["main", "unsigned long geometry::total_area<geometry::Square>",
       "geometry::Shape<geometry::Square>::area() const", "geometry::polish(unsigned long"], 0.1),
     (["main", "text::checksum(", "operator()", "rotate"], 0.1),
     (["main", "careful(unsigned long)", "risky(unsigned long)"], 0.03)],
    {"geometry::Shape<geometry::Round>::area() const": 1, "geometry::polish(unsigned long, int)": 1,
     "rotate": 2, "unsigned long geometry::total_area<geometry::Round>": 0})
add_case(
    "inlines_rs", inlining, "inlines_rs",
    [(["inlines::main", "inlines::geometry::total_area",
       "<inlines::geometry::Round as inlines::geometry::Shape>::area",
       "inlines::geometry::polish"], 0.1),
     (["inlines::main", "inlines::geometry::total_area",
       "<inlines::geometry::Square as inlines::geometry::Shape>::area",
       "inlines::geometry::polish"], 0.1),
     (["inlines::main", "inlines::text::checksum", "inlines::text::mix"], 0.1)],
    {"inlines::geometry::polish": 1, "inlines::text::mix": 1,
     "inlines::text::checksum::{{closure}}": 1})


@case
def manythreads():
    """1000 threads that live, and 1000 a second that do not for long: nothing is lost. What a
    thread uses in the kernel once its last line has run is in the process's time alone."""
    recording, report = record_workload("manythreads")
    truth = lines(recording.result)[0]
    threads = truth["live"] + truth["short"] + 1
    unsampled = report.quality["cpu_unsampled_s"]
    kernel_s = recording.cpu_s - truth["cpu_live"] - truth["cpu_short"] - truth["cpu_main"]
    say(f"{len(report.threads)} threads, {report.total_s:.3f} s sampled, {unsampled:.3f} s said "
        f"not to be, {kernel_s:.3f} s behind the last lines of threads")
    check(len(report.threads) == threads, f"{len(report.threads)} threads of {threads}")
    check_close("CPU seconds, sampled or known not to be", report.total_s + unsampled,
                recording.cpu_s, 0.01 * recording.cpu_s + max(kernel_s, 0))


@case
def dlopenloop():
    """Two plugins take turns at the same addresses; they load by the RUNPATH of their caller. One works for
    twice as long as the other: names that are mixed up show."""
    recording, report = record_workload("dlopenloop", "1000")
    check(recording.result.status == 0, recording.result.stderr)
    truth = lines(recording.result)[0]
    for name in ("plugin_red", "plugin_blue"):
        share = truth[name] / recording.cpu_s
        check_close(f"share of {name}", report.inclusive_s(name) / recording.cpu_s, share,
                    max(0.02, by_chance(share, report.quality["samples"])))


@case
def holes():
    """The kernel maps a program with holes where the linker left them: it is one file all the same."""
    recording, report = record_workload("holes", "2", "1")
    say(f"complete {report.quality['stacks_complete']}, {report.quality['samples']} samples")
    check_complete(report)
    truth = lines(recording.result)[0]["burn_busy"]
    check_close("seconds in burn_busy", report.inclusive_s("burn_busy"), truth,
                0.02 * truth + 2 * period_s(report))


@case
def pingpong():
    """Threads that run for microseconds at a time are left to the kernel's tick, which costs them
    nothing; a busy one beside them has its events. Shares are right all the same."""
    if ENGINE != "perf":
        skip("only events cost something at a switch")
    recording = record([WORKLOADS / "pingpong"])
    report = recording.report()
    check(recording.result.status == 0, recording.result.stderr)
    truth = lines(recording.result)[0]
    rates = {t["name"]: t["sampled_rate"] for t in report.threads}
    say(f"sampled rates {rates}, {HZ} ticks a second")
    # At 1000 ticks a second both have the same rate.
    between = (1 + HZ / 1000) / 2
    if between < 0.9:
        check(max(rates["ping"], rates["pong"]) < between, "they were not left to the tick")
        check(rates["steady"] > between, "a busy thread was")
    weights = {name: [s.cpu_ns for s in recording.firefox().all_samples() if s.function() == name]
               for name in ("burn_long", "burn_short")}
    long, short = (sum(of) for of in weights.values())
    share = truth["burn_long"] / (truth["burn_long"] + truth["burn_short"])
    check_close("burn_long, of the two", long / (long + short), share,
                0.02 + by_chance(share, as_many(weights["burn_long"] + weights["burn_short"])))
    check_close("seconds in burn_steady", report.inclusive_s("burn_steady"), truth["burn_steady"],
                0.05 * truth["burn_steady"] + 0.002)
    check_close("CPU seconds", report.total_s, recording.cpu_s, 0.01 * recording.cpu_s)


@case
def uncounted():
    """A thread of which the kernel has not counted some arrivals on a CPU is seen there nonetheless.
    Its children are not recorded: to attach to each would take longer than all the rest."""
    recording = record([WORKLOADS / "uncounted"], engine="dispatch", options=["--children=no"])
    report = recording.report()
    truth, = lines(recording.result)
    say(f"{truth['uncounted']} arrivals were not counted")
    if report.quality["engine"] != "dispatch":
        skip("the dispatcher does not work here")
    if truth["uncounted"] <= 0:
        skip("this kernel counted them all")
    check_close("s in burn_uncounted", report.inclusive_s("burn_uncounted"), truth["burn_s"],
                0.05 * truth["burn_s"])
    samples = report.quality["samples"]
    check(samples > 300 * truth["burn_s"], f"{samples} samples in {truth['burn_s']} s, one in 1 ms")


def ending(way, status, functions):
    """What comes after a function's last sample is in none."""
    recording, report = record_workload("exits", way)
    check(recording.result.status == status, f"status {recording.result.status}, not {status}")
    truths = {line["function"]: line for line in map(json.loads, recording.result.stdout.splitlines()[:len(functions)])}
    for name in functions:
        truth = truths[name]
        check_close(f"seconds in {name}", report.inclusive_s(name), truth["burnt"],
                    0.02 * truth["burnt"] + 2 * period_s(report))


BEFORE = ["burn_before_the_end"]
for name, code in (("return", 0), ("exit", 7), ("_exit", 7), ("quick_exit", 7), ("abort", 134),
                   ("sigkill", 137), ("segv", 139), ("exec", 0)):
    add_case(f"exits.{name}", ending, name, code, BEFORE)
add_case("exits.pthread_exit", ending, "pthread_exit", 0, BEFORE + ["burn_after_main"])


@case
def loading():
    """What the dynamic loader takes is shown as the start of the process: not as the function that has the first
    sample, and not as the image before."""
    for engine in engines():
        recording = record([WORKLOADS / "loads", "again"], engine=engine)
        report = recording.report()
        images = lines(recording.result)
        began = [image["began"] - image["before"] for image in images]
        start_s = report.self_s("[process start: exec, dynamic loader]")
        say(f"{engine}: {start_s:.3f} s of starts, mains began after {began[0]:.3f} and {began[1]:.3f} s")
        # From there to main is what Kymo and the libraries' own beginnings take.
        check(0.75 * sum(began) <= start_s <= sum(began), "that is not what was before main")
        for name, truth in (("burn_loaded", sum(image["burnt"] for image in images)), ("burn_to_choose", 0)):
            check_close(f"{engine}: seconds in {name}", report.inclusive_s(name), truth,
                        0.02 * truth + 4 * period_s(report))
        check_close(f"{engine}: CPU seconds", report.total_s, recording.cpu_s, 0.01 * recording.cpu_s + 0.002)
        check_close(f"{engine}: the starts in the quality", report.quality["cpu_startup_s"], start_s, 1e-6)
        asked = (recording.cpu_s - start_s) * 1e9 / report.quality["period_ns"]
        check_close(f"{engine}: samples of those asked for", report.quality["sampled_rate"],
                    min(report.quality["samples"] / asked, 1), 0.02)


@case
def another_image():
    """What a process uses before an exec is the first image's, what comes after the second's. The program knows
    its CPU time before the exec, and when the next main begins."""
    for engine in engines():
        recording = record([WORKLOADS / "exits", "again"], engine=engine)
        report = recording.report()
        before, after = lines(recording.result)
        first, second = [p["cpu_s"] for p in report.data["processes"]]
        say(f"{engine}: {first:.3f} s, then {second:.3f} s, {report.total_s:.3f} s sampled; the exec was between "
            f"{before['now']:.3f} and {after['began']:.3f} s")
        slack = 0.01 * recording.cpu_s + 0.002
        check(before["now"] - slack <= first <= after["began"] + slack, f"the first image used {first} s")
        check_close("s together", first + second, recording.cpu_s, slack)
        check_close("s sampled", report.total_s, recording.cpu_s, slack + 2 * period_s(report))


@case
def children():
    """What children use is in the recording, and none of the program's own CPU time."""
    count = "\"$0\" return; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"
    for engine in engines():
        recording = record(["sh", "-c", count, WORKLOADS / "exits"], engine=engine)
        report = recording.report()
        truth, = lines(recording.result)
        own, child = [p["cpu_s"] for p in report.data["processes"]]
        say(f"{engine}: {own:.3f} s of its own, of {recording.cpu_s:.3f} s")
        check_close("s of the child", child, truth["now"], 0.05 * truth["now"] + 0.002)
        check_close("s together", own + child, recording.cpu_s,
                    0.01 * recording.cpu_s + 0.002)
        check_close("achieved", report.quality["achieved"], 1, 0.02)


main()
