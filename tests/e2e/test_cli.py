"""The command line: every subcommand as a person would type it."""
import json
import os
import pty
import re
import resource
import select
import signal
import socket
import subprocess
import time

import pytest

from conftest import BINARY, MODEL, ROOT

SERVE_ANYWHERE = ["serve", "--port", "0", "--tcp-port", "0"]  # the usual ports may be taken
SUBCOMMANDS = [["serve"], ["run"], ["chat"], ["top"], ["tokenize"], ["inspect"], ["bench"], ["bench", "offline"], ["config"],
               ["buckets"], ["grammar", "check"], ["grammar", "bench"], ["gpu-selftest"]]


def clean_environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TROUPE_")}
    return {**kept, **extra}


def troupe(*arguments, stdin="", cwd=ROOT, timeout=300, **environment):
    return subprocess.run([BINARY, *map(str, arguments)], input=stdin, text=True, capture_output=True, cwd=cwd,
                          timeout=timeout, env=clean_environment(**environment))


def settings(*arguments, **environment):
    """What `troupe config` prints: {name: (value, origin)}."""
    done = troupe("config", *arguments, **environment)
    assert done.returncode == 0, done.stderr
    lines = [re.fullmatch(r"(\w+) = (.*)  # (.*)", line) for line in done.stdout.splitlines()]
    return {line[1]: (line[2].strip('"'), line[3]) for line in lines}


def refused(done, code, *words):
    assert done.returncode == code, (done.returncode, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    # What serve says once it has a log is a line of that.
    said = json.loads(done.stderr)["message"] if done.stderr.startswith("{") else done.stderr
    assert all(word in said for word in words), done.stderr


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", "2>&1 >/dev/null | exec true"], ids=["full", "closed", "unread"])
@pytest.mark.parametrize("arguments, code", [("serve --max-num-seqs x", 78), ("serve --bogus", 2), ("inspect /nowhere.gguf", 66),
                                             ("top http://127.0.0.1:1 --once", 1)])
def test_an_exit_code_does_not_depend_on_who_reads_the_reason(arguments, code, where):
    script = f'trap "" PIPE; set -o pipefail; "$0" {arguments} {where}'
    assert subprocess.run(["bash", "-c", script, BINARY], timeout=60).returncode == code


@pytest.mark.parametrize("where", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_an_output_that_cannot_be_written_is_told(where):
    done = subprocess.run(["bash", "-c", f'"$0" config {where}', BINARY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "the output could not be written" in done.stderr


# ---- help, version, usage ----

@pytest.mark.parametrize("subcommand", SUBCOMMANDS, ids=" ".join)
def test_every_subcommand_explains_itself(subcommand):
    done = troupe(*subcommand, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "--help" in done.stdout
    assert "Example" in done.stdout or subcommand == ["bench"]


def test_help_lists_the_subcommands():
    done = troupe("--help")
    assert done.returncode == 0
    assert all(subcommand[0] in done.stdout for subcommand in SUBCOMMANDS)


def test_serve_help_has_every_option_with_its_default():
    done = troupe("serve", "--help")
    for flag in ["--model", "--served-model-name", "--host", "--port", "--tcp-port", "--max-model-len", "--max-num-seqs",
                 "--max-num-batched-tokens", "--block-size", "--kv-cache-memory", "--shutdown-grace", "--config"]:
        assert re.search(rf"{flag}[\s,]", done.stdout), flag
    assert "=8000" in done.stdout and "=7777" in done.stdout and "=1GiB" in done.stdout


def test_version_is_one_line():
    done = troupe("--version")
    assert done.returncode == 0 and re.fullmatch(r"troupe \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["serve", "--no-such-flag"], ["run"], ["bench"],
                                       ["bench", "offline", "--batch", "0"], ["serve", "--port"]])
def test_wrong_usage_ends_with_2_and_points_to_the_help(arguments):
    done = troupe(*arguments)
    assert done.returncode == 2
    assert "--help" in done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["serve", "--prot", "8001"], "troupe serve: unknown option '--prot'; did you mean '--port'?"),
    (["serve", "--prot=8001"], "troupe serve: unknown option '--prot'; did you mean '--port'?"),
    (["serve", "--max-runing-requests", "3"],
     "troupe serve: unknown option '--max-runing-requests'; did you mean '--max-running-requests'?"),
    (["bench", "offline", "--jsn"], "troupe bench offline: unknown option '--jsn'; did you mean '--json'?"),
    (["serv"], "troupe: unknown subcommand 'serv'; did you mean 'serve'?"),
    (["--versoin"], "troupe: unknown option '--versoin'; did you mean '--version'?"),
    (["serve", "now"], "troupe serve: unexpected argument 'now'; see troupe serve --help"),
    (["serve", "--zzzzzz"], "troupe serve: unknown option '--zzzzzz'; see troupe serve --help"),
    (["serve", "---"], "troupe serve: unexpected argument '---'; see troupe serve --help"),
    (["run"], "troupe run: prompt is required; see troupe run --help"),
    (["bench", "offline", "--batch", "0"],
     "troupe bench offline: --batch: Value 0 not in range 1 to 4096; see troupe bench offline --help")])
def test_a_misspelt_word_is_named_with_what_may_have_been_meant(arguments, message):
    done = troupe(*arguments)
    assert (done.returncode, done.stderr, done.stdout) == (2, message + "\n", "")


def test_the_help_of_a_group_of_subcommands_shows_no_examples_of_others():
    assert "Examples" in troupe("--help").stdout
    for group in ["bench", "grammar"]:
        assert "troupe serve" not in troupe(group, "--help").stdout


# ---- configuration ----

def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path):
    file = tmp_path / "troupe.toml"
    file.write_text("# mine\nport = 1001\nmax_num_seqs = 3\nblock_size = 32\n")
    found = settings("--port", "1003", TROUPE_CONFIG=str(file), TROUPE_PORT="1002", TROUPE_MAX_NUM_SEQS="4")
    assert found["port"] == ("1003", "--port")
    assert found["max_num_seqs"] == ("4", "TROUPE_MAX_NUM_SEQS")
    assert found["block_size"] == ("32", f"{file}:4")
    assert found["tcp_port"] == ("7777", "default")


