"""README.md lists the members of a request that are refused: those that the code refuses, and no others."""
import re

from test_house import ROOT

SOURCE = "runtime/openai/sampling_fields.cpp"


def refused_by_the_code():
    lists = re.findall(r"for \(const char\* name :\s*\{([^}]*)\}", (ROOT / SOURCE).read_text())
    assert len(lists) == 1, "where are the members that are refused?"
    return set(re.findall(r'"(\w+)"', lists[0]))


def listed():
    text = (ROOT / "README.md").read_text()
    sentence = re.search(r"Not supported, and refused with 400 .*?:\n(.*?);", text, re.DOTALL)[1]
    return set(re.findall(r"`(\w+)`", sentence)) - {"none", "auto"}


def test_the_list_of_what_is_refused_is_that_of_the_code():
    assert listed() == refused_by_the_code()
