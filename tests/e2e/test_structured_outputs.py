"""Answers that are held to a schema, an expression, a grammar: through the service, with its real model."""
import concurrent.futures
import json
import os
import re
import urllib.request

import jsonschema
import pytest
from openai import OpenAI
from random_schemas import Maker

from tcp_client import Client

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
MODEL = "SmolLM2-135M-Instruct"
ASKED = [{"role": "user", "content": "Describe a person as JSON."}]
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                   "likes": {"type": "array", "items": {"enum": ["cats", "dogs", "tea"]}, "maxItems": 2}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
LONG = os.environ.get("TROUPE_TEST_LONG") == "1"


def chat(service, expected="stop", **body):
    """The text of the one answer."""
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 200, "seed": 1, **body})
    assert status == 200, answer
    assert answer["choices"][0]["finish_reason"] == expected, answer
    return answer["choices"][0]["message"]["content"]


def is_person(text):
    return jsonschema.Draft202012Validator(PERSON).is_valid(json.loads(text))


def refused(service, **body):
    """Of a 400 the place and the message."""
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 8, **body})
    assert status == 400, answer
    return answer["error"]["param"], answer["error"]["message"]


def test_the_openai_client_gets_what_its_schema_says(service):
    schema = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}}
    with OpenAI(base_url=service.url + "/v1", api_key="none") as client:
        for seed in range(3):
            answer = client.chat.completions.create(model=MODEL, messages=ASKED, response_format=schema, seed=seed, max_tokens=200)
            assert answer.choices[0].finish_reason == "stop"
            person = json.loads(answer.choices[0].message.content)
            jsonschema.validate(person, PERSON)
            assert isinstance(person["age"], int)
            assert [name for name in person if name in PERSON["properties"]] == [name for name in PERSON["properties"] if name in person]


@pytest.mark.parametrize("members, holds", [
    ({"structured_outputs": {"json": PERSON}}, is_person),
    ({"guided_json": json.dumps(PERSON)}, is_person),
    ({"structured_outputs": {"json": PERSON, "disable_any_whitespace": True}},
     lambda text: json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) == text),
    ({"structured_outputs": {"regex": "[a-z]{3,9}@[a-z]{3,9}\\.(com|org)"}},
     lambda text: re.fullmatch("[a-z]{3,9}@[a-z]{3,9}\\.(com|org)", text)),
    ({"guided_regex": "\\d{4}-\\d{2}"}, lambda text: re.fullmatch("[0-9]{4}-[0-9]{2}", text)),
    ({"structured_outputs": {"choice": ["positive", "negative"]}}, lambda text: text in ("positive", "negative")),
    ({"guided_choice": ["yes", "no", "I do not know"]}, lambda text: text in ("yes", "no", "I do not know")),
    ({"structured_outputs": {"grammar": 'root ::= "SELECT " name ("," name){0,2} " FROM t"\nname ::= [a-z]{1,5}'}},
     lambda text: re.fullmatch("SELECT [a-z]{1,5}(,[a-z]{1,5}){0,2} FROM t", text)),
    ({"guided_grammar": 'start: "<" NAME ">"\nNAME: /[a-z]{1,4}/'}, lambda text: re.fullmatch("<[a-z]{1,4}>", text)),
    ({"response_format": {"type": "structural_tag", "triggers": ["<f"],
                          "structures": [{"begin": "<f>", "schema": {"enum": [1, 2]}, "end": "</f>"}]}, "stop": ["</f>"],
      "messages": [{"role": "user", "content": "Repeat: <f>1</f>"}]},
     lambda text: "<f" not in text or re.search("<f>\\s*[12]$", text)),
], ids=lambda value: next(iter(value)) if isinstance(value, dict) else "")
@pytest.mark.parametrize("temperature", [0, 1])
def test_each_kind_is_held(service, members, holds, temperature):
    expected = "length" if "response_format" in members else "stop"
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 200, "seed": 5, "temperature": temperature, **members})
    assert status == 200, answer
    choice = answer["choices"][0]
    assert choice["finish_reason"] in ("stop", expected), answer
    assert holds(choice["message"]["content"]), choice
    service.wait_idle()