def test_a_device_that_cannot_be_had_is_refused_by_name_and_auto_goes_on_without():
    """A machine of the tests has no CUDA device, whether the program was built for them or not."""
    refused(troupe("config", "--device", "cuda", CUDA_VISIBLE_DEVICES=""), 78, "--device", "CUDA")
    refused(troupe("config", TROUPE_DEVICE="cuda", CUDA_VISIBLE_DEVICES=""), 78, "TROUPE_DEVICE", "CUDA")
    chosen = settings("--device", "auto", CUDA_VISIBLE_DEVICES="")
    assert chosen["max_num_seqs"][0] == "64", "the defaults of the CPU"


def test_a_gpu_selftest_says_that_there_is_no_device():
    done = troupe("gpu-selftest", MODEL, CUDA_VISIBLE_DEVICES="")
    assert done.returncode != 0 and "CUDA" in done.stderr and done.stdout == ""


def test_a_gpu_selftest_reports_in_json_that_there_is_no_device(tmp_path):
    """Before it looks into the model, which may take minutes to load."""
    (tmp_path / "damaged.gguf").write_text("no model")
    done = troupe("gpu-selftest", tmp_path / "damaged.gguf", "--json", CUDA_VISIBLE_DEVICES="")
    answer = json.loads(done.stdout)
    assert done.returncode != 0 and answer["passed"] is False
    assert len(answer["failures"]) == 1 and answer["failures"][0] in done.stderr and "CUDA" in done.stderr


def test_printed_settings_are_a_configuration_file(tmp_path):
    file = tmp_path / "troupe.toml"
    file.write_text(troupe("config", "--port", "1234", "--kv-cache-memory", "48MiB").stdout)
    found = settings("--config", file)
    assert found["port"][0] == "1234" and found["kv_cache_memory"][0] == "48MiB"


