# SPDX-License-Identifier: Apache-2.0
"""What the tests of harmless*.py share: a program does under Kymo what it does alone."""
import signal

from kymotest import check, record, run, say, ways

ENGINES = ways()
# A thread that used so much has samples, by whatever engine, on a machine however busy.
CPU_SAMPLED_S = 0.1


def check_accounted(report, recording):
    """Sampled and said not to be is what the kernel counts; returns the seconds that are not sampled."""
    unsampled = sum(name["unsampled_s"] for name in report.data["process_names"])
    said = report.quality["cpu_unsampled_s"]
    say(f"{report.total_s:.6f} s sampled, {unsampled:.6f} s said not to be, {said:.6f} s of them by threads, "
        f"of {recording.cpu_s:.6f} s")
    # wait4 rounds to microseconds. What a process behind a filter used after the last look at it is in the
    # sum of all, and in no process.
    check(abs(report.total_s + max(unsampled, said) - recording.cpu_s) <= 1e-4,
          "CPU time is missing, or there twice")
    # What a thread uses behind its last line (some 20 us), or behind a filter, only its process tells; of
    # a process of one thread that is in its last sample.
    room = 1e-4
    if len(report.threads) > len(report.data["processes"]):
        room = 0.05 * recording.cpu_s + 1e-4 * len(report.threads)
    check(unsampled - said <= room, "samples are missing, and no thread says so")
    return unsampled


def check_sampled(report):
    """No thread that used CPU time worth the name has none of it in samples. One that loses its signal
    soon after its start has one, or two."""
    threads = [t for t in report.threads if t["cpu_s"] >= CPU_SAMPLED_S]
    say(f"{len(threads)} threads with {[t['samples'] for t in threads]} samples")
    check(all(t["samples"] >= 3 for t in threads), "threads were not sampled")


def recordings_as_alone(command, *, figures=None, **how):
    """The recordings by each engine, under none of which the program prints anything else, or ends
    otherwise. figures: what of its output may differ (a compiled pattern)."""
    def output(result):
        return figures.sub("", result.stdout) if figures else result.stdout

    plain = run(command, **how)
    check(plain.status != 128 + signal.SIGSEGV, "it crashes alone: that shows nothing")
    for engine in ENGINES:
        recording = record(command, engine=engine, **how)
        result = recording.result
        check(result.status == plain.status,
              f"{engine}: status {result.status}, alone {plain.status}: {result.stderr}")
        check(output(result) == output(plain), f"{engine}: prints {result.stdout!r}, alone {plain.stdout!r}")
        check(result.stderr == plain.stderr, f"{engine}: says {result.stderr!r}, alone {plain.stderr!r}")
        yield engine, recording


def same(command, *, is_sampled=False, **how):
    """Runs it alone and with each engine; returns the reports. is_sampled: no thread may lack samples."""
    reports = []
    for engine, recording in recordings_as_alone(command, **how):
        report = recording.report()
        say(f"{engine}: as alone (status {recording.result.status}); {report.total_s:.3f} s of "
            f"{recording.cpu_s:.3f} s, complete {report.quality['stacks_complete']}, "
            f"lost {report.lost()}")
        if is_sampled:
            check_sampled(report)
        reports.append(report)
    return reports
