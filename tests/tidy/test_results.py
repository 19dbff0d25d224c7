"""What ./check counts: nothing that failed, was left out or ended early is told as passed."""
import subprocess
import sys

import pytest
from test_house import ROOT

PASSED = '<testcase classname="a" name="passes"/>'


def count(folder):
    done = subprocess.run([sys.executable, ROOT / "packaging" / "count_results.py", folder], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize("case", ["<testcase name='b'><failure/></testcase>", "<testcase name='b'><error/></testcase>",
                                  "<testcase name='b'><skipped/></testcase>", "<testcase name='b' status='notrun'/>"])
def test_what_has_not_passed_has_failed(tmp_path, case):
    (tmp_path / "one.xml").write_text(f"<testsuites><testsuite>{PASSED}{case}</testsuite></testsuites>")
    (tmp_path / "two.xml").write_text(f"<testsuite>{PASSED}</testsuite>")
    assert count(tmp_path) == (1, "2 passed, 1 failed")


def test_all_passed_is_0_and_nothing_run_is_not(tmp_path):
    assert count(tmp_path) == (1, "0 passed, 0 failed")
    (tmp_path / "one.xml").write_text(f"<testsuite>{PASSED}</testsuite>")
    assert count(tmp_path) == (0, "1 passed, 0 failed")


def test_a_share_that_ends_without_a_report_has_failed(tmp_path):
    program = tmp_path / "program"
    program.write_text(f"""#!/bin/sh
[ "$GTEST_SHARD_INDEX" = 3 ] && {{ echo "[ RUN      ] a.crashes"; exit 139; }}
echo "<testsuite>{PASSED.replace('"', "'")}</testsuite>" > "${{1#--gtest_output=xml:}}"
""")
    program.chmod(0o755)
    reports = tmp_path / "reports"
    reports.mkdir()
    done = subprocess.run([sys.executable, ROOT / "packaging" / "run_shards.py", "shares", reports, program], capture_output=True, text=True)
    assert done.returncode == 1 and "139" in done.stdout
    assert count(reports) == (1, "15 passed, 1 failed")
    assert "a.crashes" in (reports / "shares-3.xml").read_text()


def test_shares_that_were_interrupted_go_on_where_they_were_and_a_failure_stays_one(tmp_path):
    program = tmp_path / "program"
    program.write_text(f"""#!/bin/sh
echo "$GTEST_SHARD_INDEX" >> {tmp_path}/runs
case "$GTEST_SHARD_INDEX" in
  3) [ -e {tmp_path}/go-on ] || {{ echo "<testsuite>" > "${{1#--gtest_output=xml:}}"; kill -TERM $$; }} ;;
  5) echo "[ RUN      ] a.crashes"; exit 139 ;;
esac
echo "<testsuite>{PASSED.replace('"', "'")}</testsuite>" > "${{1#--gtest_output=xml:}}"
""")
    program.chmod(0o755)
    reports = tmp_path / "reports"
    reports.mkdir()
    command = [sys.executable, ROOT / "packaging" / "run_shards.py", "shares", reports, program]
    assert subprocess.run(command, capture_output=True).returncode == 1
    assert count(reports) == (1, "14 passed, 1 failed")
    (tmp_path / "go-on").touch()
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "a.crashes" in again.stdout and "15 of 16 shares passed" in again.stdout
    assert count(reports) == (1, "15 passed, 1 failed")
    assert sorted((tmp_path / "runs").read_text().split(), key=int) == sorted([*map(str, range(16)), "3"], key=int)