def test_an_unknown_key_names_file_and_line(tmp_path):
    file = tmp_path / "troupe.toml"
    file.write_text("port = 1\n\nmax_num_sequences = 2\n")
    for subcommand in (["serve"], ["config"], ["tokenize", "x"], ["bench", "offline"]):
        refused(troupe(*subcommand, "--config", file), 78, f"{file}:3: ", "max_num_sequences", "max_num_seqs")


@pytest.mark.parametrize("flag, value", [("--port", "70000"), ("--block-size", "17"), ("--max-num-seqs", "nan"),
                                         ("--shutdown-grace", "soon"), ("--kernel-path", "abacus"),
                                         ("--kv-cache-memory", "-1GiB"), ("--threads", "9223372036854775808")])
def test_a_wrong_value_names_its_flag_or_variable(flag, value):
    refused(troupe("serve", flag, value), 78, flag + ": ", value)
    variable = "TROUPE_" + flag[2:].upper().replace("-", "_")
    refused(troupe("serve", **{variable: value}), 78, variable + ": ", value)


def test_a_switch_is_true_or_false():
    refused(troupe("serve", "--skip-warmup=2"), 78, "--skip-warmup: expected true or false, got '2'")
    refused(troupe("serve", TROUPE_SKIP_WARMUP="2"), 78, "TROUPE_SKIP_WARMUP: expected true or false, got '2'")


@pytest.mark.parametrize("name, value, code, words", [
    ("max_model_len", 999999, 78, "but the model holds 8192 tokens"), ("kv_cache_memory", "900GiB", 78, "MiB are free"),
    ("host", "300.0.0.1", 78, "neither an address nor a name"), ("model", "/none.gguf", 66, "there is no file")])
def test_what_only_the_model_or_the_machine_shows_to_be_wrong_names_its_place_too(tmp_path, name, value, code, words):
    file = tmp_path / "troupe.toml"
    file.write_text(f"tcp_port = -1\n{name} = {json.dumps(value)}\n")
    flag, variable = "--" + name.replace("_", "-"), "TROUPE_" + name.upper()
    serve = ["serve", "--log-level", "error", "--port", "0"]
    refused(troupe(*serve, "--config", file), code, f"{file}:2: ", words)
    refused(troupe(*serve, "--tcp-port", "-1", flag, str(value)), code, f"{flag}: ", words)
    refused(troupe(*serve, "--tcp-port", "-1", **{variable: str(value)}), code, f"{variable}: ", words)


def test_an_unknown_variable_is_warned_of():
    done = troupe("config", TROUPE_MAX_NUM_SEQ="4")
    assert done.returncode == 0
    assert "TROUPE_MAX_NUM_SEQ:" in done.stderr and "TROUPE_MAX_NUM_SEQS?" in done.stderr


# ---- the model file ----

def test_a_missing_model_is_told_with_what_to_do(tmp_path):
    refused(troupe(*SERVE_ANYWHERE, "--model", tmp_path / "none.gguf"), 66, "none.gguf")


def test_a_damaged_model_names_the_file(tmp_path):
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(MODEL.read_bytes()[:1_000_000])
    for subcommand in ([*SERVE_ANYWHERE, "--model"], ["tokenize", "x", "--model"], ["inspect"], ["bench", "offline", "--model"]):
        done = troupe(*subcommand, damaged)
        assert done.returncode == 66 and "damaged.gguf" in done.stderr.splitlines()[-1], done.stderr


def test_a_model_that_is_cut_short_is_told_to_seem_incomplete(tmp_path):
    whole = MODEL.read_bytes()
    for length in (1_000, 1_000_000, len(whole) - 1):  # in the header, in the vocabulary, in the weights
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(whole[:length])
        done = troupe("inspect", cut)
        assert done.returncode == 66 and "it seems to be incomplete, as after a download that was broken off" in done.stderr, done.stderr


def test_a_kv_cache_that_there_is_no_room_for_tells_whose_memory_is_short():
    done = troupe("serve", "--model", MODEL, "--port", "0", "--tcp-port", "-1", "--kv-cache-memory", "15TiB")
    why = re.search(r"kv_cache_memory is 15728640 MiB, but only \d+ MiB are free beside the weights \((.*?)\)", done.stderr)
    assert done.returncode == 78 and why[1] in ("of the machine's memory", "of the memory limit of its control group"), done.stderr
    assert "default" not in done.stderr.splitlines()[-1]


