"""The HTTP interface as its clients see it: the `openai` package where it has a method, plain HTTP elsewhere."""
import http.client
import json
import socket
import urllib.request

import jinja2
import openai
import pytest

MODEL = "SmolLM2-135M-Instruct"
QUESTION = [{"role": "user", "content": "What is the capital of Japan?"}]


@pytest.fixture(scope="module")
def client(service):
    with openai.OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=120) as made:
        yield made


def post(service, path, body):
    status, answer = service.post(path, body)
    assert status == 200, answer
    return answer


def test_models_lists_the_served_model(client):
    assert [model.id for model in client.models.list()] == [MODEL]


def test_a_model_may_have_several_names(start_service):
    with start_service("--served-model-name", "small, gpt-4o") as service:
        with openai.OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=120) as client:
            assert [(model.id, model.root) for model in client.models.list()] == [("small", "small"), ("gpt-4o", "small")]
            assert client.models.retrieve("gpt-4o").id == "gpt-4o"
            for name in ("small", "gpt-4o"):
                answer = client.chat.completions.create(model=name, messages=QUESTION, temperature=0, max_tokens=32)
                assert (answer.model, answer.choices[0].message.content) == ("small", "The capital of Japan is Tokyo.")
            with pytest.raises(openai.NotFoundError, match='"gpt" does not exist; served: "small", "gpt-4o"'):
                client.responses.create(model="gpt", input="Hi")
        assert 'model_name="small"' in service.get("/metrics")


def test_numbers_of_a_schema_come_to_an_end(client, service):
    """A model that writes nothing so gladly as the digit 7."""
    seven = post(service, "/tokenize", {"prompt": "7", "add_special_tokens": False})["tokens"]
    schema = {"type": "object", "required": ["id", "size"],
              "properties": {"id": {"type": "integer"}, "size": {"type": "number", "minimum": 0}}}
    asked = dict(model=MODEL, temperature=0, max_tokens=100, messages=QUESTION, logit_bias={str(seven[-1]): 90},
                 response_format={"type": "json_schema", "json_schema": {"name": "town", "schema": schema}})
    answer = client.chat.completions.create(**asked).choices[0]
    assert answer.finish_reason == "stop"
    town = json.loads(answer.message.content)
    assert town["id"] == town["size"] == int("7" * 19)
    endless = client.chat.completions.create(**asked, extra_body={"structured_outputs": {"short_numbers": False}}).choices[0]
    assert endless.finish_reason == "length" and "7" * 50 in endless.message.content


