#!/usr/bin/env python3
"""compile_device_code.py [--may-spill] REPORT COMMAND...: runs nvcc (with -Xptxas -v) and writes to REPORT what each kernel takes of a
multiprocessor on each architecture (of shared memory the static part: a launch may ask for more). Fails where a kernel, or a function
that it calls, spills registers to memory, unless it may."""
import argparse
import re
import subprocess
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)\w*'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def read(text):
    """{kernel's name: {architecture: {registers, shared, stack, spills}}} of what ptxas said."""
    kernels, current = {}, None
    for line in text.splitlines():
        if match := ENTRY.search(line):
            current = kernels.setdefault(match[1], {}).setdefault(int(match[2]), {})
        elif current is not None and (match := SPILLS.search(line)):
            # Of the kernel itself, and then of each function that it calls.
            current["stack"] = max(current.get("stack", 0), int(match[1]))
            current["spills"] = current.get("spills", 0) + int(match[2]) + int(match[3])
        elif current is not None and (match := USED.search(line)):
            current.update(registers=int(match[1]), shared=int(match[2] or 0))
    return kernels


def short_names(names):
    """Without namespaces and parameters, as a person would say them."""
    full = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return [re.sub(r"\([^()]*\)$", "", re.sub(r"^void |\b\w+::|\(anonymous namespace\)::|\([\w: ]+\)(?=\d)", "", line))
            for line in full.splitlines()]


def table(kernels):
    lines = []
    for name, of_kernel in zip(short_names(kernels), kernels.values()):
        figures = [f"sm_{architecture}: {f['registers']} registers, {f['shared']} bytes static shared"
                   + (f", {f['stack']} bytes stack" if f["stack"] else "")
                   + (f", SPILLS {f['spills']} bytes" if f["spills"] else "")
                   for architecture, f in sorted(of_kernel.items())]
        lines.append(f"{name}: " + "; ".join(figures))
    return "".join(line + "\n" for line in sorted(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--may-spill", action="store_true")
    parser.add_argument("report")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    may_spill, report, command = vars(parser.parse_args()).values()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    kernels = read(done.stdout)
    if done.returncode != 0 or not kernels:
        sys.exit(done.stdout + f"\nnvcc ended with {done.returncode} and {len(kernels)} kernels")
    lines = table(kernels)
    with open(report, "w") as file:
        file.write(lines)
    if "SPILLS" in lines and not may_spill:
        sys.exit("registers are spilled:\n" + "".join(l + "\n" for l in lines.splitlines() if "SPILLS" in l))


if __name__ == "__main__":
    main()