def test_a_model_of_another_kind_is_the_models_fault_and_not_a_settings(tmp_path):
    strange = tmp_path / "strange.gguf"
    strange.write_bytes(MODEL.read_bytes().replace(b"\5\0\0\0\0\0\0\0llama", b"\5\0\0\0\0\0\0\0whale", 1))
    done = troupe("serve", "--port", "0", "--tcp-port", "0", "--model", strange)
    assert done.returncode == 66 and "whale" in done.stderr.splitlines()[-1], done.stderr


def as_text(model, token):
    """The model's bytes, with this token "user-defined" in place of "control", and another that ends texts."""
    bytes_of = bytearray(model)

    def change(at, old, new):
        assert bytes_of[at:at + 4] == bytes((old, 0, 0, 0))
        bytes_of[at] = new

    types, end = b"tokenizer.ggml.token_type", b"tokenizer.ggml.eos_token_id"
    change(model.index(types) + len(types) + 4 + 4 + 8 + 4 * token, 3, 4)  # behind array, of int32, how many
    change(model.index(end) + len(end) + 4, token, 0)
    return bytes(bytes_of)


def test_an_answer_ends_with_its_mark_where_the_file_does_not_call_it_control_and_the_start_warns(tmp_path):
    odd = tmp_path / "odd.gguf"
    odd.write_bytes(as_text(MODEL.read_bytes(), 2))  # <|im_end|>
    ask = ["What is the capital of Japan?", "--max-tokens", 40]
    done, usual = (troupe("run", *ask, "--model", model) for model in (odd, MODEL))
    assert done.returncode == 0 and done.stdout == usual.stdout and "<|im_end|>" not in done.stdout, done.stdout
    assert done.stderr.count("does not call <|im_end|> control") == 1, done.stderr
    assert "control" not in usual.stderr


def test_the_default_model_is_found_from_the_current_folder():
    assert troupe("tokenize", "x", cwd=ROOT).returncode == 0


def test_the_default_model_is_found_in_the_data_folder(tmp_path):
    (tmp_path / "troupe").mkdir()
    (tmp_path / "troupe" / MODEL.name).symlink_to(MODEL)
    copy = tmp_path / "bin" / "troupe"
    copy.parent.mkdir()
    copy.write_bytes(open(BINARY, "rb").read())
    copy.chmod(0o755)
    run = [str(copy), "tokenize", "x"]
    found = subprocess.run(run, cwd="/", env=clean_environment(XDG_DATA_HOME=str(tmp_path)), capture_output=True)
    assert found.returncode == 0
    lost = subprocess.run(run, cwd="/", env=clean_environment(XDG_DATA_HOME="/none", HOME="/none"),
                          capture_output=True, text=True)
    refused(lost, 66, "./quickstart", "--model")


