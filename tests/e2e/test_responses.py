"""/v1/responses by OpenAI's own client, every event and object held to that client's own types."""
import json
from urllib.request import Request, urlopen

import pydantic
import pytest
from conftest import Service
from openai import BadRequestError, NotFoundError, OpenAI
from openai.types.responses import Response, ResponseStreamEvent
from test_reasoning import TEMPLATE

MODEL = "SmolLM2-135M-Instruct"
ADD = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 99}, "b": {"type": "integer", "maximum": 99}},
       "required": ["a", "b"], "additionalProperties": False}
TOOLS = [{"type": "function", "name": "add", "description": "Adds", "parameters": ADD, "strict": True},
         {"type": "function", "name": "now", "description": "The time", "parameters": {}, "strict": False}]
EVENT = pydantic.TypeAdapter(ResponseStreamEvent)


@pytest.fixture(scope="module")
def client(service):
    with OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=300) as made:
        yield made


def ask(client, **members):
    return client.responses.create(model=MODEL, **{"temperature": 0, "max_output_tokens": 80, **members})


def sent_events(service, **members):
    """The events of a stream, each of the type that the client's library has for it, nothing but what that type allows."""
    body = {"temperature": 0, "max_output_tokens": 80, "stream": True, **members}
    request = Request(service.url + "/v1/responses", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        pieces = answer.read().decode().split("\n\n")
    assert pieces.pop() == ""
    events = []
    for number, piece in enumerate(pieces):
        name, data = piece.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == "event: " + event["type"] and event["sequence_number"] == number
        EVENT.validate_python(event)
        events.append(event)
    return events


def without_names(response):
    """What two answers to one question have in common: not their ids, times, and what each found cached."""
    output = [{name: value for name, value in item.items() if name not in ("id", "call_id")} for item in response["output"]]
    usage = {**response["usage"], "input_tokens_details": None}
    return {**response, "id": None, "created_at": None, "output": output, "usage": usage}


CASES = {
    "text": {"input": "Say hello.", "max_output_tokens": 12},
    "instructions": {"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}], "instructions": "Be brief."},
    "log-probabilities": {"input": "Hi", "max_output_tokens": 5, "include": ["message.output_text.logprobs"], "top_logprobs": 2},
    "a call": {"input": "Add 2 and 3.", "tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
    "one that is named": {"input": "Add 2 and 3.", "tools": TOOLS, "tool_choice": {"type": "function", "name": "now"}},
    "allowed ones": {"input": "What time is it?", "tools": TOOLS, "max_output_tokens": 60, "parallel_tool_calls": False,
                     "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "now"}]}},
    "a schema": {"input": "Add 2 and 3.", "text": {"format": {"type": "json_schema", "name": "sum", "schema": ADD, "strict": True}}},
    "any object": {"input": "Say hello.", "text": {"format": {"type": "json_object"}}, "max_output_tokens": 20},
}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_ends_with_what_the_whole_answer_says(service, case):
    status, whole = service.post("/v1/responses", {"temperature": 0, "max_output_tokens": 80, **CASES[case]})
    assert status == 200, whole
    Response.model_validate(whole, strict=True)
    events = sent_events(service, **CASES[case])
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    last = events[-1]["response"]
    assert events[-1]["type"] == "response." + last["status"]
    assert without_names(last) == without_names(whole)
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert text == "".join(part["text"] for item in last["output"] for part in item.get("content", []))
    calls = [item for item in last["output"] if item["type"] == "function_call"]
    if "call" in case or "named" in case or "allowed" in case:
        assert len(calls) == 1 and calls[0]["name"] == ("add" if "call" in case else "now")
        assert type(json.loads(calls[0]["arguments"])) is dict
    if case == "log-probabilities":
        told = last["output"][0]["content"][0]["logprobs"]
        assert len(told) == 5 and all(len(token["top_logprobs"]) == 2 for token in told)
        assert told == [token for event in events if event["type"] == "response.output_text.delta" for token in event["logprobs"]]


def test_a_tool_s_result_goes_back_with_the_items_before_it(client):
    question = {"role": "user", "content": "What is 2 plus 3?"}
    first = ask(client, input=[question], tools=TOOLS, parallel_tool_calls=False,
                tool_choice={"type": "function", "name": "add"})
    [call] = first.output
    assert call.type == "function_call" and call.call_id.startswith("call_") and call.status == "completed"
    assert set(json.loads(call.arguments)) == {"a", "b"}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "5"}
    alone = ask(client, input=[question], max_output_tokens=1)
    second = ask(client, input=[question, *first.output, result], tools=TOOLS, tool_choice="none")
    assert second.output_text and second.usage.input_tokens > alone.usage.input_tokens + 20
    again = ask(client, input=[question, *first.output, result, *second.output, {"role": "user", "content": "And?"}])
    assert again.usage.input_tokens_details.cached_tokens > 0


def test_the_client_s_own_parsing_and_streaming(client):
    class Sum(pydantic.BaseModel):
        a: int = pydantic.Field(le=99)
        b: int = pydantic.Field(le=99)

    parsed = client.responses.parse(model=MODEL, input="Add 2 and 3.", text_format=Sum, temperature=0, max_output_tokens=80)
    assert isinstance(parsed.output_parsed, Sum)
    with client.responses.stream(model=MODEL, input="Say hello.", temperature=0) as stream:
        told = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert stream.get_final_response().output_text == told
    answer = ask(client, input="Hi", max_output_tokens=3, metadata={"job": "7"})
    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert answer.metadata == {"job": "7"} and answer.usage.output_tokens == 3 and not answer.store


def test_what_is_wrong_is_named_as_it_was_sent(client, service):
    for members, param, words in [
            ({"input": "a " * 9000}, "input", "maximum context length"),
            ({"input": []}, "input", "not empty"),
            ({"input": [{"role": "user", "content": "a"}, {"type": "item_reference", "id": "msg_1"}]}, "input", "input[1]"),
            ({"input": "a", "previous_response_id": "resp_1"}, "previous_response_id", "nothing is stored"),
            ({"input": "a", "max_output_tokens": 0}, "max_output_tokens", "at least 1"),
            ({"input": "a", "tools": [{"type": "web_search"}]}, "tools", "tools[0].type"),
            ({"input": "a", "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "text"}}}}, "/type", "type")]:
        with pytest.raises(BadRequestError) as refused:
            ask(client, **members)
        assert refused.value.body["param"] == param and words in refused.value.body["message"], refused.value
        with pytest.raises(BadRequestError):
            ask(client, **members, stream=True)
    with pytest.raises(NotFoundError):
        client.responses.create(model="other", input="a")
    with pytest.raises(NotFoundError, match="/v1/responses"):
        client.responses.retrieve("resp_1")


def test_reasoning_is_an_item_of_its_own_and_comes_back(tmp_path):
    template = tmp_path / "thinks.jinja"
    template.write_text(TEMPLATE)
    turn = [{"role": "user", "content": "Is Tokyo in Japan?"},
            {"type": "reasoning", "id": "rs_1", "summary": [],
             "content": [{"type": "reasoning_text", "text": "Tokyo is a city of Japan."}]},
            {"role": "assistant", "content": "Yes."}]
    asked = {"input": [*turn, turn[0]], "chat_template_kwargs": {"how": "begun"}}
    with Service(tmp_path / "log", "--chat-template", str(template)) as service:
        events = sent_events(service, **asked)
        last = events[-1]["response"]
        assert [item["type"] for item in last["output"]] == ["reasoning", "message"], last
        thought = "".join(event["delta"] for event in events if event["type"] == "response.reasoning_text.delta")
        assert thought == last["output"][0]["content"][0]["text"] != ""
        assert last["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
        status, whole = service.post("/v1/responses", {"temperature": 0, "max_output_tokens": 80, **asked})
        assert status == 200 and without_names(whole) == without_names(last)
        summed_up = sent_events(service, **asked, reasoning={"summary": "auto"})[-1]["response"]["output"]
        assert summed_up[0]["summary"] == [{"type": "summary_text", "text": thought}]
        assert summed_up[1]["content"] == last["output"][1]["content"]