def tagged(content=None, tag=None, format=None, **document):
    content = {"type": "json_schema", "json_schema": {"enum": [1]}, **(content or {})}
    return {"type": "structural_tag", **document,
            "format": {"type": "triggered_tags", "triggers": ["<f"], **(format or {}),
                       "tags": [{"begin": "<f>", "content": content, "end": "</f>", **(tag or {})}]}}


@pytest.mark.parametrize("asked, pointer", [
    (tagged(format={"excludes": ["e"]}), "/format/excludes"),
    (tagged(content={"style": "qwen_xml"}), "/format/tags/0/content/style"),
    (tagged(content={"type": "regex", "pattern": "a"}), "/format/tags/0/content/json_schema"),
    (tagged(tag={"type": "nonsense"}), "/format/tags/0/type"),
    (tagged(tag={"foo": True}), "/format/tags/0/foo"),
    (tagged(structures=[]), "/format"),
    ({"type": "structural_tag", "triggers": ["<f"], "structures": [{"begin": "<f>", "schema": {}, "end": "</f>", "x": 1}]}, "/structures/0/x"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_structural_tag_says_and_is_not_served_is_refused_by_name(service, asked, pointer):
    param, message = refused(service, response_format=asked)
    assert pointer in message and param.endswith(pointer), (param, message)


def test_of_structural_tags_as_a_whole_the_pointer_is_the_empty_string(service):
    for text, told in ("{", "structural tags: their text is not valid JSON at byte 2"), ("[]", 'structural tags: not an object (at "")'):
        assert told in refused(service, structured_outputs={"structural_tag": text})[1]


def test_what_a_structural_tag_may_say_of_itself_is_passed_over(service):
    asked = tagged(format={"excludes": []}, content={"style": "json"}, tag={"type": "tag"})
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 4, "response_format": asked})
    assert status == 200, answer


def test_what_a_schema_says_in_vain_is_told_with_the_answer(service):
    schema = {"type": "string", "maxLenght": 3, "maxLength": 5, "format": "int32"}
    warnings = ['JSON Schema, at "/maxLenght": no word of JSON Schema, so it says nothing: did you mean maxLength?',
                'JSON Schema, at "/format": no format of JSON Schema, so it says nothing']
    body = {"prompt": "Say:", "max_tokens": 12, "structured_outputs": {"json": schema}}
    status, answer = service.post("/v1/completions", body)
    assert status == 200 and answer["warnings"] == warnings
    assert "warnings" not in service.post("/v1/completions", body | {"structured_outputs": {"json": {"type": "string", "maxLength": 5}}})[1]
    request = urllib.request.Request(service.url + "/v1/chat/completions", json.dumps(
        {"messages": [{"role": "user", "content": "Say"}], "max_tokens": 12, "stream": True,
         "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as stream:
        chunks = [json.loads(line[6:]) for line in stream.read().decode().split("\n") if line.startswith("data: {")]
    assert chunks[0]["warnings"] == warnings and not any("warnings" in chunk for chunk in chunks[1:])
    with Client("127.0.0.1", service.tcp_port, 60) as client:
        client.generate(**body)
        assert client.receive()[2]["warnings"] == warnings


def test_json_object_is_an_object(service):
    assert isinstance(json.loads(chat(service, response_format={"type": "json_object"}, max_tokens=1000, temperature=0)), dict)


def test_every_finished_answer_of_many_schemas_validates(service):
    """Temperature 1; schemas that say what they mean to a model of 135 M parameters only by force."""
    schemas = []
    for seed in range(1000):
        schema = Maker(seed).schema()
        status, answer = service.post("/v1/completions", {"prompt": "JSON:", "max_tokens": 1, "structured_outputs": {"json": schema}})
        assert status in (200, 400), answer
        if status == 200 and isinstance(schema, dict):
            schemas.append(schema)
        if len(schemas) == (100 if LONG else 20):
            break
    assert len(schemas) == (100 if LONG else 20)

    def one(job):
        schema, seed = job
        body = {"prompt": "An example in JSON:", "max_tokens": 160, "temperature": 1, "seed": seed,
                "structured_outputs": {"json": schema, "max_white_space": 1}}
        status, answer = service.post(TEXT, body)
        assert status == 200, (schema, answer)
        return schema, answer["choices"][0]

    finished = 0
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        for schema, choice in pool.map(one, [(schema, seed) for schema in schemas for seed in range(5)]):
            if choice["finish_reason"] != "stop":
                continue
            finished += 1
            jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(json.loads(choice["text"]))
    assert finished >= len(schemas) * 5 // 3
    service.wait_idle()


def members_by_name(pairs):
    """Of a JSON object, which json.loads gives without those of a name that comes again."""
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


def test_no_object_has_two_members_of_one_name_however_often_the_prompt_has(service):
    schema = {"type": "object", "minProperties": 3, "maxProperties": 4, "additionalProperties": {"type": "integer"}}
    finished = 0
    for seed in range(4):
        status, answer = service.post(TEXT, {
            "prompt": '{"r": 1, "r": 2, "r": 3}\n' * 8, "temperature": 1, "n": 8, "seed": 8 * seed, "max_tokens": 60,
            "structured_outputs": {"json": schema, "max_white_space": 1}})
        assert status == 200, answer
        for choice in answer["choices"]:
            if choice["finish_reason"] == "stop":
                jsonschema.validate(json.loads(choice["text"], object_pairs_hook=members_by_name), schema)
                finished += 1
    assert finished > 10


def test_a_stream_is_the_whole_answer_in_pieces(service):
    body = {"messages": ASKED, "max_tokens": 200, "seed": 3, "structured_outputs": {"json": PERSON}}
    _, whole = service.post(CHAT, body)
    request = urllib.request.Request(service.url + CHAT, json.dumps({**body, "stream": True}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        events = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    choices = [choice for event in events[:-1] for choice in json.loads(event)["choices"]]
    assert "".join(choice["delta"].get("content") or "" for choice in choices) == whole["choices"][0]["message"]["content"]


def test_each_of_several_choices_has_a_state_of_its_own(service):
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 200, "seed": 3, "n": 4, "structured_outputs": {"json": PERSON}})
    assert status == 200, answer
    for choice in answer["choices"]:
        jsonschema.validate(json.loads(choice["message"]["content"]), PERSON)
    assert len({choice["message"]["content"] for choice in answer["choices"]}) > 1


def test_tokens_are_those_of_a_request_alone_whatever_the_crowd(service):
    bodies = [{"prompt": "A person:", "max_tokens": 60, "seed": seed, "temperature": seed % 2, "return_token_ids": True,
               **[{}, {"structured_outputs": {"json": PERSON}}, {"structured_outputs": {"regex": "[a-z ]{5,50}"}}][seed % 3]}
              for seed in range(12)]

    def tokens(body):
        status, answer = service.post(TEXT, body)
        assert status == 200, answer
        return answer["choices"][0]["token_ids"]

    alone = [tokens(body) for body in bodies]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        assert list(pool.map(tokens, bodies)) == alone
    service.wait_idle()


WORDY = {"type": "object", "additionalProperties": False, "required": ["identification_number", "is_currently_available"],
         "properties": {"identification_number": {"type": "integer"}, "is_currently_available": {"type": "boolean"}}}


def test_what_a_grammar_leaves_no_choice_about_takes_no_step_of_its_own(service):
    body = {"structured_outputs": {"json": WORDY, "disable_any_whitespace": True}}

    def forced():
        return service.metric("troupe_grammar_forced_tokens_total")

    before = forced()
    text = chat(service, **body)
    jsonschema.validate(json.loads(text), WORDY)
    assert forced() - before >= 8
    for stop in "currently", "_avail", "cation_n":
        assert chat(service, stop=[stop], **body) == text.split(stop)[0]
    before = forced()
    status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": 200, "seed": 1, "logprobs": True, **body})
    choice = answer["choices"][0]
    assert status == 200 and forced() == before
    jsonschema.validate(json.loads(choice["message"]["content"]), WORDY)
    # Every number of tokens can be the last.
    for most in range(1, 20):
        status, answer = service.post(CHAT, {"messages": ASKED, "max_tokens": most, "seed": 1, **body})
        assert status == 200 and answer["usage"]["completion_tokens"] <= most
        assert text.startswith(answer["choices"][0]["message"]["content"])


def test_jump_forward_can_be_switched_off(start_service):
    with start_service("--no-grammar-jump-forward") as service:
        jsonschema.validate(json.loads(chat(service, structured_outputs={"json": WORDY})), WORDY)
        assert service.metric("troupe_grammar_forced_tokens_total") == 0


def test_max_tokens_and_stop_strings_cut_what_a_grammar_would_go_on_with(service):
    status, answer = service.post(TEXT, {"prompt": "Numbers:", "max_tokens": 5, "structured_outputs": {"regex": "[0-9]{40}"}})
    assert status == 200 and answer["choices"][0]["finish_reason"] == "length"
    assert re.fullmatch("[0-9]{1,40}", answer["choices"][0]["text"])
    status, answer = service.post(TEXT, {"prompt": "Letters:", "max_tokens": 90, "stop": ["X"],
                                         "structured_outputs": {"regex": "[a-z]{3,20}X[0-9]{40}"}})
    assert status == 200 and answer["choices"][0]["finish_reason"] == "stop"
    assert re.fullmatch("[a-z]{3,20}", answer["choices"][0]["text"])
    service.wait_idle()


def test_the_end_of_the_grammar_ends_the_request_whatever_else_is_asked_for(service):
    status, answer = service.post(TEXT, {"prompt": "Say:", "max_tokens": 50, "min_tokens": 30, "ignore_eos": True,
                                         "structured_outputs": {"choice": ["one", "two"]}})
    assert status == 200, answer
    assert answer["choices"][0]["finish_reason"] == "stop" and answer["choices"][0]["text"] in ("one", "two")


def test_tcp_takes_the_same_members(service):
    with Client("127.0.0.1", service.tcp_port, 60) as client:
        number = client.generate(messages=ASKED, max_tokens=200, seed=1, structured_outputs={"json": PERSON})
        jsonschema.validate(json.loads("".join(text for _, text in client.pieces(number))), PERSON)


def test_what_cannot_be_enforced_is_refused_by_name_and_harms_nobody(service):
    json_schema = lambda schema: {"structured_outputs": {"json": schema}}  # noqa: E731
    where, why = refused(service, **json_schema({"properties": {"a": {"type": "array", "uniqueItems": True, "items": {}}}}))
    assert "uniqueItems" in why and "/properties/a" in why, why
    assert "type" in refused(service, **json_schema({"type": "strin"}))[1]
    assert "back-reference" in refused(service, structured_outputs={"regex": "(a)\\1"})[1]
    assert "line" in refused(service, structured_outputs={"grammar": "root ::= ("})[1]
    assert refused(service, response_format={"type": "json_schema"})[0] == "response_format.json_schema"
    assert refused(service, structured_outputs={"regex": "a", "json": {}})[0] == "structured_outputs.json"
    assert chat(service, structured_outputs={"choice": ["ok"]}) == "ok"
    service.wait_idle()


def hostile():
    cyclic = {"$ref": "#"}
    product = {"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": j}}, "required": [f"p{i}"]} for j in range(8)]} for i in range(12)]}
    return {"parentheses": {"regex": "(" * 60_000 + ")" * 60_000},
            "cyclic": {"json": cyclic},
            "million": {"json": {"enum": list(range(1_000_000))}},
            "nested stars": {"regex": "(a*)*b"},
            "product": {"json": product},
            "long pattern": {"json": {"type": "string", "pattern": "(a|b)" * 200_000}},
            "counted": {"regex": "((a{1000}){1000}){1000}"},
            "deep": {"json": json.loads('{"items":' * 500 + "{}" + "}" * 500)}}


@pytest.mark.parametrize("name", hostile())
def test_hostile_grammars_are_refused_or_served_within_their_budget(service, name):
    status, answer = service.post(TEXT, {"prompt": "x", "max_tokens": 8, "structured_outputs": hostile()[name]})
    assert status in (200, 400), answer
    if status == 400:
        assert answer["error"]["message"], answer
    assert chat(service, structured_outputs={"choice": ["ok"]}) == "ok"
    service.wait_idle()