def test_what_is_no_file_in_place_of_a_model_is_told_so(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, words in [(tmp_path / "pipe", "is a device, a pipe or a socket, not a file"), ("/dev/null", "not a file"),
                        (tmp_path / "loop", "cannot be reached: Too many levels of symbolic links")]:
        refused(troupe(*SERVE_ANYWHERE, "--model", path), 66, f"no model: {path} ", words)


def test_a_service_that_the_system_gives_no_threads_says_so_and_may_be_started_again():
    """As a user who has no other process: the limit is of all of them."""
    def with_few_processes():
        resource.setrlimit(resource.RLIMIT_NPROC, (8, 8))
        os.setresuid(54322, 54322, 54322)

    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    try:
        done = subprocess.run([BINARY, *SERVE_ANYWHERE, "--model", MODEL], preexec_fn=with_few_processes, env=clean_environment(),
                              capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise
    except (PermissionError, subprocess.SubprocessError):  # a user that there cannot be here
        pytest.skip("no other user can start the program here")
    refused(done, 1, "the system starts 7 of the", "TasksMax")


def test_a_folder_in_place_of_a_model_is_told_so(tmp_path):
    for subcommand in ([*SERVE_ANYWHERE, "--model"], ["tokenize", "x", "--model"], ["inspect"], ["bench", "offline", "--model"]):
        refused(troupe(*subcommand, tmp_path), 66, str(tmp_path), "folder")


@pytest.mark.parametrize("flags, word", [(["--port", "PORT"], "PORT"), (["--tcp-port", "PORT"], "PORT"),
                                         (["--host", "no such host"], "no such host")])
def test_an_address_that_cannot_be_had_is_told_before_the_model_is_loaded(flags, word):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = troupe("serve", "--model", MODEL, *[flag.replace("PORT", port) for flag in flags],
                      TROUPE_PORT="0" if "--port" not in flags else "", TROUPE_TCP_PORT="0" if "--tcp-port" not in flags else "")
    assert done.returncode == (78 if "--host" in flags else 1)
    assert word.replace("PORT", port) in done.stderr and "loading" not in done.stderr


@pytest.mark.parametrize("arguments", [["config"], ["config", "--markdown"], ["inspect", MODEL], ["--help"], ["--version"],
                                       ["tokenize", "x", "--model", MODEL]], ids=lambda a: " ".join(map(str, a[:2])))
def test_output_that_cannot_be_written_is_a_failure(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BINARY, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=clean_environment(), timeout=300)
    assert done.returncode == 1 and "output" in done.stderr


# ---- tokenize, inspect ----

def test_tokenize_replaces_and_tells_what_is_not_utf8():
    done = subprocess.run([BINARY, "tokenize", "--json", "--model", str(MODEL)], input=b"a\xffb\xe2\x82", capture_output=True,
                          env=clean_environment(), timeout=300)
    assert done.returncode == 0 and b"UTF-8" in done.stderr
    assert json.loads(done.stdout) == json.loads(troupe("tokenize", "--json", "--model", MODEL, "a\ufffdb\ufffd").stdout)



def test_tokenize_prints_ids_and_pieces():
    done = troupe("tokenize", "Hello, w\u00f6rld", "--model", MODEL)
    ids, pieces = zip(*(line.split("\t") for line in done.stdout.splitlines()))
    assert "".join(json.loads(piece) for piece in pieces) == "Hello, w\u00f6rld"
    assert all(token.isdigit() for token in ids)


def test_tokenize_reads_the_standard_input_and_prints_json():
    by_argument = json.loads(troupe("tokenize", "--json", "a <|im_start|>", "--model", MODEL).stdout)
    by_stdin = json.loads(troupe("tokenize", "--json", "--model", MODEL, stdin="a <|im_start|>").stdout)
    assert by_argument == by_stdin
    assert by_stdin["count"] == len(by_stdin["tokens"]) == len(by_stdin["pieces"])
    assert by_stdin["pieces"][-1] == "<|im_start|>"
    plain = json.loads(troupe("tokenize", "--json", "--plain", "a <|im_start|>", "--model", MODEL).stdout)
    assert plain["count"] > by_stdin["count"] and "".join(plain["pieces"]) == "a <|im_start|>"


def test_inspect_looks_at_the_model_that_would_be_served(tmp_path):
    named, other = tmp_path / "named.gguf", tmp_path / "other.gguf"
    refused(troupe("inspect", TROUPE_MODEL=str(named)), 66, "named.gguf")
    refused(troupe("inspect", "--model", named, TROUPE_MODEL=str(other)), 66, "named.gguf")
    refused(troupe("inspect", named, TROUPE_MODEL=str(other), TROUPE_PORT="none"), 66, "named.gguf")
    assert troupe("inspect", TROUPE_MODEL=str(MODEL)).stdout == troupe("inspect", MODEL).stdout
    refused(troupe("inspect", named, "--model", other), 2, "file")


def test_inspect_shows_metadata_and_tensors():
    done = troupe("inspect", MODEL)
    assert done.returncode == 0
    assert "general.architecture" in done.stdout and "blk.0.attn_q.weight" in done.stdout and "Q4_1" in done.stdout


# ---- bench ----

def test_bench_prints_one_line_of_json_whose_figures_agree():
    done = troupe("bench", "offline", "--model", MODEL, "--batch", 3, "--input-len", 20, "--output-len", 6, "--threads", 1,
                  "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    report = json.loads(done.stdout)
    assert (report["batch"], report["input_len"], report["output_len"], report["threads"]) == (3, 20, 6, 1)
    assert report["prefill_tokens_per_s"] * report["prefill_s"] == pytest.approx(3 * 20, rel=1e-2)
    assert report["decode_tokens_per_s"] * report["decode_s"] == pytest.approx(3 * 5, rel=1e-2)
    assert 0 < report["step_ms_p50"] <= report["step_ms_p99"] <= 1000 * report["decode_s"] + 1
    assert report["cpu"] and report["kernel_path"] in ("avx512vnni", "avx2", "reference")


def test_bench_runs_the_kernels_asked_for():
    done = troupe("bench", "offline", "--model", MODEL, "--input-len", 2, "--output-len", 2, "--kernel-path", "reference",
                  "--json")
    assert json.loads(done.stdout)["kernel_path"] == "reference"


def test_bench_refuses_more_than_the_context():
    refused(troupe("bench", "offline", "--model", MODEL, "--input-len", 8000, "--output-len", 1000), 78, "9000", "8192")


# ---- run, chat ----

def test_run_answers_once_and_always_the_same():
    first = troupe("run", "What is the capital of Japan?", "--model", MODEL, "--max-tokens", 24)
    assert first.returncode == 0, first.stderr
    assert "Tokyo" in first.stdout and first.stdout.endswith("\n")
    again = troupe("run", "-", "--model", MODEL, "--max-tokens", 24, stdin="What is the capital of Japan?")
    assert again.stdout == first.stdout


def test_an_answer_ends_where_the_context_is_full():
    short = ["--model", MODEL, "--max-model-len", 64, "--temperature", 0]  # less than --max-tokens
    done = troupe("run", "Count to a thousand.", *short)
    assert done.returncode == 0 and done.stdout, done.stderr
    said = troupe("chat", *short, stdin="Hello\n")
    assert said.returncode == 0 and said.stdout.strip(), said.stderr
    too_long = troupe("chat", *short, stdin="word " * 80 + "\nHello\n")
    assert too_long.returncode == 1 and "maximum context length is 64" in too_long.stderr and too_long.stdout.strip()


def test_run_samples_by_its_seed():
    def story(seed):
        return troupe("run", "Tell me a story.", "--model", MODEL, "--max-tokens", 16, "--temperature", 1, "--seed",
                      seed).stdout

    assert story(1) == story(1) != story(2)


@pytest.mark.parametrize("seed", ["-1", "9223372036854775808", "99999999999999999999", "1e3", "x"])
def test_a_seed_is_a_number_that_the_service_takes_too(seed):
    refused(troupe("run", "Hello", "--model", MODEL, f"--seed={seed}"), 2, "--seed", seed)


@pytest.mark.parametrize("flag, value", [("--temperature", "-1"), ("--top-p", "2"), ("--max-tokens", "-3"),
                                         ("--temperature", "nan")])
def test_run_refuses_parameters_out_of_range(flag, value):
    done = troupe("run", "Hello", "--model", MODEL, flag, value)
    assert done.returncode == 1 and flag[2:].replace("-", "_") in done.stderr and done.stdout == ""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_run_ends_at_a_signal(how):
    with subprocess.Popen([BINARY, "run", "Count to a thousand.", "--model", MODEL, "--max-tokens", "8000"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment()) as process:
        assert process.stdout.read(1)
        begin = time.monotonic()
        process.send_signal(how)
        process.stdout.read()
        assert process.wait(30) == 128 + how
        assert time.monotonic() - begin < 10


# So hot that nobody comes to an end by himself.
WITHOUT_END = ["--max-tokens", "8000", "--temperature", "2", "--top-p", "1", "--seed", "1"]


@pytest.mark.parametrize("arguments", [("run", "Count to a thousand."), ("chat",)], ids=["run", "chat"])
def test_an_answer_that_nobody_reads_any_more_is_given_up(arguments):
    """And with it a conversation whose next line has not come yet."""
    with subprocess.Popen([BINARY, *arguments, "--model", MODEL, *WITHOUT_END], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment()) as process:
        process.stdin.write(b"Count to a thousand.\n")
        process.stdin.flush()
        assert process.stdout.read(1)
        process.stdout.close()
        try:
            assert process.wait(40) == 1
        finally:
            process.kill()
        assert b"the output could not be written" in process.stderr.read()


def test_ctrl_c_ends_a_chat_that_nobody_types():
    with subprocess.Popen([BINARY, "chat", "--model", MODEL, *WITHOUT_END], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean_environment()) as process:
        process.stdin.write(b"Count to a thousand.\nAnd back.\n")
        process.stdin.flush()
        assert process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == 130
        finally:
            process.kill()
        assert process.stdout.read().endswith(b" (stopped)\n")


def test_chat_takes_no_notice_of_blanks_around_its_commands():
    assert "/reset" in chat("/help ") and "(forgotten)" in chat("  /reset\t") and "unknown command /nonsense\n" not in chat("/nonsense why?")
    assert chat("   ", " /exit ", "Hello") == ""


def chat(*lines):
    done = troupe("chat", "--model", MODEL, "--temperature", 0, "--max-tokens", 20, stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_chat_remembers_until_reset():
    first, follow_up = "What is the capital of Japan?", "And its population?"
    fresh = chat(follow_up)
    assert not chat(first, follow_up).endswith(fresh)
    forgotten = chat(first, "/reset", follow_up)
    assert "(forgotten)" in forgotten and forgotten.endswith(fresh)


def test_chat_explains_its_commands():
    said = chat("/help", "/nonsense")
    assert "/reset" in said and "unknown command /nonsense" in said


class Terminal:
    """A program on a pseudo-terminal of its own."""

    def __init__(self, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(BINARY, [BINARY, *map(str, arguments)], clean_environment(TERM="dumb"))
        self.seen = ""

    def expect(self, text, seconds=120):
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.seen!r}"
            self.seen += os.read(self.fd, 4096).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def shown_on_terminal(*arguments, **environment):
    """What a command shows there whose output and messages go to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(BINARY, [BINARY, *map(str, arguments)], clean_environment(**environment))
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 66, shown
    return shown


def test_colours_are_for_terminals_that_have_them_and_people_who_want_them():
    wrong = ["serve", "--model", "/none.gguf", "--port", "0", "--tcp-port", "0"]
    assert b"\x1b[31m" in shown_on_terminal(*wrong, TERM="xterm", NO_COLOR="")
    assert b"\x1b" not in shown_on_terminal(*wrong, TERM="xterm", NO_COLOR="1")
    assert b"\x1b" not in shown_on_terminal(*wrong, TERM="dumb", NO_COLOR="", COLORTERM="truecolor")


@pytest.mark.parametrize("kind, is_drawn", [("xterm", True), ("dumb", False)])
def test_progress_is_drawn_where_a_terminal_can_be_drawn_over(tmp_path, kind, is_drawn):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(MODEL.read_bytes()[:1_000_000])
    shown = shown_on_terminal("serve", "--model", broken, "--port", "0", "--tcp-port", "0", TERM=kind, NO_COLOR="1")
    assert (b"\r\x1b[K" in shown) == is_drawn, shown


def test_ctrl_c_stops_an_answer_of_the_chat_and_ctrl_d_ends_it():
    chat = Terminal("chat", "--model", MODEL, "--max-tokens", 8000, "--temperature", 0)
    chat.expect("> ")
    chat.type("Write a very long story about a dragon and a knight.\n")
    chat.expect("\n")
    chat.expect(" ")
    chat.type("\x03")
    chat.expect("(stopped)")
    chat.expect("> ")
    chat.type("\x03")
    chat.expect("> ")
    chat.type("\x04")
    assert chat.wait() == 0


# ---- serve ----

def test_a_port_in_use_ends_it_with_1():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for flags in (["--port", port, "--tcp-port", 0], ["--port", 0, "--tcp-port", port]):
            done = troupe("serve", "--model", MODEL, "--kv-cache-memory", "64MiB", *flags)
            assert done.returncode == 1 and str(port) in done.stderr.splitlines()[-1], done.stderr


def test_the_log_is_json_lines_without_prompts(start_service):
    with start_service("--log-level", "trace") as service:
        subprocess.run(["curl", "-s", service.url + "/v1/completions", "-H", "Content-Type: application/json", "-d",
                        json.dumps({"prompt": "a very secret sentence", "max_tokens": 4})], check=True,
                       capture_output=True)
    lines = open(service.log_path).read().splitlines()
    entries = [json.loads(line) for line in lines]
    assert all({"time", "level", "message"} <= entry.keys() for entry in entries)
    text = "\n".join(entry["message"] for entry in entries)
    assert "secret" not in text
    assert str(service.port) in text and str(service.tcp_port) in text and "SmolLM2-135M-Instruct" in text
    assert re.search(r"\[1/\d+\]", text) and "ready after" in text and "KV" in text and "threads" in text


def test_port_0_takes_any_free_port_and_says_which(tmp_path):
    command = [BINARY, "serve", "--model", str(MODEL), "--port", "0", "--tcp-port", "0", "--kv-cache-memory", "64MiB"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
        try:
            ports = {}
            for line in process.stderr:
                for kind, port in re.findall(r"(HTTP|TCP) on \S*:(\d+)", line):
                    ports[kind] = int(port)
                if len(ports) == 2:
                    break
            for port in ports.values():
                assert port > 0
                socket.create_connection(("127.0.0.1", port), 5).close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert process.returncode == 0


def test_ctrl_c_while_starting_ends_it():
    command = [BINARY, "serve", "--model", str(MODEL), "--port", "0", "--tcp-port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment()) as process:
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode in (0, 130)


@pytest.mark.parametrize("line, word", [("speculative_config = '{\"method\": \"sufix\"}'", "sufix"),
                                        ("bucketing_from_file = '/nowhere/buckets.txt'", "/nowhere/buckets.txt"),
                                        ("otlp_traces_endpoint = '127.0.0.1:4317'", "127.0.0.1:4317"),
                                        ("otel_traces_sampler = 'xray'", "'xray'")])
def test_a_value_that_nothing_can_be_made_of_is_refused_with_its_place_by_config_and_serve_alike(tmp_path, line, word):
    file = tmp_path / "troupe.toml"
    endpoint = "" if "endpoint" in line else "otlp_traces_endpoint = 'http://127.0.0.1:4318'"
    file.write_text(f"max_num_seqs = 4\n{line}\n{endpoint}\n")
    for command in (["config"], ["serve", "--model", MODEL, "--port", "0", "--tcp-port", "0"]):
        refused(troupe(*command, "--config", file), 78, f"{file}:2: ", word)


def test_a_host_of_another_machine_is_said_to_be_that():
    """It may be this machine's in a moment, when its network is up: not a setting that stays wrong."""
    done = troupe("serve", "--model", MODEL, "--host", "192.0.2.1", "--port", "0", "--tcp-port", "0")
    refused(done, 1, 'host "192.0.2.1" is not an address of this machine')
    assert "another port" not in done.stderr


@pytest.mark.parametrize("host", ["", "no.such.host.invalid"])
@pytest.mark.parametrize("option", ["--host", "--admin-host"])
def test_a_host_that_is_none_is_refused_and_empty_is_not_every_address(option, host, tmp_path):
    key = tmp_path / "key"
    key.write_text("a-key-that-operators-have-0123456789\n")
    key.chmod(0o600)
    done = troupe("serve", "--model", MODEL, option, host, "--port", "0", "--tcp-port", "0", "--admin-port", "0", "--admin-key-file", key)
    refused(done, 78, f'host "{host}" is neither an address nor a name that has one')
