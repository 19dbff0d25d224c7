#!/usr/bin/env python3
"""What tests/bench/gpu.py compares with: torch's own operations on the same shapes, eager, as a CUDA graph, and compiled (as a graph
too: torch's own graphs leave out what writes into a cache).

    python3 tests/bench/gpu_torch.py [--seconds N] steps SHAPE CONTEXT KEY...   decode steps of a model of tests/bench/gpu_models.py
    python3 tests/bench/gpu_torch.py [--seconds N] kernels [--but KEY]...      attention, sampling, norm, SiLU

A key is a way and what is done in it: "compiled 8" is a step of 8 sequences, "eager silu_multiply" a kernel. Needs torch with a CUDA
device: the code is 3 where there is none. Prints a line of JSON for torch itself and one for each key as soon as it is
measured: "us", a median of microseconds, or why it "failed". With --seconds nothing is begun that is not expected to end in
time, and the code is 4 where something was left out.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_models import SHAPES  # noqa: E402
from gpu_page import KERNEL_KEYS  # noqa: E402

BEGIN = time.monotonic()  # what torch takes to be imported counts
MISSING, LEFT_OUT = 3, 4  # codes to end with
try:
    import torch
    import torch.nn.functional as F
except (ImportError, OSError) as why:  # OSError: one of its libraries
    print(f"torch cannot be imported: {why}", file=sys.stderr)
    sys.exit(MISSING)

ROUNDS = 20
DEVICE = "cuda"
# Seconds from the start of one measurement to its end, before one has shown it.
EXPECTED = {"eager": 5.0, "graph": 5.0, "compiled": 40.0}


def say(text):
    print(text, file=sys.stderr, flush=True)


def step_time(step):
    """From step to step, each asked for before the host has the tokens of the one before: as troupe's are timed."""
    took, tokens, under_way = [], [], None
    for number in range(ROUNDS + 3):
        begin = time.perf_counter()
        answer = step()
        if not tokens:
            tokens = [torch.empty_like(answer, device="cpu", pin_memory=True) for _ in range(2)]
        tokens[number % 2].copy_(answer, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()
        if under_way:
            under_way.synchronize()
        under_way = copied
        if number >= 3:
            took.append(1e6 * (time.perf_counter() - begin))
    torch.cuda.synchronize()
    return statistics.median(took)


def graph_of(work):
    """`work` as a CUDA graph; the tensor that each replay fills."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()
    return graph, out


def device_time(work, launches=10):
    """One of several launches of a graph: what it costs to launch does not count, as in troupe's own timings."""
    graph, _ = graph_of(lambda: [work() for _ in range(launches)])
    took = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        took.append(1e3 * begin.elapsed_time(end) / launches)
    return statistics.median(took)


class Decoder:
    """One step of greedy decoding: every sequence at the end of a context of its own, keys and values in bf16."""

    def __init__(self, shape, batch, context):
        self.shape, self.batch, self.context = shape, batch, context
        width, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim

        def matrix(outputs, inputs):
            return torch.randn(outputs, inputs, device=DEVICE, dtype=torch.bfloat16) / inputs ** 0.5

        self.embedding = matrix(shape.vocab, shape.hidden)
        self.head = self.embedding if shape.tied else matrix(shape.vocab, shape.hidden)
        self.norm = torch.ones(shape.hidden, device=DEVICE, dtype=torch.bfloat16)
        self.layers = [(matrix(width + 2 * kv, shape.hidden), matrix(shape.hidden, width),
                        matrix(2 * shape.intermediate, shape.hidden), matrix(shape.hidden, shape.intermediate))
                       for _ in range(shape.layers)]
        cache = (shape.layers, batch, shape.kv_heads, context, shape.head_dim)
        self.keys = torch.randn(cache, device=DEVICE, dtype=torch.bfloat16)
        self.values = torch.randn(cache, device=DEVICE, dtype=torch.bfloat16)
        angle = (context - 1) / 10_000 ** (torch.arange(0, shape.head_dim, 2, device=DEVICE) / shape.head_dim)
        self.cosine = torch.cat([angle.cos(), angle.cos()]).to(torch.bfloat16)
        self.sine = torch.cat([angle.sin(), angle.sin()]).to(torch.bfloat16)
        self.tokens = torch.arange(batch, device=DEVICE) * 7 % shape.vocab

    def rotate(self, x):
        first, second = x.chunk(2, dim=-1)
        return x * self.cosine + torch.cat([-second, first], dim=-1) * self.sine

    def step(self):
        s = self.shape
        x = F.embedding(self.tokens, self.embedding)
        for i, (qkv, output, gate_up, down) in enumerate(self.layers):
            q, k, v = F.linear(F.rms_norm(x, (s.hidden,), self.norm, 1e-5), qkv).split(
                [s.heads * s.head_dim, s.kv_heads * s.head_dim, s.kv_heads * s.head_dim], dim=-1)
            q = self.rotate(q.view(self.batch, s.heads, 1, s.head_dim))
            self.keys[i, :, :, -1:] = self.rotate(k.view(self.batch, s.kv_heads, 1, s.head_dim))
            self.values[i, :, :, -1:] = v.view(self.batch, s.kv_heads, 1, s.head_dim)
            attended = F.scaled_dot_product_attention(q, self.keys[i], self.values[i], enable_gqa=True)
            x = x + F.linear(attended.reshape(self.batch, -1), output)
            gate, up = F.linear(F.rms_norm(x, (s.hidden,), self.norm, 1e-5), gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, down)
        return F.linear(F.rms_norm(x, (s.hidden,), self.norm, 1e-5), self.head).argmax(dim=-1)


def tell(**result):
    print(json.dumps(result), flush=True)


def measure(key, work):
    say(f"torch: {key}")
    torch._dynamo.reset()
    try:
        tell(key=key, us=round(work(), 2))
    except Exception as why:  # noqa: BLE001: one comparison less, and the rest goes on
        tell(key=key, failed=f"{type(why).__name__}: {str(why).splitlines()[0] if str(why) else ''}")
    torch.cuda.synchronize()  # ends this process where the device is no longer usable
    torch.cuda.empty_cache()


def measure_all(works, deadline):
    """works: {key: what gives its microseconds}. Gives the keys for which no time was left."""
    expected, left_out = dict(EXPECTED), []
    for key, work in works.items():
        way, begin = key.split()[0], time.monotonic()
        if begin + expected[way] > deadline:
            left_out.append(key)
            continue
        measure(key, work)
        expected[way] = time.monotonic() - begin
    return left_out


def captured(work):
    graph, out = graph_of(work)

    def replay():
        graph.replay()
        return out
    return replay


def step_works(shape, context, keys):
    ways = {"eager": lambda step: step, "graph": captured, "compiled": lambda step: captured(torch.compile(step))}

    def work(way, batch):
        return lambda: step_time(ways[way](Decoder(shape, int(batch), context).step))
    return {key: work(*key.split()) for key in keys}


def attention(batch=32, context=4096, heads=32, kv_heads=8, head_dim=128):
    def random(*size):
        return torch.randn(size, device=DEVICE, dtype=torch.bfloat16)
    q, k, v = random(batch, heads, 1, head_dim), random(batch, kv_heads, context, head_dim), random(batch, kv_heads, context, head_dim)
    return lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def sampling(vocab, top_k=0, top_p=1.0, rows=64):
    logits = 3 * torch.randn(rows, vocab, device=DEVICE)

    def sample():
        scaled = logits / 0.8
        if top_k:
            scaled, ids = scaled.topk(top_k, dim=-1)
        elif top_p < 1:
            scaled, ids = scaled.sort(dim=-1, descending=True)
        else:
            ids = None
        weights = scaled.softmax(dim=-1)
        if top_p < 1:
            weights = weights.masked_fill(weights.cumsum(dim=-1) - weights >= top_p, 0)
        drawn = (weights / torch.empty_like(weights).exponential_()).argmax(dim=-1, keepdim=True)
        return drawn if ids is None else ids.gather(-1, drawn)
    return sample


def norm(rows=8192, width=4096):
    residual = torch.randn(rows, width, device=DEVICE)
    addition = torch.randn(rows, width, device=DEVICE, dtype=torch.bfloat16)
    weight = torch.randn(width, device=DEVICE)

    def add_and_norm():
        residual.add_(addition)
        return F.rms_norm(residual, (width,), weight, 1e-5).to(torch.bfloat16)
    return add_and_norm


def silu(rows=8192, width=14_336):
    gate_up = torch.randn(rows, 2 * width, device=DEVICE, dtype=torch.bfloat16)

    def multiply():
        gate, up = gate_up.chunk(2, dim=-1)
        return F.silu(gate) * up
    return multiply


def kernel_works(but):
    made = {"paged_attention, decode, bf16 KV, 32 x 4096 tokens, 32 heads of 128, 8 KV heads": attention, "residual_norm": norm, "silu_multiply": silu}
    for vocab in (49_152, 151_936):
        made[f"sample_tokens, greedy, 64 x {vocab}"] = lambda v=vocab: (lambda logits: lambda: logits.argmax(dim=-1))(
            3 * torch.randn(64, v, device=DEVICE))
        made[f"sample_tokens, all tokens, 64 x {vocab}"] = lambda v=vocab: sampling(v)
        made[f"sample_tokens, top-p 0.95, 64 x {vocab}"] = lambda v=vocab: sampling(v, top_p=0.95)
        made[f"sample_tokens, top-k 50, top-p 0.95, 64 x {vocab}"] = lambda v=vocab: sampling(v, top_k=50, top_p=0.95)
    works = {f"eager {name}": lambda m=make: device_time(m()) for name, make in made.items()}
    works |= {f"compiled {name}": lambda m=make: device_time(torch.compile(m())) for name, make in made.items()}
    return {key: works[key] for key in KERNEL_KEYS if key not in but}


def main(arguments):
    deadline = BEGIN + arguments.seconds
    if not torch.cuda.is_available():
        print("torch sees no CUDA device", file=sys.stderr)
        sys.exit(MISSING)
    tell(torch=torch.__version__, device=torch.cuda.get_device_name())
    torch.manual_seed(1)
    with torch.no_grad():
        works = (step_works(SHAPES[arguments.shape], arguments.context, arguments.keys) if arguments.what == "steps"
                 else kernel_works(arguments.but))
        if left_out := measure_all(works, deadline):
            say(f"torch: no time was left for {'; '.join(left_out)}")
            sys.exit(LEFT_OUT)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    whats = parser.add_subparsers(dest="what", required=True)
    steps = whats.add_parser("steps")
    steps.add_argument("shape", choices=SHAPES)
    steps.add_argument("context", type=int)
    steps.add_argument("keys", nargs="+", metavar="KEY")
    whats.add_parser("kernels").add_argument("--but", action="append", default=[], metavar="KEY")
    return parser.parse_args()


if __name__ == "__main__":
    main(parsed())
