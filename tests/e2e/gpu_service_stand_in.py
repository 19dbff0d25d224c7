"""In the place of `troupe serve` for tests of tests/bench/gpu_service.py: answers what that asks, at once, with one fault.

    gpu_service_stand_in.py FAULT serve OPTION...
"""
import http.server
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import zlib

FAULT = sys.argv[1]
DRAFTS = "--speculative-config" in sys.argv
GRAPHS = 0 if FAULT == "no graphs" else 12
counters = {"vllm:spec_decode_num_draft_tokens_total": 0, "vllm:spec_decode_num_accepted_tokens_total": 0, "troupe_gpu_graphs": GRAPHS,
            "troupe_rejection_sampled_draft_tokens_total": 0, "troupe_rejection_sampled_accepted_tokens_total": 0}
is_back = threading.Event()  # another runner is there


def log(message, level="info"):
    print(json.dumps({"time": "", "level": level, "message": message}), file=sys.stderr, flush=True)


def keep_a_runner(folder):
    """A process of a runner's name, and after its end another."""
    program = pathlib.Path(folder) / "troupe-runner"
    program.symlink_to("/bin/sleep")
    for number in itertools.count():
        runner = subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number > 0:
            tell_that_it_is_back()
        runner.wait()
        if FAULT == "no other runner":
            return
        if FAULT == "chosen anew":
            log("CUDA: another device or library than the last runner's: products are chosen anew", "warn")
        counters["troupe_gpu_graphs"] = 0 if FAULT == "graphs are lost" else GRAPHS


def tell_that_it_is_back():
    """Who waits for it answers behind what is told, however late that is read; but for the fault, where all have been answered."""
    threading.Timer(3.0 if FAULT == "nothing is under way" else 0.1, log, ["the model runner is back"]).start()
    threading.Timer(0.5, is_back.set).start()


def tokens_of(body):
    is_drafted = DRAFTS and body.get("num_speculative_tokens") != 0
    tokens = [zlib.crc32(f"{body['prompt']} {body.get('seed')} {i}".encode()) % 300 for i in range(body["max_tokens"])]
    if (FAULT == "other tokens behind a kill" and is_back.is_set()) or (FAULT == "other tokens with drafts" and is_drafted):
        tokens[100] += 1
    if is_drafted:
        kind = "vllm:spec_decode_num_{}_tokens_total" if "seed" in body else "troupe_rejection_sampled_{}_tokens_total"
        names = ("draft", "accepted")
        for name, count in zip(names, (len(tokens), len(tokens) // 2 if FAULT == "wrong drafts" else len(tokens))):
            counters[kind.format(name)] += 0 if FAULT == "no drafts" else count
    return tokens


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = "".join(f'{name}{{model_name="service"}} {value}\n' for name, value in counters.items())
        self.answer(503 if FAULT == "never ready" else 200, text.encode())

    def answer(self, status, content):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if FAULT == "ends when asked":
            log("something is wrong")
            os._exit(70)
        if FAULT == "refuses":
            return self.answer(400, b"no such member")
        waits = body.get("cache_salt") == "killed" and FAULT != "nothing is under way"
        if body.get("stream"):
            return self.stream(body, waits)
        if waits:
            is_back.wait()
        reason = "abort" if FAULT == "is cut off" else "length"
        return self.answer(200, json.dumps({"choices": [{"token_ids": tokens_of(body), "finish_reason": reason}]}).encode())

    def stream(self, body, waits):
        self.send_response(200)
        self.end_headers()
        self.event({"choices": [{"token_ids": tokens_of(body)[:20], "finish_reason": None}]})
        if waits:
            is_back.wait()
        self.event({"choices": [{"token_ids": tokens_of(body)[20:], "finish_reason": "length"}]})
        self.event({"choices": [], "usage": {"completion_tokens": body["max_tokens"]}})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, content):
        self.wfile.write(b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


def main():
    if FAULT == "does not start":
        print("error: no device", file=sys.stderr)
        sys.exit(78)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if FAULT == "does not end" else lambda *_: os._exit(0))
    with tempfile.TemporaryDirectory() as folder:
        threading.Thread(target=keep_a_runner, args=(folder,), daemon=True).start()
        server = Server(("127.0.0.1", 0), Handler)
        log(f"HTTP on http://127.0.0.1:{server.server_port}")
        server.serve_forever()


if __name__ == "__main__":
    main()
