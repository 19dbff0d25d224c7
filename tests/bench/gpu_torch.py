#!/usr/bin/env python3
"""What tests/bench/gpu.py compares with: torch's own operations on the same shapes, eager, as a CUDA graph, and compiled (as a graph
too: torch's own graphs leave out what writes into a cache).

    python3 tests/bench/gpu_torch.py steps SHAPE CONTEXT BATCH...      decode steps of a model of tests/bench/gpu_models.py
    python3 tests/bench/gpu_torch.py kernels                           attention, sampling, norm, SiLU

Needs torch with a CUDA device. Prints one JSON object; what cannot be had is in it by name. Medians, in microseconds.
"""
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_models import SHAPES  # noqa: E402

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

ROUNDS = 20
DEVICE = "cuda"


def say(text):
    print(text, file=sys.stderr, flush=True)


def host_time(step):
    """From the call to the host's having the answer."""
    took = []
    for number in range(ROUNDS + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step().cpu()
        if number >= 3:
            took.append(1e6 * (time.perf_counter() - begin))
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


def attempt(out, name, measure):
    try:
        say(f"torch: {name}")
        out[name] = round(measure(), 2)
    except Exception as why:  # noqa: BLE001: one comparison less, and the rest goes on
        out[name] = None
        out.setdefault("failed", {})[name] = f"{type(why).__name__}: {str(why).splitlines()[0] if str(why) else ''}"
        torch.cuda.synchronize()


def captured(work):
    graph, out = graph_of(work)

    def replay():
        graph.replay()
        return out
    return replay


def measure_steps(shape, context, batches):
    out = []
    for batch in batches:
        torch._dynamo.reset()
        decoder = Decoder(shape, batch, context)
        one = {"sequences": batch, "context": context}
        attempt(one, "eager_us", lambda: host_time(decoder.step))
        attempt(one, "graph_us", lambda: host_time(captured(decoder.step)))
        attempt(one, "compiled_us", lambda: host_time(captured(torch.compile(decoder.step))))
        out.append(one)
        del decoder
        torch.cuda.empty_cache()
    return {"decode": out}


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


def measure_kernels():
    works = {"paged_attention, decode, bf16 KV, 32 x 4096 tokens, 32 heads of 128, 8 KV heads": attention, "residual_norm": norm, "silu_multiply": silu}
    for vocab in (49_152, 151_936):
        works[f"sample_tokens, greedy, 64 x {vocab}"] = lambda v=vocab: (lambda logits: lambda: logits.argmax(dim=-1))(
            3 * torch.randn(64, v, device=DEVICE))
        works[f"sample_tokens, all tokens, 64 x {vocab}"] = lambda v=vocab: sampling(v)
        works[f"sample_tokens, top-p 0.95, 64 x {vocab}"] = lambda v=vocab: sampling(v, top_p=0.95)
        works[f"sample_tokens, top-k 50, top-p 0.95, 64 x {vocab}"] = lambda v=vocab: sampling(v, top_k=50, top_p=0.95)
    out = {}
    for name, make in works.items():
        torch._dynamo.reset()
        one = out[name] = {}
        attempt(one, "eager_us", lambda: device_time(make()))
        attempt(one, "compiled_us", lambda: device_time(torch.compile(make())))
        torch.cuda.empty_cache()
    return {"kernels": out}


def main():
    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device")
    torch.manual_seed(1)
    with torch.no_grad():
        if sys.argv[1] == "steps":
            out = measure_steps(SHAPES[sys.argv[2]], int(sys.argv[3]), [int(each) for each in sys.argv[4:]])
        else:
            out = measure_kernels()
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), **out}))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("steps", "kernels") or (sys.argv[1] == "steps" and len(sys.argv) < 5):
        sys.exit(__doc__)
    main()
