"""Models that think before they answer: what they think is told apart, and what their answer is held to begins behind it."""
import json
from urllib.request import Request, urlopen

import pytest
from conftest import Service
from tcp_client import Client
from test_cli import refused, troupe

CHAT = "/v1/chat/completions"
ASKED = [{"role": "user", "content": "Is Tokyo in Japan?"}]
# SmolLM2's form, opened as DeepSeek-R1's template does, or closed as Qwen 3's where it is told not to think.
TEMPLATE = """{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}\
{% if message.reasoning_content %}{{ '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}{% endif %}\
{{ message.content + '<|im_end|>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}\
{% if how == 'begun' %}{{ '<think>\\n' }}{% elif how == 'none' %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}\
{% if reasoning_effort %}{{ reasoning_effort }}{% endif %}{% endif %}"""


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    path = tmp_path_factory.mktemp("templates") / "thinks.jinja"
    path.write_text(TEMPLATE)
    return path


@pytest.fixture(scope="module")
def thinker(tmp_path_factory, template):
    with Service(tmp_path_factory.mktemp("thinker") / "log", "--chat-template", str(template)) as service:
        yield service


def ask(service, how, **body):
    body = {"messages": ASKED, "temperature": 0, "max_tokens": 60, "chat_template_kwargs": {"how": how}, **body}
    status, answer = service.post(CHAT, body)
    assert status == 200, answer
    return answer


def deltas(service, how, **body):
    body = {"messages": ASKED, "temperature": 0, "max_tokens": 60, "chat_template_kwargs": {"how": how}, "stream": True, **body}
    request = Request(service.url + CHAT, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        lines = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line)["choices"][0]["delta"] for line in lines]


# A small model does as it did before: it thinks, and closes that.
TURN = [*ASKED, {"role": "assistant", "content": "Yes.", "reasoning_content": "Tokyo is a city of Japan."}]
ANSWERS = ("Yes.", "No.")
THINKS = {"messages": TURN * 3 + ASKED}


def test_what_a_model_thinks_is_told_apart(thinker):
    message = ask(thinker, "possible", **THINKS)["choices"][0]["message"]
    assert message["reasoning_content"] == "Tokyo is a city of Japan." and message["content"] in ANSWERS, message
    parts = deltas(thinker, "possible", **THINKS)
    assert "".join(each.get("reasoning_content", "") for each in parts) == message["reasoning_content"]
    assert "".join(each.get("content", "") for each in parts) == message["content"]
    assert not [each for each in parts if "reasoning_content" in each and "content" in each]


def test_reasoning_may_be_left_out_and_is_counted(thinker):
    answer = ask(thinker, "possible", include_reasoning=False, **THINKS)
    assert "reasoning_content" not in answer["choices"][0]["message"] and answer["choices"][0]["message"]["content"] in ANSWERS
    used = answer["usage"]
    assert 5 <= used["completion_tokens_details"]["reasoning_tokens"] < used["completion_tokens"]
    assert not [each for each in deltas(thinker, "possible", include_reasoning=False, **THINKS) if "reasoning_content" in each]


@pytest.mark.parametrize("told", [True, False])
def test_over_tcp_it_is_told_apart_too(thinker, told):
    with Client("127.0.0.1", thinker.tcp_port, 60) as client:
        client.generate(temperature=0, max_tokens=60, chat_template_kwargs={"how": "possible"}, include_reasoning=told, **THINKS)
        frames = []
        while not frames or "finish_reason" not in frames[-1]:
            frames.append(client.receive()[2])
    assert "".join(each.get("reasoning_content", "") for each in frames) == ("Tokyo is a city of Japan." if told else "")
    assert "".join(each.get("text", "") for each in frames) in ANSWERS
    assert frames[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"] > 5


def test_a_prompt_that_has_begun_to_think_is_gone_on_with(thinker):
    answer = ask(thinker, "begun", max_tokens=20, ignore_eos=True)
    message = answer["choices"][0]["message"]
    assert message["reasoning_content"] and message["content"] == "", "it is cut off while it thinks"
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 20
    told = ask(thinker, "none", max_tokens=20)["choices"][0]["message"]
    assert told["content"] and "reasoning_content" not in told


def test_what_an_answer_is_held_to_begins_behind_the_reasoning(thinker):
    schema = {"type": "object", "properties": {"in_japan": {"type": "boolean"}}, "required": ["in_japan"], "additionalProperties": False}
    held = {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
    for how in ("possible", "begun"):
        message = ask(thinker, how, **held, **THINKS)["choices"][0]["message"]
        assert message["reasoning_content"] == "Tokyo is a city of Japan." and isinstance(json.loads(message["content"])["in_japan"], bool), message
    assert json.loads(ask(thinker, "none", **held)["choices"][0]["message"]["content"]).keys() == {"in_japan"}
    free = ask(thinker, "possible", **held)["choices"][0]["message"]["content"]
    assert json.loads(free).keys() == {"in_japan"}, "a model that may think may answer at once"


def test_effort_and_earlier_reasoning_reach_the_template(thinker):
    messages = ASKED + [{"role": "assistant", "content": "Yes.", "reasoning_content": "It is."}, *ASKED]
    tokens = thinker.post("/tokenize", {"messages": messages, "reasoning_effort": "low"})[1]["tokens"]
    text = thinker.post("/detokenize", {"tokens": tokens})[1]["prompt"]
    assert "<think>\nIt is.\n</think>\n\nYes." in text and text.endswith("low")
    status, answer = thinker.post(CHAT, {"messages": ASKED, "reasoning_effort": 3})
    assert status == 400 and answer["error"]["param"] == "reasoning_effort"


def test_reasoning_format_says_so_for_any_model(tmp_path, template):
    unmarked = tmp_path / "unmarked.jinja"  # writes earlier thoughts, and has no closing mark in its own text
    unmarked.write_text(template.read_text().replace("</think>\\n\\n' }}{% endif", "</' + 'think>\\n\\n' }}{% endif").replace("</think>", ""))
    for form, of, told in (("none", template, False), ("auto", unmarked, False), ("deepseek", unmarked, True)):
        with Service(tmp_path / "log", "--reasoning-format", form, "--chat-template", str(of)) as service:
            message = ask(service, "possible", **THINKS)["choices"][0]["message"]
            assert ("reasoning_content" in message) == told, (form, message)
            thought = "" if told else "<think>\nTokyo is a city of Japan.\n</think>\n\n"
            assert message["content"] in [thought + answer for answer in ANSWERS], (form, message)


def test_run_writes_what_it_thinks_to_the_standard_error(template):
    done = troupe("run", "--chat-template", str(template), "--default-chat-template-kwargs", '{"how": "begun"}', "--max-tokens", "12", "Is Tokyo in Japan?")
    assert done.returncode == 0 and done.stdout.strip() == "" and "Tokyo" in done.stderr


def test_a_template_that_cannot_be_used_ends_the_start_by_its_name(tmp_path):
    refused(troupe("serve", "--chat-template", str(tmp_path / "none.jinja")), 78, "--chat-template", "none.jinja")
    wrong = tmp_path / "wrong.jinja"
    wrong.write_text("{% for message in %}")
    refused(troupe("serve", "--chat-template", str(wrong)), 78, "--chat-template", "wrong.jinja", "line 1")
