"""The part "service" of tests/bench/gpu.py: `troupe serve` on the device, how quick it is, and whether its answers stay the same where
its runner is killed and where a draft model drafts.

Which answers may differ follows from what docs/gpu.md says of products: by default how they are summed depends on how many rows a step
has, and by --batch-invariant on a kernel that each start chooses by its speed. So tokens are the same

- of the server "default", of requests that come one after the other, also behind a runner that has taken over the choices of the one
  before. Where they come at once, and are computed again in the midst, sampled ones may fall otherwise (a draw among thousands of
  unlikely tokens turns on a last bit), and the greedy ones, whose best token is clear (gpu_models.py), may not. Such a one repeats its
  prompt's last token, so these alone would hardly show a wrong KV cache: the next server's answers do;
- of the server "drafts", which is batch-invariant, in any company, killed or not, with drafts and without
  ("num_speculative_tokens": 0, its own oracle);
- between the two servers of those greedy requests alone. The same holds for drafts: the draft model's own products may be others,
  though it is the model's file, so of those greedy requests nearly all are right.

The third server, "by chance", accepts and rejects drafts by chance, where nobody gives a seed.
"""
import contextlib
import json
import os
import pathlib
import random
import signal
import sys
import time

import gpu_process
from gpu_server import Failed, at_once, serving

LOAD = pathlib.Path(__file__).resolve().parent / "gpu_load.py"
REQUESTS, TOKENS = 32, 192
KINDS = [{"temperature": 0}, {"temperature": 0, "frequency_penalty": 2, "presence_penalty": 2}, {"temperature": 1},
         {"temperature": 2, "top_k": 50, "top_p": 0.95}]
ALL = range(REQUESTS)
CLEAR = range(0, REQUESTS, len(KINDS))  # the greedy ones without penalties
NEARLY_ALL = 0.75
EARLY, LONG = 16, 768  # tokens of a stream behind which its request is under way, of so many: enough to be so for a while
LOAD_SECONDS = {"cuda": 10, "cpu": 2}
CHOSEN_ANEW = "products are chosen anew"
EXPECTED = {"start": 60, "load": 20, "kill": 45, "else": 15}  # seconds, as in gpu.py
LONGEST_LOAD, LONGEST_RETURN, LONGEST_CAPTURE = 60.0, 120.0, 45.0  # seconds
FIGURES_AGE = 1.2  # seconds; the device's figures are told once a second


def draft_options(model, **fields):
    """All drafts are verified: one as dear as the model would soon draft nothing. Products that keep a row's bits are
    looked for at the start for as many rows as a step may have, of both models: of the 8,192 that it has by itself that takes long."""
    config = {"method": "draft_model", "model": str(model), "num_speculative_tokens": 4, "adaptive": False, **fields}
    return ["--batch-invariant", "--max-num-batched-tokens", "1024", "--speculative-config", json.dumps(config)]


def bodies(salt, **members):
    """Always the same requests, whose prompts are computed anew for each salt: the bytes' tokens, which every vocabulary here has."""
    dice = random.Random(7)
    prompts = [[dice.randrange(1, 257) for _ in range(dice.randrange(8, 200))] for _ in range(REQUESTS)]
    return [{"model": "service", "prompt": prompt, "max_tokens": TOKENS, "ignore_eos": True, "return_token_ids": True, "cache_salt": salt,
             "seed": number, **KINDS[number % len(KINDS)], **members} for number, prompt in enumerate(prompts)]


def equal_share(numbers, expected, found):
    return sum(expected[number] == found[number] for number in numbers) / len(numbers)


def compare(expected, found, needed, numbers=ALL):
    """Of the answers with these numbers such a share must be equal."""
    if (share := equal_share(numbers, expected, found)) < needed:
        which = next(number for number in numbers if expected[number] != found[number])
        place = next(i for i in range(TOKENS) if expected[which][i] != found[which][i])
        raise Failed(f"{share:.0%} of {len(numbers)} answers have the tokens that they had before, of {needed:.0%}: the first that "
                     f"differs, {which}, has {found[which][place]} for {expected[which][place]} as token {place}")


