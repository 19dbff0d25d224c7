"""troupe grammar: verdicts on JSON Schemas as Python's jsonschema gives them; no model is needed but for bench."""
import json
import re
from random import Random

import pytest
from jsonschema import Draft202012Validator

from random_numbers import NumberMaker
from random_schemas import Maker
from random_unions import UnionMaker
from test_cli import refused, troupe

NO_VALUE = re.compile(r'JSON Schema, at ".*": this is satisfied by no value|grammar: no text belongs to it')
CASES_PER_SEED = 500
SEEDS = range(20)


def check_batch(folder, cases, *flags):
    """The answer to each {"schema", "instances", "texts"}."""
    path = folder / "batch.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    done = troupe("grammar", "check", "--batch", path, *flags)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_valid(schema, value):
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(value)


def compare_verdicts(folder, cases):
    """How many were given, of schemas with values, and are those of jsonschema."""
    answers = check_batch(folder, [{"schema": schema, "instances": values} for schema, values in cases])
    assert len(answers) == len(cases)
    compared = 0
    for (schema, values), answer in zip(cases, answers):
        if "refused" in answer:
            assert not NO_VALUE.fullmatch(answer["refused"]) or not any(is_valid(schema, value) for value in values), schema
            continue
        for value, accepted in zip(values, answer["accepted"]):
            assert accepted == is_valid(schema, value), (schema, value)
            compared += 1
    return compared


@pytest.mark.parametrize("seed", SEEDS)
def test_random_schemas_get_the_verdicts_of_jsonschema(tmp_path, seed):
    maker = Maker(seed)
    cases = [maker.case(4) for _ in range(CASES_PER_SEED)]
    assert compare_verdicts(tmp_path, cases) > 2.5 * CASES_PER_SEED  # few are refused


