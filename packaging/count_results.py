#!/usr/bin/env python3
"""Adds up the JUnit reports in a folder and prints "N passed, N failed". Exit code 1 when any failed or none ran."""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def main(folder):
    passed = failed = 0
    for report in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            # A test that did not run is a test that failed: nothing here is skipped.
            bad = [e.tag for e in case if e.tag in ("failure", "error", "skipped")]
            if bad or case.get("status") in ("fail", "notrun", "disabled"):
                failed += 1
                print(f"{bad[0] if bad else 'failure'}: {report.stem}: {case.get('classname')} {case.get('name')}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