class Trial:
    """What is tried on one server; `figures` are kept."""

    def __init__(self, run, server, figures):
        self.run, self.server, self.figures = run, server, figures
        self.oracle = self.under_way = None

    # ---- answers ----

    def one_by_one(self, salt, **members):
        return [self.server.tokens(body) for body in bodies(salt, **members)]

    def ask_oracle(self, **members):
        self.oracle = self.one_by_one("oracle", **members)

    def known(self):
        if self.oracle is None:
            raise Failed("there are no answers to compare with")
        return self.oracle

    def is_as_of(self, other):
        """Another server's answers, where it gave any."""
        if other and other.oracle:
            self.figures["as_default"] = equal_share(ALL, other.oracle, self.known())
            compare(other.oracle, self.known(), NEARLY_ALL, CLEAR)

    def load(self, clients, name=None, **members):
        seconds = LOAD_SECONDS[self.run.device]
        command = [sys.executable, LOAD, self.server.port, clients, seconds, json.dumps(members)]
        done = gpu_process.run(command, self.run.limit(seconds + LONGEST_LOAD))
        done.check()
        self.figures.setdefault("load", {})[name or str(clients)] = json.loads(done.output[-1])

    # ---- the runner's end ----

    def graphs(self):
        return self.server.metric("troupe_gpu_graphs")

    def count_graphs(self):
        time.sleep(FIGURES_AGE)
        graphs = self.figures["start"]["graphs"] = self.graphs()
        if self.run.device == "cuda" and graphs == 0:
            raise Failed("no decode is captured as a graph")

    def runner(self):
        return self.server.wait_until(self.server.runner, LONGEST_RETURN, "found to have a runner")

    def wait_for_another(self, how, killed_at, killed):
        """Until another runner is there, that computes as the first one chose to, with as many graphs as that had at the start."""
        server, told, graphs = self.server, self.figures.setdefault(how, {}), self.figures["start"].get("graphs", 0)
        back, _ = server.wait_until(lambda: server.said("the model runner is back", killed_at), LONGEST_RETURN, "told of another runner")
        told["back_s"] = back - killed_at
        told["chosen_anew"] = bool(server.said(CHOSEN_ANEW, killed_at))
        told["warnings"] = server.warnings(killed_at)
        if server.runner() in (None, killed):
            raise Failed("no other runner is there, though the log says so")
        if told["chosen_anew"]:
            raise Failed("the other runner has not taken over the choices of the first: products are chosen anew")
        server.wait_until(lambda: self.graphs() >= graphs, LONGEST_CAPTURE, f"seen to have its {graphs:.0f} graphs again")
        told["graphs_s"] = time.monotonic() - killed_at
        server.wait_until(lambda: server.get("/readyz")[0] == 200, LONGEST_RETURN, "ready again")

    def kill_under_way(self):
        """All requests at once; the last one's client kills the runner as soon as it has some tokens."""
        runner, requests, ended, killed_at = self.runner(), bodies("killed", max_tokens=LONG), [], []

        def ask(body, on_event=None):
            tokens = self.server.stream(body, on_event) if on_event else self.server.tokens(body)
            ended.append(time.monotonic())
            return tokens

        def kill(tokens):
            if tokens >= EARLY and not killed_at:
                killed_at.append(time.monotonic())
                os.kill(runner, signal.SIGKILL)

        answers = at_once([*(lambda body=body: ask(body) for body in requests[:-1]), lambda: ask(requests[-1], kill)])
        self.under_way = [tokens[:TOKENS] for tokens in answers]
        self.wait_for_another("killed under way", killed_at[0], runner)
        told = self.figures["killed under way"]
        told["under_way"] = sum(at > killed_at[0] + told["back_s"] for at in ended)
        if told["under_way"] == 0:
            raise Failed("every request had its tokens before the runner was killed")

    def compare_under_way(self, needed, numbers=ALL):
        if self.under_way is None:
            raise Failed("not every request was answered")
        self.figures.setdefault("killed under way", {})["equal"] = equal_share(ALL, self.known(), self.under_way)
        compare(self.known(), self.under_way, needed, numbers)

    def kill_idle(self):
        runner, killed_at = self.runner(), time.monotonic()
        os.kill(runner, signal.SIGKILL)
        self.wait_for_another("killed idle", killed_at, runner)

    def compare_idle(self):
        found = self.one_by_one("killed idle")
        self.figures.setdefault("killed idle", {})["equal"] = equal_share(ALL, self.known(), found)
        compare(self.known(), found, 1)

    # ---- drafts ----

    def accepted(self, ask, drafted="vllm:spec_decode_num_draft_tokens_total", accepted="vllm:spec_decode_num_accepted_tokens_total"):
        """What asking gives, and the share of the tokens drafted for it that were right."""
        before = self.server.metric(drafted), self.server.metric(accepted)
        found = ask()
        count, right = (self.server.metric(name) - earlier for name, earlier in zip((drafted, accepted), before))
        if count == 0:
            raise Failed("nothing was drafted")
        return found, right / count

    def draft(self, salt):
        """With drafts, one after the other and all at once: the tokens that there are without."""
        expected, requests = self.known(), bodies(salt)
        clear, share = self.accepted(lambda: [self.server.tokens(requests[number]) for number in CLEAR])
        others = [number for number in range(REQUESTS) if number not in CLEAR]
        sampled, of_others = self.accepted(lambda: [self.server.tokens(requests[number]) for number in others])
        found = dict(zip([*CLEAR, *others], clear + sampled))  # by their numbers
        self.figures.setdefault("drafts", {})[salt] = {"accepted_greedy": share, "accepted_others": of_others}
        compare(expected, found, 1)
        if share < NEARLY_ALL:
            raise Failed(f"{share:.0%} of the greedy requests' draft tokens were right, of {NEARLY_ALL:.0%}: the draft model is the model")
        compare(expected, at_once([lambda body=body: self.server.tokens(body) for body in bodies(f"{salt}, at once")]), 1)

    def draft_by_chance(self):
        requests = [{name: value for name, value in body.items() if name != "seed"} | {"temperature": 1} for body in bodies("by chance")]
        _, share = self.accepted(lambda: at_once([lambda body=body: self.server.tokens(body) for body in requests]),
                                 "troupe_rejection_sampled_draft_tokens_total", "troupe_rejection_sampled_accepted_tokens_total")
        self.figures["drafts"] = {"by chance": {"accepted_by_chance": share}}
        if share < NEARLY_ALL:
            raise Failed(f"{share:.0%} of the draft tokens were accepted, of {NEARLY_ALL:.0%}: the draft model is the model")