def test_a_chat_answers_the_question(client):
    answer = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=32)
    assert answer.choices[0].message.content == "The capital of Japan is Tokyo."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_streaming_and_whole_answers_are_the_same(client):
    arguments = dict(model=MODEL, messages=QUESTION, temperature=1.0, seed=7, max_tokens=24)
    whole = client.chat.completions.create(**arguments)
    chunks = list(client.chat.completions.create(**arguments, stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    used = chunks[-1].usage
    assert (used.prompt_tokens, used.completion_tokens) == (whole.usage.prompt_tokens, whole.usage.completion_tokens)
    assert not chunks[-1].choices


def test_a_completion_takes_text_or_token_ids(client, service):
    ids = post(service, "/tokenize", {"model": MODEL, "prompt": "The capital of France is"})["tokens"]
    assert ids == [504, 3575, 282, 4649, 314]
    by_text = client.completions.create(model=MODEL, prompt="The capital of France is", temperature=0, max_tokens=8)
    by_ids = client.completions.create(model=MODEL, prompt=ids, temperature=0, max_tokens=8)
    assert by_text.choices[0].text == by_ids.choices[0].text and by_text.choices[0].text.startswith(" Paris")


def test_what_is_too_long_has_openais_code_and_names_what_to_make_smaller(client):
    chat = dict(model=MODEL, max_tokens=8, messages=[{"role": "user", "content": "word " * 8192}])
    text = dict(model=MODEL, max_tokens=8, prompt=[504] * 8192)
    beyond_memory = dict(model=MODEL, max_tokens=8, prompt="word " * 100_000)
    answer = dict(model=MODEL, max_tokens=8192, messages=QUESTION)
    for create, body, field in ((client.chat.completions.create, chat, "messages"), (client.completions.create, text, "prompt"),
                                (client.completions.create, beyond_memory, "prompt"), (client.chat.completions.create, answer, "max_tokens")):
        with pytest.raises(openai.BadRequestError) as refused:
            create(**body)
        assert (refused.value.code, refused.value.param) == ("context_length_exceeded", field)


def test_tokenize_and_detokenize_are_inverse(service):
    text = "Zażółć gęślą jaźń 🦙 <|im_start|>"
    made = post(service, "/tokenize", {"model": MODEL, "prompt": text})
    assert made["count"] == len(made["tokens"]) and made["max_model_len"] > 0
    assert post(service, "/detokenize", {"model": MODEL, "tokens": made["tokens"]})["prompt"] == text


def test_a_client_learns_how_to_render_and_to_count(service):
    info = json.loads(service.get("/tokenizer_info"))
    assert (info["bos_token"], info["eos_token"], info["pad_token"]) == ("<|im_start|>", "<|im_end|>", "<|im_end|>")
    rendered = jinja2.Template(info["chat_template"]).render(messages=QUESTION, add_generation_prompt=True)
    tokens = [post(service, "/tokenize", {"model": MODEL, **body})["tokens"]
              for body in ({"messages": QUESTION}, {"prompt": rendered, "add_special_tokens": False})]
    assert tokens[0] == tokens[1]


def test_a_stop_string_ends_the_text_before_it(client):
    free = client.completions.create(model=MODEL, prompt="One, two, three,", temperature=0, max_tokens=24).choices[0]
    stop = free.text[7:10]
    cut = client.completions.create(model=MODEL, prompt="One, two, three,", temperature=0, max_tokens=24, stop=[stop])
    assert cut.choices[0].text == free.text[:free.text.index(stop)]
    assert cut.choices[0].finish_reason == "stop"


def test_min_tokens_and_ignore_eos_hold_the_end_back(client):
    arguments = dict(model=MODEL, messages=QUESTION, temperature=0, max_tokens=40)
    assert client.chat.completions.create(**arguments).usage.completion_tokens < 30
    for extra in ({"ignore_eos": True}, {"min_tokens": 30}):
        longer = client.chat.completions.create(**arguments, extra_body=extra)
        assert longer.usage.completion_tokens >= 30


def test_log_probabilities_are_ordered_and_the_greedy_token_is_the_best(client):
    answer = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=5, logprobs=True,
                                            top_logprobs=3)
    for entry in answer.choices[0].logprobs.content:
        best = [top.logprob for top in entry.top_logprobs]
        assert best == sorted(best, reverse=True) and len(best) == 3
        assert entry.logprob == best[0] and bytes(entry.bytes).decode() == entry.token


def test_prompt_log_probabilities_cover_the_prompt_but_its_first_token(service):
    ids = [504, 3575, 282, 4649, 314]
    answer = post(service, "/v1/completions", {"model": MODEL, "prompt": ids, "max_tokens": 1, "prompt_logprobs": 1})
    entries = answer["choices"][0]["prompt_logprobs"]
    assert len(entries) == len(ids) and entries[0] is None
    for token, entry in zip(ids[1:], entries[1:]):
        assert entry[str(token)]["logprob"] <= 0
    mean = -sum(entry[str(t)]["logprob"] for t, entry in zip(ids[1:], entries[1:])) / 4
    assert abs(mean - 3.691624) < 0.1  # golden mean_prompt_nll of this prompt


def test_token_ids_are_returned_when_asked(service):
    body = {"model": MODEL, "prompt": "The capital of France is", "max_tokens": 2, "temperature": 0}
    choice = post(service, "/v1/completions", {**body, "return_token_ids": True})["choices"][0]
    assert choice["token_ids"] == [7042, 30] and choice["prompt_token_ids"] == [504, 3575, 282, 4649, 314]
    named = post(service, "/v1/completions", {**body, "logprobs": 1, "return_tokens_as_token_ids": True})["choices"][0]
    assert named["logprobs"]["tokens"] == ["token_id:7042", "token_id:30"]


def test_probes_and_version_answer(service):
    for path in ("/health", "/livez", "/readyz", "/version"):
        assert service.status(path) == 200
    assert "version" in json.loads(service.get("/version"))


def test_metrics_count_what_was_served(service):
    before = {name: service.metric(name) for name in ("vllm:generation_tokens_total", "vllm:prompt_tokens_total",
                                                      "vllm:request_success_total",
                                                      "vllm:time_to_first_token_seconds_count",
                                                      "vllm:inter_token_latency_seconds_count",
                                                      "vllm:e2e_request_latency_seconds_count")}
    post(service, "/v1/completions", {"prompt": [504, 3575, 282], "max_tokens": 4, "ignore_eos": True})
    service.wait_idle()
    grown = {name: service.metric(name) - value for name, value in before.items()}
    assert list(grown.values()) == [4, 3, 1, 1, 3, 1]


def expect_abort(service, leave):
    """The one request that runs is aborted when its client leaves, long before its last token."""
    service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "running")
    before = service.metric("vllm:request_success_total", finished_reason="abort")
    leave()
    service.wait_idle()
    assert service.metric("vllm:request_success_total", finished_reason="abort") == before + 1


def test_a_client_that_leaves_frees_its_blocks(service):
    before = service.resources()
    request = urllib.request.Request(service.url + "/v1/completions", json.dumps(
        {"prompt": "Once", "max_tokens": 4000, "ignore_eos": True, "stream": True}).encode(), {"Content-Type": "application/json"})
    answer = urllib.request.urlopen(request, timeout=60)
    answer.readline()
    expect_abort(service, answer.close)
    service.wait_as_before(before)


def test_a_client_that_leaves_while_waiting_for_a_whole_answer_is_noticed(service):
    before = service.resources()
    connection = http.client.HTTPConnection("127.0.0.1", service.port)
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "Once", "max_tokens": 4000, "ignore_eos": True}),
                       {"Content-Type": "application/json"})
    expect_abort(service, connection.close)
    service.wait_as_before(before)


def test_a_client_that_reads_nothing_of_its_stream_loses_it_and_nobody_else_notices(start_service):
    asked = {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0}
    endless = json.dumps({"prompt": "Once", "max_tokens": 4000, "n": 4, "ignore_eos": True, "stream": True, "logprobs": 20}).encode()
    with start_service("--max-stream-buffer-bytes", "16KiB") as service:
        expected = service.post("/v1/completions", asked)[1]["choices"]
        before = service.resources()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", service.port))
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(endless) + endless)
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 4, 30, "running")
            while service.metric("vllm:num_requests_running") > 0:
                assert service.post("/v1/completions", asked)[1]["choices"] == expected
        assert service.metric("vllm:generation_tokens_total") < 4 * 4000, "it was not let run to its end"
        service.wait_as_before(before)
