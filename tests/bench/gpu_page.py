"""The page of Markdown that tests/bench/gpu.py makes of DIR/gpu.json (gpu_store.py), for docs/benchmarks.md."""
import statistics

BATCHES = ["1", "8", "64"]
WAYS = ["eager", "graph", "compiled"]  # of torch, from what is had soonest to what takes longest
KILLS = ["killed under way", "killed idle"]  # of a runner of the service
OUR_WAYS = ["graph", "eager", "batch_invariant"]
# Keys of the kernels that torch has as well, by troupe's names.
KERNELS = ["paged_attention, decode, bf16 KV, 32 x 4096 tokens, 32 heads of 128, 8 KV heads", "residual_norm", "silu_multiply"]
KERNELS += [f"sample_tokens, {how}, 64 x {vocab}" for vocab in (49_152, 151_936)
            for how in ("greedy", "all tokens", "top-p 0.95", "top-k 50, top-p 0.95")]
KERNEL_KEYS = [f"{way} {kernel}" for way in ("eager", "compiled") for kernel in KERNELS]


def median(values):
    known = [each for each in values if each is not None]
    return statistics.median(known) if known else None


def cell(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def percent(share, digits=0):
    return cell(None if share is None else 100 * share, digits)


def of_way(step, way, figure="us"):
    """None where the self-test has not timed this way of a step, as where no kernel is batch-invariant."""
    return (step[way] or {}).get(figure)


def step_rows(steps):
    for name, sides in steps.items():
        for index, batch in enumerate(BATCHES):
            ours = [each[index] for each in sides["troupe"] if index < len(each)]
            if not ours:
                continue
            graph, eager, invariant = (median([of_way(each, way) for each in ours]) for way in OUR_WAYS)
            idle, share = median([of_way(each, "graph", "idle_share") for each in ours]), median([each["share_of_copy_bandwidth"] for each in ours])
            theirs = [cell(median([each.get("us") for each in sides["torch"].get(f"{way} {batch}", [])])) for way in WAYS]
            yield (f"| {name} | {batch} | {ours[0]['context']} | {cell(graph)} | {cell(eager)} | {cell(invariant)} | {percent(idle, 1)} | {percent(share)} | "
                   + " | ".join(theirs) + " |")


def kernel_rows(test, others):
    def other(way, each):
        found = others.get(f"{way} {each['kernel']}") or others.get(f"{way} {each['kernel']}, {each['shape']}") or {}
        return cell(found.get("us"), 1)

    for each in test.get("timings", []):
        if each["kernel"].startswith(("product", "quantised product", "fp8 product")):
            continue
        yield (f"| {each['kernel']} | {each['shape']} | {cell(each['us'], 1)} | {percent(each['share_of_copy_bandwidth'])} | "
               f"{percent(each.get('share_of_arithmetic'))} | "
               f"{other('eager', each)} | {other('compiled', each)} |")


def product_rows(tests):
    for name, test in tests.items():
        for each in test.get("timings", []):
            if each["kernel"].startswith("product"):
                best = each.get("best_us")
                yield (f"| {name}, {each['kernel'][9:]} | {each['shape']} | {cell(each['us'], 1)} | {cell(best, 1)} | "
                       f"{cell(each.get('batch_invariant_us'), 1)} | "
                       f"{cell(best and each['us'] / best, 2)} | {percent(each['share_of_copy_bandwidth'])} | "
                       f"{percent(each.get('share_of_arithmetic'))} |")


def quantised_rows(tests):
    for name, test in tests.items():
        for each in test.get("timings", []):
            if each["kernel"].startswith(("quantised product", "fp8 product")):
                yield (f"| {name}, {each['kernel'].partition(', ')[2]} | {each['shape']} | {cell(each['us'], 1)} | {cell(each.get('batch_invariant_us'), 1)} | "
                       f"{percent(each['share_of_copy_bandwidth'])} | {percent(each['share_of_arithmetic'])} |")


def load_rows(servers):
    for name, tried in servers.items():
        for clients, each in tried.get("load", {}).items():
            yield (f"| {name} | {clients} | {cell(each['tokens_per_s'])} | {cell(each['first_token_ms'], 2)} | {cell(each['token_ms'], 3)} |")


def start_rows(servers):
    for name, tried in servers.items():
        if begun := tried.get("start"):
            yield f"| {name} | started | {cell(begun['seconds'], 2)} | {cell(begun.get('graphs'))} | - | - | - |"
        for how in KILLS:
            if killed := tried.get(how):
                anew = {True: "yes", False: "no"}.get(killed.get("chosen_anew"), "-")
                yield (f"| {name} | {how} | {cell(killed.get('back_s'), 2)} | {cell(killed.get('graphs_s'), 2)} s | {anew} | "
                       f"{cell(killed.get('under_way'))} | {percent(killed.get('equal'))} |")


def service_notes(servers):
    for name, tried in servers.items():
        begun = tried.get("start", {"memory": [], "warnings": []})
        yield from (f"- {name}: {text}" for text in begun["memory"] + begun["warnings"])
        for how in KILLS:
            of_device = [text for text in tried.get(how, {}).get("warnings", []) if text.startswith("CUDA: ") or "KV cache" in text]
            yield from (f"- {name}, {how}: {text}" for text in of_device)
        if "as_default" in tried:
            yield f"- {name}: {percent(tried['as_default'])} % of the answers without drafts have the tokens of the server default."
        for salt, shares in tried.get("drafts", {}).items():
            told = ", ".join(f"{percent(share, 1)} % {kind.replace('_', ' ')}" for kind, share in shares.items())
            yield f"- {name}, draft tokens of {salt}: {told}."


def service_tables(servers):
    if rows := list(load_rows(servers)):
        yield from ["The service, `troupe serve` with smollm-135m: prompts and answers of 128 tokens, clients at once.", "",
                    "| server | clients | output tokens/s | first token, ms | each further, ms |", "|---|---|---|---|---|", *rows, ""]
    if rows := list(start_rows(servers)):
        yield from ["Its starts, and other runners behind killed ones; of requests that waited for these and of all that were asked then.", "",
                    "| server | runner | there after s | graphs, or again after | products chosen anew | waited | same tokens % |",
                    "|---|---|---|---|---|---|---|", *rows, ""]
    if notes := list(service_notes(servers)):
        yield from [*notes, ""]


def torch_failures(data):
    """What torch itself could not do: no measurement of ours is missing for it."""
    for name, sides in data.get("steps", {}).items():
        for key, results in sides["torch"].items():
            yield from (f"- torch, {name}, {key}: {why}" for why in sorted({each["failed"] for each in results if "failed" in each}))
    for key, result in data.get("torch_kernels", {}).items():
        if "failed" in result:
            yield f"- torch, {key}: {result['failed']}"


def tables(data):
    tests = data.get("self_tests", {})
    rows = list(step_rows(data.get("steps", {})))
    if rows:
        yield from ["Decode steps, from one to the next, each asked for before the host has the tokens of the one before; bandwidth: weights and contexts read once, as a share of a copy.", "",
                    "| model | sequences | context | troupe, graph | eager | batch-invariant | device idle % | bandwidth % | torch eager | torch as a graph | torch.compile |",
                    "|---|---|---|---|---|---|---|---|---|---|---|", *rows, ""]
    first = next((test for test in tests.values() if test.get("timings")), None)
    if first:
        yield from ["Kernels, launch costs not counted.", "",
                    "| kernel | shape | us | bandwidth % | arithmetic % | torch eager | torch.compile |", "|---|---|---|---|---|---|---|",
                    *kernel_rows(first, data.get("torch_kernels", {})), "",
                    "Products with cold weights, beside the fastest of all that cuBLASLt has.", "",
                    "| product | rows x outputs x inputs | us | best us | batch-invariant us | ratio | bandwidth % | arithmetic % |",
                    "|---|---|---|---|---|---|---|---|",
                    *product_rows(tests), ""]
    rows = list(quantised_rows(tests))
    if rows:
        yield from ["Products with weights that are quantised or fp8, cold as well; bandwidth: codes and rows moved once.", "",
                    "| product | rows x outputs x inputs | us | batch-invariant us | bandwidth % | arithmetic % |", "|---|---|---|---|---|---|",
                    *rows, ""]
    yield from service_tables(data.get("service", {}))


def markdown(data):
    machine = data.get("machine", {})
    lines = [f"## On a GPU: {machine.get('device', 'no device was found')}", ""]
    if machine:
        torch = f"; torch {data['torch']['version']}" if "torch" in data else ""
        lines += [f"Driver {machine['driver']}, {machine['memory']}, compute capability {machine['compute_capability']}{torch}. "
                  "`tests/bench/gpu.py`: made-up weights of the models' shapes, bf16 (-q4: 4 bits, the head 8; -fp8: the layers' e4m3); "
                  "medians, microseconds.", ""]
    for name, test in data.get("self_tests", {}).items():
        wrong = [each["kernel"] for each in test.get("kernels", []) if not each["passed"]]
        lines += [f"Self-test, {name}: {'passed' if test['passed'] else 'FAILED'}; {len(test.get('kernels', []))} comparisons of kernels, "
                  f"{('wrong: ' + '; '.join(wrong)) if wrong else 'all right'}; log-probabilities {cell(test['logprobs_mean_difference'], 4)} apart on average. "
                  f"A copy moves {cell(test['copy_gb_per_s'])} GB/s, a large product computes {cell(test['product_tflop_per_s'])} TFLOP/s.", ""]
    lines += tables(data)
    lines += [f"- {name}: {why}" for of_part in data.get("problems", {}).values() for name, why in of_part.items()]
    lines += torch_failures(data)
    return "\n".join(lines) + "\n"