# ---- the servers ----

def start(trial):
    seconds = trial.server.wait_ready()
    memory = [found[1] for pattern in ("^profiling: ", "^KV cache: ", "^draft model .*KV cache") if (found := trial.server.said(pattern))]
    trial.figures["start"] = {"seconds": seconds, "memory": memory, "warnings": trial.server.warnings()}
    return trial


def default_checks(trial):
    yield "answers", trial.ask_oracle, "else"
    yield "1 client", lambda: trial.load(1), "load"
    yield "64 clients", lambda: trial.load(64), "load"
    yield "runner killed under way", trial.kill_under_way, "kill"
    yield "answers that were under way", lambda: trial.compare_under_way(NEARLY_ALL, CLEAR), "else"
    yield "runner killed idle", trial.kill_idle, "kill"
    yield "answers of another runner", trial.compare_idle, "else"


def draft_checks(trial, default):
    yield "answers without drafts", lambda: trial.ask_oracle(num_speculative_tokens=0), "else"
    yield "answers of the server default", lambda: trial.is_as_of(default), "else"
    yield "answers with drafts", lambda: trial.draft("first runner"), "else"
    yield "1 client", lambda: trial.load(1), "load"
    yield "1 client without drafts", lambda: trial.load(1, "1, without drafts", num_speculative_tokens=0), "load"
    yield "runner killed under way", trial.kill_under_way, "kill"
    yield "answers that were under way", lambda: trial.compare_under_way(1), "else"
    yield "runner killed idle", trial.kill_idle, "kill"
    yield "answers of another runner", trial.compare_idle, "else"
    yield "answers with drafts of another runner", lambda: trial.draft("another runner"), "else"


def chance_checks(trial):
    yield "answers with drafts by chance", trial.draft_by_chance, "else"


def try_server(run, name, model, options, checks):
    """Starts a server, makes its checks and ends it. Gives its trial where it has started."""
    figures = run.store.service()[name] = {}
    with contextlib.ExitStack() as ended:
        def begin():
            return start(Trial(run, ended.enter_context(serving(run, name, model, *options)), figures))

        trial = run.attempt(f"server {name}: start", begin, EXPECTED["start"])
        if trial is None:
            return None
        passed = True
        for what, check, kind in (("graphs", trial.count_graphs, "else"), *checks(trial), ("end", trial.server.end, "else")):
            passed &= run.attempt(f"server {name}: {what}", lambda: (trial.server.lives(), check()), EXPECTED[kind]) is not None
        figures["passed"] = passed
    return trial


def measure_service(run, model):
    trials = {}
    for name, options, checks in (("default", [], default_checks),
                                  ("drafts", draft_options(model), lambda trial: draft_checks(trial, trials.get("default"))),
                                  ("by chance", draft_options(model, rejection_sample_method="probabilistic"), chance_checks)):
        if run.store.service().get(name, {}).get("passed"):
            gpu_process.say(f"server {name}: it is there and passed; --fresh tries it again")
        else:
            trials[name] = try_server(run, name, model, options, checks)
    run.store.save()
