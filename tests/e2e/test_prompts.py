"""Several prompts in one request, and answers that begin with theirs, as harnesses that score texts want them."""
import json
import urllib.request

import openai
import pytest

MODEL = "SmolLM2-135M-Instruct"
PROMPTS = ["The capital of France is", "One, two, three,", "Once upon a time"]


@pytest.fixture(scope="module")
def client(service):
    with openai.OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=120) as made:
        yield made


def post(service, **body):
    status, answer = service.post("/v1/completions", body)
    assert status == 200, answer
    return answer


@pytest.mark.parametrize("fields", [{"temperature": 0}, {"temperature": 1, "seed": 4, "n": 2}], ids=["greedy", "two seeded choices"])
def test_each_prompt_is_answered_as_it_is_alone(client, fields):
    arguments = dict(model=MODEL, max_tokens=12, **fields)
    alone = [client.completions.create(prompt=prompt, **arguments) for prompt in PROMPTS]
    together = client.completions.create(prompt=PROMPTS, **arguments)
    assert [choice.text for choice in together.choices] == [choice.text for one in alone for choice in one.choices]
    assert [choice.index for choice in together.choices] == list(range(len(together.choices)))
    assert together.usage.prompt_tokens == sum(one.usage.prompt_tokens for one in alone)
    assert together.usage.completion_tokens == sum(one.usage.completion_tokens for one in alone)
    texts = [""] * len(together.choices)
    for chunk in client.completions.create(prompt=PROMPTS, stream=True, **arguments):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [choice.text for choice in together.choices]


def test_equal_prompts_without_a_seed_get_different_answers(service):
    answer = post(service, prompt=["Once"] * 4, temperature=1.5, max_tokens=20)
    assert len({choice["text"] for choice in answer["choices"]}) > 1


def test_an_answer_can_begin_with_its_prompt(client):
    arguments = dict(model=MODEL, temperature=0, max_tokens=5)
    for prompt in ("Größe: ", "<|im_start|>user\nhi"):
        plain = client.completions.create(prompt=prompt, **arguments).choices[0].text
        assert client.completions.create(prompt=prompt, echo=True, **arguments).choices[0].text == prompt + plain
        parts = [choice.text for chunk in client.completions.create(prompt=prompt, echo=True, stream=True, **arguments)
                 for choice in chunk.choices]
        assert "".join(parts) == prompt + plain


# As lm-evaluation-harness asks for the likelihood of what follows a context: the tokens of both, and one more.
def test_a_text_is_scored_as_harnesses_ask_for_it(service):
    ids = [504, 3575, 282, 4649, 314]
    asked = post(service, prompt=[ids, ids[:3], [504]], temperature=0, max_tokens=1, logprobs=1, echo=True, seed=1234)
    for choice, sent in zip(asked["choices"], (ids, ids[:3], [504])):
        scored = choice["logprobs"]
        assert len(scored["tokens"]) == len(scored["token_logprobs"]) == len(scored["top_logprobs"]) == len(sent) + 1
        assert scored["token_logprobs"][0] is None and scored["top_logprobs"][0] is None
        assert "".join(scored["tokens"]) == choice["text"]
        assert [choice["text"][at:at + 1] for at in scored["text_offset"]] == [token[:1] for token in scored["tokens"]]
    scored = asked["choices"][0]["logprobs"]["token_logprobs"][1:-1]
    assert abs(-sum(scored) / 4 - 3.691624) < 0.1  # golden mean_prompt_nll of this prompt
    assert asked["choices"][1]["logprobs"]["token_logprobs"][1:-1] == scored[:2], "what comes before decides"
    best = asked["choices"][0]["logprobs"]["top_logprobs"][1:]
    assert all(max(each.values()) >= score for each, score in zip(best, scored))


def test_the_prompt_alone_can_be_asked_for(service):
    text = PROMPTS[0]
    whole = post(service, prompt=text, max_tokens=1, logprobs=2, echo=True, temperature=0)["choices"][0]
    alone = post(service, prompt=text, max_tokens=0, logprobs=2, echo=True)
    choice = alone["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == (text, "length")
    assert choice["logprobs"] == {name: values[:-1] for name, values in whole["logprobs"].items()}
    assert alone["usage"]["completion_tokens"] == 0 and alone["usage"]["prompt_tokens"] == 5
    request = urllib.request.Request(service.url + "/v1/completions", json.dumps(
        {"prompt": [text, "Once"], "max_tokens": 0, "echo": True, "stream": True}).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as streamed:
        events = [line[6:].decode() for line in streamed.read().split(b"\n") if line.startswith(b"data: ")]
    assert events.pop() == "[DONE]"
    choices = sorted((choice for event in events for choice in json.loads(event)["choices"]), key=lambda choice: choice["index"])
    assert [(choice["text"], choice["finish_reason"]) for choice in choices] == [(text, "length"), ("Once", "length")]


def test_offsets_are_places_in_the_text_whatever_the_tokens_spell(service):
    text = "I love 日本 🎉🎉. Größe"
    choice = post(service, prompt=text, max_tokens=1, logprobs=0, echo=True, temperature=0)["choices"][0]
    tokens, offsets = choice["logprobs"]["tokens"], choice["logprobs"]["text_offset"]
    assert any("\ufffd" in token for token in tokens) and offsets == sorted(offsets)
    for token, at in zip(tokens, offsets):
        if "\ufffd" not in token:
            assert choice["text"][at:at + len(token)] == token


def test_a_prompt_without_its_log_probabilities_is_an_error(service):
    status, answer = service.post("/v1/completions", {"prompt": ["the cat " * 3500, "the dog " * 3500], "echo": True, "logprobs": 1,
                                                      "max_tokens": 0, "timeout": 0.3})
    assert status == 503 and "log-probabilities" in answer["error"]["message"], answer
    service.wait_idle()


def test_the_queue_takes_a_request_in_with_all_its_prompts(start_service):
    with start_service("--max-num-seqs", "2", "--max-num-queued-requests", "4", "--skip-warmup") as service:
        answers = post(service, prompt=["Once"] * 20, max_tokens=3, temperature=0)["choices"]
        assert len(answers) == 20 and len({answer["text"] for answer in answers}) == 1


def test_a_refusal_names_the_prompt(service):
    for prompts, where in ((["fine", "word " * 9000], "prompt[1]"), (["a", "b", ""], "prompt[2]"), ([[504], [10**6]], "prompt[1]")):
        status, answer = service.post("/v1/completions", {"prompt": prompts, "max_tokens": 1})
        assert status == 400 and answer["error"]["param"] == "prompt" and where in answer["error"]["message"], answer


def test_one_bad_prompt_refuses_all_and_leaves_nothing_running(service):
    for body, param in (({"prompt": ["fine", "word " * 9000]}, "prompt"), ({"prompt": ["fine", ""]}, "prompt"),
                        ({"prompt": ["fine"] * 129}, "prompt"), ({"prompt": ["a", "b"], "n": 65}, "n"),
                        ({"prompt": "a", "max_tokens": 0}, "max_tokens"), ({"prompt": "a", "echo": "yes"}, "echo"),
                        ({"prompt": "a", "echo": True, "logprobs": 1, "prompt_logprobs": 2}, "prompt_logprobs"),
                        ({"messages": [{"role": "user", "content": "a"}], "echo": True}, "echo")):
        path = "/v1/chat/completions" if "messages" in body else "/v1/completions"
        status, answer = service.post(path, body)
        assert (status, answer["error"]["param"]) == (400, param), answer
    service.wait_idle()
