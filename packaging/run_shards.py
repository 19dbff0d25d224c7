#!/usr/bin/env python3
"""Runs a GoogleTest program in several processes at once, each with its share of the tests, one JUnit report for each.

    run_shards.py NAME REPORTS-FOLDER PROGRAM [GTEST-OPTIONS...]

Under a sanitizer a process takes longer to begin and to end than most tests: this takes half the time of one process per
test. What is lost: tests of a share are not apart from one another, and one that ends its process takes the rest of its
share with it, which counts as one failure. A share that has a report is not run again, so that what was interrupted goes on
where it was. Exit code 1 where anything failed.
"""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import xml.sax.saxutils

SHARES = 16
SECONDS = 1800  # also with the least weight beside other work


def run(name, reports, command, share):
    """What a share that failed has said, the empty string where it passed."""
    report, unfinished, words = (reports / f"{name}-{share}.{ending}" for ending in ("xml", "part", "txt"))
    if report.exists():
        return words.read_text() if words.exists() else ""
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(SHARES), "GTEST_SHARD_INDEX": str(share)}
    try:
        done = subprocess.run([*command, f"--gtest_output=xml:{unfinished}"], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
        said, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        said, code = (late.stdout or b"").decode(errors="replace"), "a time limit"
    if code == 0:
        unfinished.rename(report)
        return ""
    failed = f"share {share} of {name} ended with {code}:\n{said[-20000:]}"
    if code == -signal.SIGTERM:  # whoever interrupts this interrupts the shares
        return failed
    words.write_text(failed)
    if not unfinished.exists() or "<failure" not in unfinished.read_text(errors="replace"):
        why = xml.sax.saxutils.quoteattr(f"the process ended with {code}")
        begun = [line.split("]", 1)[1].strip() for line in said.splitlines() if line.startswith("[ RUN")]
        test = xml.sax.saxutils.quoteattr(begun[-1] if begun else "none begun")
        unfinished.write_text(f'<testsuite><testcase classname="{name}" name={test}><failure message={why}/></testcase></testsuite>')
    unfinished.rename(report)
    return failed


def main(name, folder, *command):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [said for said in pool.map(lambda share: run(name, pathlib.Path(folder), command, share), range(SHARES)) if said]
    print(*failures, f"{name}: {SHARES - len(failures)} of {SHARES} shares passed", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
