"""What a chat template is told, and chats that go on with their last message."""
import pathlib
from datetime import datetime, timedelta, timezone

import pytest
from test_cli import refused, troupe

CHAT = "/v1/chat/completions"
DATA = pathlib.Path(__file__).parents[1] / "data" / "chat_templates"
SAID = [{"role": "user", "content": "What is the capital of Japan?"}, {"role": "assistant", "content": "The capital of"}]


def written(service, **body):
    """The prompt of a chat as text."""
    status, tokens = service.post("/tokenize", {"messages": SAID[:1], **body})
    assert status == 200, tokens
    return service.post("/detokenize", {"tokens": tokens["tokens"]})[1]["prompt"]


def test_an_answer_goes_on_with_the_last_message(service):
    assert written(service, messages=SAID, continue_final_message=True).endswith("<|im_start|>assistant\nThe capital of")
    body = {"messages": SAID, "temperature": 0, "max_tokens": 8, "continue_final_message": True}
    status, answer = service.post(CHAT, body)
    assert status == 200, answer
    assert answer["choices"][0]["message"]["content"].startswith(" Japan is Tokyo")
    for wrong in ({"add_generation_prompt": True}, {"messages": SAID[:1] + [{"role": "assistant", "content": ""}]}):
        status, answer = service.post(CHAT, {**body, **wrong})
        assert status == 400 and answer["error"]["param"] in ("continue_final_message", "messages"), answer


def test_a_variable_that_the_template_does_not_know_does_nothing(service):
    assert written(service, chat_template_kwargs={"enable_thinking": False}) == written(service)


def test_a_template_that_tells_the_date_tells_that_of_the_service_s_place(start_service, tmp_path):
    """Fourteen hours ahead of Greenwich, where it is another day most of the time; the hour may end while the test asks."""
    dated = tmp_path / "dated.jinja"
    dated.write_text("{{ strftime_now('%d %B %Y, %-H') }}{% for m in messages %}|{{ m.content }}{% endfor %}")

    def told():
        return datetime.now(timezone(timedelta(hours=14))).strftime("%d %B %Y, %-H|") + SAID[0]["content"]

    with start_service("--skip-warmup", "--chat-template", str(dated), prefix=("env", "TZ=THERE-14")) as running:
        expected = {told()}
        prompts = [written(running)]
        status, answer = running.post(CHAT, {"messages": SAID[:1], "n": 2, "max_tokens": 1, "return_token_ids": True})
        assert status == 200, answer
        prompts.append(running.post("/detokenize", {"tokens": answer["prompt_token_ids"]})[1]["prompt"])
        expected.add(told())
    assert set(prompts) <= expected


@pytest.mark.parametrize("value", ["enable_thinking", "[1]", '{"messages": []}'])
def test_wrong_defaults_end_the_start_with_their_name(value):
    refused(troupe("serve", "--default-chat-template-kwargs", value), 78, "--default-chat-template-kwargs", "chat_template_kwargs must")


@pytest.mark.parametrize("style", ["deepseek_phi_style", "gemma_style", "qwen_3_style"])
def test_what_a_developer_says_reaches_the_model_by_every_route(start_service, style):
    """Templates that leave the role out, that refuse it, and that write two system messages one below the other."""
    system = [{"role": "system", "content": "Be brief."}]
    developer = [{"role": "developer", "content": [{"type": "text", "text": "In French."}]}]
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    with start_service("--skip-warmup", "--chat-template", str(DATA / f"{style}.jinja")) as running:
        for above in (developer, system + developer):
            text = written(running, messages=above + SAID[:1])
            assert "In French." in text and ("Be brief." in text) == (above != developer) and "developer" not in text, text
            with_tools = written(running, messages=above + SAID[:1], tools=tools)
            assert "In French." in with_tools and "look_up" in with_tools, with_tools
            status, answer = running.post(CHAT, {"messages": above + SAID[:1], "max_tokens": 1, "return_token_ids": True})
            assert status == 200, answer
            assert running.post("/detokenize", {"tokens": answer["prompt_token_ids"]})[1]["prompt"] == text
            instructions = "Be brief." if above != developer else None
            body = {"instructions": instructions, "input": developer + SAID[:1], "max_output_tokens": 1}
            status, response = running.post("/v1/responses", body)
            assert status == 200, response
            assert response["usage"]["input_tokens"] == len(answer["prompt_token_ids"])
