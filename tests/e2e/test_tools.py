"""Tools by OpenAI's own client: calls are told apart from text, held to their schemas, and their results come back."""
import json

import pydantic
import pytest
from jsonschema import validate
from openai import BadRequestError, OpenAI, pydantic_function_tool

WEATHER = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}, "days": {"type": "integer"}},
           "required": ["city", "days"], "additionalProperties": False}
ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"],
       "additionalProperties": False}
SCHEMAS = {"get_weather": WEATHER, "add": ADD}
TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": schema}}
         for name, schema in SCHEMAS.items()]
QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]


@pytest.fixture(scope="module")
def client(service):
    with OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=300) as made:
        yield made


def ask(client, **members):
    return client.chat.completions.create(model="SmolLM2-135M-Instruct", **{"messages": QUESTION, "tools": TOOLS,
                                          "temperature": 0, "max_tokens": 120, **members})


def check(call, names=SCHEMAS):
    assert call.type == "function" and call.id.startswith("call_") and call.function.name in names
    validate(json.loads(call.function.arguments), SCHEMAS[call.function.name])


def streamed(chunks):
    """What a stream says: its text, its calls as they are put together, and why it ended."""
    text, calls, reason = "", [], None
    for chunk in chunks:
        choice = chunk.choices[0]
        text += choice.delta.content or ""
        reason = choice.finish_reason or reason
        for part in choice.delta.tool_calls or []:
            if part.id:
                calls.append([part.function.name, ""])
            calls[part.index][1] += part.function.arguments
    return text, calls, reason


@pytest.mark.parametrize("choice", ["auto", "required", "none", {"type": "function", "function": {"name": "add"}}])
def test_a_stream_says_what_the_whole_answer_says(client, choice):
    wanted = {"tool_choice": choice, "parallel_tool_calls": False}
    answer = ask(client, **wanted).choices[0]
    calls = answer.message.tool_calls or []
    text, parts, reason = streamed(ask(client, stream=True, **wanted))
    assert (text or None, reason) == (answer.message.content, answer.finish_reason)
    assert parts == [[call.function.name, call.function.arguments] for call in calls]
    for call in calls:
        check(call)
    if choice == "none":
        assert not calls
    elif choice != "auto":
        assert len(calls) == 1 and answer.message.content is None and answer.finish_reason == "tool_calls"
    if isinstance(choice, dict):
        assert calls[0].function.name == "add"


def test_every_call_of_many_answers_is_of_its_schema(client):
    for choice in ask(client, tool_choice="required", n=8, temperature=1, seed=3, max_tokens=300).choices:
        calls = choice.message.tool_calls
        for call in calls if choice.finish_reason == "tool_calls" else calls[:-1]:
            check(call)
    ids = [call.id for choice in ask(client, tool_choice="required", n=4, max_tokens=60).choices
           for call in choice.message.tool_calls]
    assert len(set(ids)) == len(ids)


def test_a_result_comes_back_to_the_model(client):
    first = ask(client, tool_choice="required", parallel_tool_calls=False)
    message = first.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "rain, 12 degrees"}
    second = ask(client, messages=[*QUESTION, message.model_dump(exclude_none=True), result], tool_choice="none")
    assert second.choices[0].message.content
    without = ask(client, messages=[*QUESTION, message.model_dump(exclude_none=True)], tool_choice="none")
    assert second.usage.prompt_tokens > without.usage.prompt_tokens


@pytest.mark.parametrize("members", [{"max_tokens": count} for count in range(28, 40)] +
                         [{"stop": [stop]} for stop in ["</tool_call>", "\n</tool_call>", "}}", "}\n"]])
def test_a_call_that_is_cut_off_has_arguments_that_parse_or_go_on(client, members):
    choice = ask(client, tool_choice="required", parallel_tool_calls=False, **members).choices[0]
    whole = ask(client, tool_choice="required", parallel_tool_calls=False).choices[0].message.tool_calls[0]
    if choice.message.tool_calls:
        assert whole.function.arguments.startswith(choice.message.tool_calls[0].function.arguments)
        answered = {"role": "tool", "tool_call_id": choice.message.tool_calls[0].id, "content": "no such call"}
        assert ask(client, messages=[*QUESTION, choice.message.model_dump(exclude_none=True), answered]).choices


def test_a_type_of_pydantic_is_read_back(client):
    class Add(pydantic.BaseModel):
        """Adds two whole numbers."""
        a: int
        b: int

    answer = client.chat.completions.parse(model="SmolLM2-135M-Instruct", messages=QUESTION, temperature=0, max_tokens=120,
                                           tools=[pydantic_function_tool(Add)], tool_choice="required",
                                           parallel_tool_calls=False)
    assert isinstance(answer.choices[0].message.tool_calls[0].function.parsed_arguments, Add)


def test_what_cannot_be_enforced_is_named(client):
    tool = {"type": "function", "function": {"name": "f", "strict": True, "parameters": {
        "type": "object", "properties": {"x": {"type": "array", "uniqueItems": True, "items": {"type": "object"}}}}}}
    with pytest.raises(BadRequestError) as refusal:
        ask(client, tools=[TOOLS[0], tool])
    assert refusal.value.param == "/tools/1/function/parameters/properties/x/uniqueItems"
    del tool["function"]["strict"]
    ask(client, tools=[TOOLS[0], tool])  # whoever offers it may not have written it
