"""docs/reliability.md names the tests that prove what it says: they must exist."""
import fnmatch
import re

import pytest
from test_house import ROOT, tracked

PAGE = ROOT / "docs" / "reliability.md"


def rows():
    """The tables whose last column names tests: their rows' last cells."""
    last_of_head, cells = "", []
    for line in PAGE.read_text().splitlines():
        row = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not row:
            last_of_head = ""
        elif not last_of_head:
            last_of_head = row[-1]
        elif last_of_head in ("test", "tests") and not set(row[-1]) <= set("-"):
            cells.append((row[0], row[-1]))
    return cells


@pytest.fixture(scope="module")
def known():
    """Every test as documents write it: Suite.Name, file.py::name, path of a file."""
    found = set()
    for path in tracked():
        place = str(path.relative_to(ROOT))
        if not place.startswith("tests/"):
            continue
        found.add(place)
        if path.suffix == ".cpp":
            found |= {f"{suite}.{name}" for suite, name in
                      re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(), re.MULTILINE)}
        elif path.suffix == ".py":
            found |= {f"{path.name}::{name}" for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)}
    return found


def test_each_row_names_a_test():
    assert len(rows()) > 20
    assert [first for first, tests in rows() if "`" not in tests] == []


def test_each_test_that_is_named_exists(known):
    named = [name for _, tests in rows() for name in re.findall(r"`([^`]+)`", tests)]
    missing = [name for name in named if not fnmatch.filter(known, name.replace("...", "*"))]
    assert not missing, missing