def written_plainly(value):
    """Whole numbers without a point, however deep."""
    if isinstance(value, dict):
        return {name: written_plainly(each) for name, each in value.items()}
    if isinstance(value, list):
        return [written_plainly(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e16 else value


@pytest.mark.parametrize("seed", range(6))
def test_plain_integers_leave_a_spelling_of_every_value(tmp_path, seed):
    """Of whole numbers with an exponent there is none left."""
    maker, numbers = Maker(seed), NumberMaker(seed)
    cases = [maker.case(4) for _ in range(300)] + [(numbers.schema(), [numbers.number() for _ in range(12)]) for _ in range(300)]
    plainly = [[each for each in written_plainly(values) if not re.search("[0-9]e", json.dumps(each))] for _, values in cases]
    batch = [{"schema": schema, "instances": values} for (schema, _), values in zip(cases, plainly)]
    answers = check_batch(tmp_path, batch)
    assert check_batch(tmp_path, batch, "--plain-integers") == answers
    assert sum(sum(answer.get("accepted", [])) for answer in answers) > 1000


@pytest.mark.parametrize("seed", range(2))
def test_random_unions_of_objects_get_the_verdicts_of_jsonschema(tmp_path, seed):
    maker = UnionMaker(seed)
    cases = [(maker.schema(), [maker.value() for _ in range(30)]) for _ in range(400)]
    assert compare_verdicts(tmp_path, cases) > 0.9 * 30 * 400


@pytest.mark.parametrize("branch", [
    lambda i: {"properties": {"kind": {"const": f"k{i}"}, "x": {"type": "number"}}, "required": ["x"], "additionalProperties": False},
    lambda i: {"type": "object", "properties": {"kind": {"const": f"k{i}"}}}, lambda i: {"properties": {f"k{i}": {"type": "string"}}, "required": [f"k{i}"]}])
def test_unions_of_many_objects_are_served_whether_their_tag_is_required_or_not(tmp_path, branch):
    """As Pydantic writes them where the tag has a default."""
    schema = {"type": "object", "oneOf": [branch(i) for i in range(40)]}
    values = [{}, {"x": 1}, {"kind": "k39"}, {"kind": "k39", "x": 1}, {"kind": "k40", "x": 1}, {"k7": "k7"}, {"k7": "k7", "k8": "k7"},
              {"k7": "k7", "k8": 8}, {"kind": "k0", "x": 1, "k7": 1}]
    assert compare_verdicts(tmp_path, [(schema, values)]) == len(values)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_as_json_dumps_writes_them_get_the_verdicts_of_jsonschema(tmp_path, seed):
    maker = NumberMaker(seed)
    cases = [(maker.schema(), [maker.number() for _ in range(12)]) for _ in range(500)]
    answers = check_batch(tmp_path, [{"schema": schema, "instances": values} for schema, values in cases])
    with_exponent = accepted_with_exponent = 0
    for (schema, values), answer in zip(cases, answers):
        for value, accepted in zip(values, answer.get("accepted", [])):
            valid, has_exponent = is_valid(schema, value), "e" in json.dumps(value)
            assert accepted in ((False, True) if valid and has_exponent else (valid,)), (schema, value)
            with_exponent += valid and has_exponent
            accepted_with_exponent += accepted and has_exponent
    assert accepted_with_exponent > 0.6 * with_exponent  # the others cannot be told by their exponent


@pytest.mark.parametrize("flags, texts, expected", [
    ([], ['{"a":1}', '{ "a" :\n1 }', '{"a": 1, "b": 2}', '{"b": 2,"a":1}', '{"a":1} ', '{"a":1,"a":2}', '{"a":1,}'],
     [True, True, True, True, False, False, False]),
    (["--max-white-space", 0], ['{"a":1}', '{"a": 1}', '{"b":2,"a":1}'], [True, False, True]),
    (["--fixed-order"], ['{"a":1,"b":2}', '{"b":2,"a":1}', '{"a":1}', '{"b":2}', '{"a":1,"b":2,"c":3}'],
     [True, False, True, False, True]),
    (["--plain-integers"], ['{"a":1}', '{"a":1.0}', '{"a":-0}', '{"a":1e2}', '{"a":1,"b":2.0}'], [True, False, False, False, False]),
])
def test_white_space_order_and_plain_integers_are_options(tmp_path, flags, texts, expected):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
    assert check_batch(tmp_path, [{"schema": schema, "texts": texts}], *flags) == [{"accepted": expected}]


def test_an_instance_is_written_as_the_options_allow(tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}
    for flags in ([], ["--max-white-space", 0], ["--max-white-space", 1]):
        assert check_batch(tmp_path, [{"schema": schema, "instances": [{"a": [1, 2], "b": 3}, {"b": []}]}], *flags) == [{"accepted": [True, False]}]


def test_a_rejection_says_what_follows(tmp_path):
    schema, instance = tmp_path / "schema", tmp_path / "instance"
    schema.write_text('{"type": "integer"}')
    for text, said in (("12\n", 'rejected after 2 bytes: 12\nwhat follows is "\\n"\n'), ("-", "rejected after 1 bytes: -\nthe text ends there\n")):
        instance.write_text(text)
        run = troupe("grammar", "check", "--schema", schema, "--instance", instance, "--text")
        assert (run.returncode, run.stdout) == (1, said)


def test_a_file_that_is_not_json_is_named_by_what_it_was_to_be(tmp_path):
    schema, instance, broken = tmp_path / "schema", tmp_path / "instance", tmp_path / "broken"
    schema.write_text("true")
    instance.write_text("1")
    broken.write_text("{")
    refused(troupe("grammar", "check", "--schema", schema, "--instance", broken), 78, f"{broken}: the instance is not valid JSON at byte 2")
    refused(troupe("grammar", "check", "--schema", broken, "--instance", instance), 78, "the JSON Schema is not valid JSON at byte 2")
    run = troupe("grammar", "check", "--batch", broken)
    assert json.loads(run.stdout) == {"error": f"{broken}, line 1: the line is not valid JSON at byte 2"}


def test_a_word_that_json_schema_does_not_have_is_named(tmp_path):
    schema, instance = tmp_path / "schema", tmp_path / "instance"
    schema.write_text('{"type": "string", "maxLenght": 2, "x-tag": 1, "properties": {"maxLenght": {}}}')
    instance.write_text('"abc"')
    run = troupe("grammar", "check", "--schema", schema, "--instance", instance)
    assert (run.returncode, run.stdout) == (0, "accepted\n")
    assert run.stderr == 'troupe: warning: JSON Schema, at "/maxLenght": no word of JSON Schema, so it says nothing: did you mean maxLength?\n'
    words = [{"pointer": "/maxLenght", "meant": "maxLength"}]
    run = troupe("grammar", "check", "--schema", schema, "--instance", instance, "--json")
    assert json.loads(run.stdout) == {"accepted": True, "bytes": 5, "unknown_words": words}
    assert check_batch(tmp_path, [{"schema": json.loads(schema.read_text()), "instances": ["abc"]}]) == [{"accepted": [True], "unknown_words": words}]


def test_a_line_that_is_none_does_not_end_a_batch(tmp_path):
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"schema": true, "texts": ["1"]}\n{"schema":\n[]\n{"schema": false}\n{"schema": {"type": "null"}, "texts": ["1"]}\n')
    run = troupe("grammar", "check", "--batch", batch)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0 and [list(answer)[0] for answer in answers] == ["accepted", "error", "error", "refused", "accepted"]
    assert f"{batch}, line 2: " in answers[1]["error"] and answers[4] == {"accepted": [False]}


@pytest.mark.parametrize("line, fault", [
    ('{"schema": true, "instance": [1]}', "an unknown member 'instance'"),
    ('{"schema": true, "instances": {"a": 1}}', "instances is not a list"),
    ('{"schema": true, "instances": 5}', "instances is not a list"),
    ('{"schema": true, "texts": "5"}', "texts is not a list"),
    ('{"schema": true, "texts": [5]}', "texts is not a list of strings")])
def test_a_line_with_a_wrong_member_is_told(tmp_path, line, fault):
    batch = tmp_path / "batch.jsonl"
    batch.write_text(line)
    run = troupe("grammar", "check", "--batch", batch)
    assert run.returncode == 0 and json.loads(run.stdout) == {"error": f"{batch}, line 1: {fault}"}


def test_spellings_of_a_value(tmp_path):
    cases = [
        ({"type": "integer"}, {"1": True, "1.0": True, "-0": True, "1.5": False, "01": False, "1e2": True, "1.": False}),
        ({"const": 1}, {"1": True, "1.0": True, "1.00": True, "true": False, "10": False}),
        ({"not": {"const": 1}}, {"1.00": False, "1.01": True, "true": True}),
        ({"type": "string"}, {'"\\u00e9\\/"': True, '"\\ud83d\\ude00"': True, '"\\ud83d"': False, '"\n"': False, '"a': False}),
        ({"maxLength": 2, "type": "string"}, {'"😀é"': True, '"\\ud83d\\ude00a"': True, '"abc"': False, '"\\"\\\\"': True}),
        ({"pattern": '^["\\\\\\n]+$', "type": "string"}, {'"\\"\\\\\\n"': True, '"a"': False}),
    ]
    answers = check_batch(tmp_path, [{"schema": schema, "texts": list(texts)} for schema, texts in cases])
    for (schema, texts), answer in zip(cases, answers):
        assert dict(zip(texts, answer["accepted"])) == texts, schema


def test_drafts_differ_where_they_say_so(tmp_path):
    draft4, draft7 = ("http://json-schema.org/draft-%02d/schema#" % n for n in (4, 7))
    below = {"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a", "minimum": 5}
    cases = [
        ({"$schema": draft4, "minimum": 3, "exclusiveMinimum": True}, [3, 4], [False, True]),
        ({"$schema": draft4, "type": "integer"}, [3, 3.0], [True, False]),
        ({"$schema": draft7, **below}, [4, 5], [True, True]),
        (below, [4, 5], [False, True]),
        ({"$schema": draft7, "items": [{"type": "null"}], "additionalItems": False}, [[None], [1], [None, 1]], [True, False, False]),
        ({"$schema": draft7, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
         [{"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1, "d": 1}], [False, True, False, True]),
    ]
    answers = check_batch(tmp_path, [{"schema": schema, "instances": values} for schema, values, _ in cases])
    assert answers == [{"accepted": expected} for _, _, expected in cases]


GOOD_FORMATS = {
    "date": "2024-02-29", "time": "23:59:59.5+02:00", "date-time": "2024-01-31T00:00:00Z", "duration": "P1Y2M3DT4H5M6S",
    "email": "a.b+c@example.com", "hostname": "a-b.example", "idn-hostname": "büro.example", "idn-email": "ü@büro.example", "ipv4": "192.168.0.1", "ipv6": "2001:db8::1:192.0.2.33",
    "uri": "https://u@example.com:80/a/b?c=d#e", "uri-reference": "../a?b", "iri": "http://é.example/ü",
    "uuid": "123e4567-e89b-12d3-a456-426614174000", "json-pointer": "/a~1b/0", "relative-json-pointer": "1/a",
    "uri-template": "/aé{?b,c*}", "regex": "^(?!x)([a-zé\\d_-]+|(?:\\.ü日){2,})+?$",
}
BAD_FORMATS = {
    "date": "2023-02-29", "time": "24:00:00Z", "date-time": "2024-01-31 00:00:00Z", "duration": "P", "email": "a@@b",
    "hostname": "-a.example", "idn-hostname": "a b.example", "idn-email": "joe", "ipv4": "192.168.0.256", "ipv6": "1::2::3", "uri": "no uri", "uri-reference": "a b",
    "iri": "é", "uuid": "123e4567e89b12d3a456426614174000", "json-pointer": "a", "relative-json-pointer": "01",
    "uri-template": "/a{b", "regex": "(a",
}


def test_formats_are_checked(tmp_path):
    cases = [{"schema": {"type": "string", "format": name}, "instances": [GOOD_FORMATS[name], BAD_FORMATS[name]]} for name in GOOD_FORMATS]
    assert check_batch(tmp_path, cases) == [{"accepted": [True, False]}] * len(cases)


# Two alternatives each, 2^40 multiplied out: of which all but one for each value contradict themselves.
@pytest.mark.parametrize("names_the_kind", [[], ["kind"]])
def test_forty_conditions_on_one_member_are_not_multiplied_out(tmp_path, names_the_kind):
    kinds = [f"kind {i}" for i in range(40)]
    rules = [{"if": {"properties": {"kind": {"const": kind}}, "required": names_the_kind},
              "then": {"required": [kind], "properties": {kind: {"type": "integer"}}}} for kind in kinds]
    schema = {"type": "object", "properties": {"kind": {"type": "string"}}, "allOf": rules}
    random = Random(3)
    values = [{}, {"kind": "another"}, dict.fromkeys(kinds, 1), {"kind 1": 2}]
    for _ in range(100):
        kind, other, value = random.choice(kinds), random.choice(kinds), random.choice([1, "one"])
        values += [{"kind": kind, kind: value}, {"kind": kind, other: value}, {kind: value, "kind": other, other: value}]
    answer, = check_batch(tmp_path, [{"schema": schema, "instances": values}])
    assert answer == {"accepted": [is_valid(schema, value) for value in values]}


def near(text, random):
    """A text a few edits away."""
    signs = list(text)
    for _ in range(random.randint(0, 3)):
        at = random.randint(0, len(signs))
        signs[at:at + random.randint(0, 2)] = random.choice(["", ":", "@", " ", "{", "}", "(", "*", ".", "-", "a", "0", "é", "/", "%"])
    return "".join(signs)


# "Not a date" must be none for whoever reads it, also where the grammar lets only a part of the format through.
def test_what_a_denied_format_lets_through_is_not_of_it(tmp_path):
    random = Random(7)
    denials = [({"type": "string", "not": {"format": name}}, [near(text, random) for text in [GOOD_FORMATS[name], BAD_FORMATS[name]] * 100])
               for name in GOOD_FORMATS]
    answers = check_batch(tmp_path, [{"schema": schema, "instances": texts} for schema, texts in denials])
    for (schema, texts), answer in zip(denials, answers):
        accepted = [text for text, is_accepted in zip(texts, answer["accepted"]) if is_accepted]
        assert not any(is_valid(schema["not"], text) for text in accepted), schema
        assert accepted, schema


def test_no_text_is_of_a_format_and_not_of_it(tmp_path):
    answers = check_batch(tmp_path, [{"schema": {"type": "string", "format": name, "not": {"format": name}}, "instances": []}
                                     for name in GOOD_FORMATS])
    assert all("refused" in answer for answer in answers), answers


def test_check_prints_one_verdict(tmp_path):
    schema, instance = tmp_path / "schema.json", tmp_path / "instance.json"
    schema.write_text('{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}')
    instance.write_text('{\n  "a": "\\u0041"\n}\n')
    done = troupe("grammar", "check", "--schema", schema, "--instance", instance)
    assert (done.returncode, done.stdout) == (0, "accepted\n")
    instance.write_text('{"a": 1}')
    done = troupe("grammar", "check", "--schema", schema, "--instance", instance, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"accepted": False, "bytes": 6})
    schema.write_text('{"properties": {"a": {"pattern": "(x)\\\\1"}}}')
    done = troupe("grammar", "check", "--schema", schema, "--instance", instance)
    assert done.returncode == 78 and '"/properties/a/pattern"' in done.stderr


def test_check_tells_whole_numbers_from_others_as_python_spells_them(tmp_path):
    schema, instance = tmp_path / "schema.json", tmp_path / "instance.json"
    # In draft 4 an integer is a matter of spelling.
    schema.write_text('{"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}')
    for text in "1.2345678901234567e+19", "18446744073709551616.0", "18446744073709551616", "12345678901234567890123", "12":
        instance.write_text(text)
        done = troupe("grammar", "check", "--schema", schema, "--instance", instance)
        assert done.returncode == (0 if json.dumps(json.loads(text)).isdigit() else 1), (text, done.stdout)


def test_bench_counts_verdicts_and_times(tmp_path):
    schema = {"type": "array", "items": {"type": "integer"}}
    tests = [{"valid": True, "data": [1, 2]}, {"valid": False, "data": ["a"]}, {"valid": True, "data": "wrong on purpose"}]
    (tmp_path / "one.json").write_text(json.dumps({"schema": schema, "tests": tests[:2]}))
    (tmp_path / "two.json").write_text(json.dumps({"schema": schema, "tests": tests}))
    (tmp_path / "three.json").write_text(json.dumps({"schema": {"uniqueItems": True}, "tests": tests}))
    done = troupe("grammar", "bench", tmp_path, "--json", "--verbose")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = {"schemas": 3, "compiled": 2, "refused_by_name": 1, "all_tests_right": 1, "valid_rejected": 1, "invalid_accepted": 0}
    assert {key: found[key] for key in expected} == expected
    assert len(found["compile_ms"]) == len(found["mask_us"]) == 4 and found["mask_us_avg"] > 0
    assert "uniqueItems" in done.stderr and "wrong on purpose" in done.stderr


def test_bad_calls_are_refused():
    assert troupe("grammar").returncode == 2
    assert troupe("grammar", "check").returncode == 2
    assert troupe("grammar", "check", "--schema", "x").returncode == 2
    refused(troupe("grammar", "check", "--batch", "/no/such/file"), 66, "/no/such/file")
    refused(troupe("grammar", "bench", "/no/such/folder"), 66, "/no/such/folder")
