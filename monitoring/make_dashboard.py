"""Writes grafana/troupe.json, the dashboard: vLLM's twelve panels first, then a row for each part of the company.

    python3 monitoring/make_dashboard.py > monitoring/grafana/troupe.json
"""
import json

# A service of vLLM's own may serve a model of that name, with metrics of these names.
MODEL = 'job="troupe",model_name="$model_name"'
RATE = "$__rate_interval"
QUANTILES = (0.99, 0.95, 0.9, 0.5)


def rate(name, by=""):
    """The sum of a counter's rates, by a label or over everything."""
    return f"sum{f' by({by})' if by else ''}(rate({name}{{{MODEL}}}[{RATE}]))"


def quantile(q, name, by="le"):
    return f"histogram_quantile({q}, sum by({by})(rate({name}_bucket{{{MODEL}}}[{RATE}])))"


def mean(name, by=""):
    return f"{rate(f'{name}_sum', by)} / {rate(f'{name}_count', by)}"


def or_zero(expression):
    """Zero, not "no data", where the feature is off or has had nothing to do: then a ratio is no number."""
    return f"({expression}) >= 0 or on() vector(0)"


def quantiles(name):
    shown = [(quantile(q, name), f"P{q * 100:g}") for q in QUANTILES]
    return shown + [(mean(name), "Mean")]


def gauge(name, by=""):
    return f"sum{f' by({by})' if by else ''}({name}{{{MODEL}}})"


# title, unit, queries with their legends, and what is told of it
VLLM = [
    ("End-to-end request latency", "s", quantiles("vllm:e2e_request_latency_seconds"),
     "From a request's arrival to its end."),
    ("Token throughput", "short", [(rate("vllm:prompt_tokens_total"), "Prompt tokens/s"),
                                   (rate("vllm:generation_tokens_total"), "Generated tokens/s")],
     "Tokens of prompts that were computed or found, and tokens that were generated."),
    ("Inter-token latency", "s", quantiles("vllm:inter_token_latency_seconds"), "From one token of a request to its next."),
    ("Scheduler state", "short", [(gauge("vllm:num_requests_running"), "Running"),
                                  (gauge("vllm:num_requests_waiting"), "Waiting")], "Requests, by where they are."),
    ("Time to first token", "s", quantiles("vllm:time_to_first_token_seconds"), "From a request's arrival to its first token."),
    ("Cache utilisation", "percentunit", [(f"vllm:kv_cache_usage_perc{{{MODEL}}}", "{{instance}}")],
     "Share of the KV cache that requests hold."),
    ("Prompt length", "heatmap", [(f"sum by(le)(increase(vllm:request_prompt_tokens_bucket{{{MODEL}}}[{RATE}]))", "{{le}}")],
     "Tokens of the prompts."),
    ("Generation length", "heatmap",
     [(f"sum by(le)(increase(vllm:request_generation_tokens_bucket{{{MODEL}}}[{RATE}]))", "{{le}}")], "Tokens of the answers."),
    ("Finish reason", "short",
     [(f"sum by(finished_reason)(increase(vllm:request_success_total{{{MODEL}}}[{RATE}]))", "{{finished_reason}}")],
     "Answers ended, by the reason."),
    ("Queue time", "s", [(quantile(0.99, "vllm:request_queue_time_seconds"), "P99"),
                         (mean("vllm:request_queue_time_seconds"), "Mean")], "From a request's arrival to its first step."),
    ("Prefill and decode time", "s", [(mean("vllm:request_prefill_time_seconds"), "Prefill, mean"),
                                      (mean("vllm:request_decode_time_seconds"), "Decode, mean")],
     "From a request's first step to its first token, and on to its last."),
    ("Max generation tokens", "short", [(mean("vllm:request_max_num_generation_tokens"), "Mean")],
     "Tokens of the longest answer to a request."),
]

HEALTH = [
    ("Live and ready", "short", [(f"troupe_live{{{MODEL}}}", "{{instance}} live"),
                                 (f"troupe_ready{{{MODEL}}}", "{{instance}} ready"),
                                 (f"troupe_degraded{{{MODEL}}}", "{{instance}} degraded")],
          "What /livez and /readyz say."),
    ("Errors", "reqps", [(rate("troupe_request_errors_total", "code"), "{{code}}")],
     "Answers refused or ended by an error, by HTTP status."),
    ("Preemptions and prefix cache", "short",
     [(rate("vllm:num_preemptions_total"), "Preemptions/s"),
      (or_zero(f"{rate('vllm:prefix_cache_hits_total')} / {rate('vllm:prefix_cache_queries_total')}"), "Share of prompt tokens found")],
     "Requests thrown out of the KV cache for others; how much of the prompts it had already."),
    ("Waiting, by reason", "short", [(gauge("vllm:num_requests_waiting_by_reason", "reason"), "{{reason}}")],
     "capacity: for their turn; deferred: for their grammar."),
    ("Spans of traces", "ops", [(rate("troupe_trace_spans_exported_total"), "taken"),
                                (rate("troupe_trace_spans_dropped_total", "reason"), "lost: {{reason}}")],
     "What the collector of traces has taken, and what was lost."),
]

ACTORS = [
    ("Messages", "ops", [(rate("troupe_actor_message_seconds_count", "actor"), "{{actor}}")], "Messages handled, by actor."),
    ("Time per message, P99", "s",
     [(f"{quantile(0.99, 'troupe_actor_message_seconds', 'le, actor')} >= 0", "{{actor}}")], "Actors that had messages."),
    ("Mailboxes", "short", [(gauge("troupe_actor_mailbox_size", "actor"), "{{actor}}")],
     "Messages behind the one that an actor handles."),
    ("Restarts", "short", [(f"sum by(actor)(increase(troupe_actor_restarts_total{{{MODEL}}}[{RATE}]))", "{{actor}}")],
     "Actors restarted by the supervisor."),
    ("Step time by phase, mean", "s", [(f"{mean('troupe_step_seconds', 'phase')} >= 0", "{{phase}}")],
     "What the time of a step goes into."),
    ("Age of the last step", "s", [(f"troupe_last_step_age_seconds{{{MODEL}}}", "{{instance}}")],
     "How long requests that could run have waited for a step to end."),
]

BUCKETS = [
    ("Executions by bucket", "ops", [(or_zero(f"topk(10, {rate('troupe_bucket_executions_total', 'bucket')})"), "{{bucket}}")],
     "Steps, or parts of steps, by the bucket they ran in; the ten most used."),
    ("Padding", "short", [(rate("troupe_bucket_padding_tokens_total"), "Rows of padding/s"),
                          (rate("vllm:iteration_tokens_total_sum"), "Rows of tokens/s")],
     "Rows computed only to fill a bucket, beside the others."),
    ("Beyond every bucket", "ops", [(rate("troupe_bucket_fallbacks_total"), "Steps/s")],
     "Steps, or parts of steps, that no bucket was large enough for."),
]

GRAMMARS = [
    ("Compile time", "s", [(or_zero(quantile(q, "troupe_grammar_compile_seconds")), f"P{q * 100:g}") for q in (0.99, 0.5)],
     "Time to compile a grammar, or to refuse it."),
    ("Mask time", "s", [(or_zero(quantile(q, "troupe_grammar_mask_seconds")), f"P{q * 100:g}") for q in (0.99, 0.5)],
     "Time to fill the mask of one request for one step."),
    ("Cache", "percentunit",
     [(or_zero(f"{rate('troupe_grammar_cache_hits_total')} / {rate('troupe_grammar_cache_queries_total')}"), "Share known already")],
     "Requests whose grammar was compiled when they came."),
    ("Refused and forced", "ops", [(rate("troupe_grammars_refused_total"), "Grammars refused/s"),
                                   (rate("troupe_grammar_masks_refused_total"), "Requests ended by a mask/s"),
                                   (rate("troupe_grammar_forced_tokens_total"), "Tokens without a step/s"),
                                   (rate("troupe_grammar_refused_draft_tokens_total"), "Drafted tokens refused/s"),
                                   (rate("troupe_grammar_withheld_rows_total"), "Rows withheld/s")],
     "Grammars beyond the limits; requests whose next mask was; tokens that a grammar left no choice about; drafted ones that it does not have; rows computed "
     "once more, because their masks took more work than others wait for."),
]

DRAFTS = [
    ("Acceptance", "percentunit",
     [(or_zero(f"{rate('vllm:spec_decode_num_accepted_tokens_total')} / {rate('vllm:spec_decode_num_draft_tokens_total')}"),
       "Share accepted")], "Draft tokens that were right."),
    ("Tokens per draft", "short",
     [(or_zero(f"{rate('vllm:spec_decode_num_accepted_tokens_total')} / {rate('vllm:spec_decode_num_drafts_total')}"), "Accepted"),
      (or_zero(f"{rate('vllm:spec_decode_num_draft_tokens_total')} / {rate('vllm:spec_decode_num_drafts_total')}"), "Drafted")],
     "How long drafts are, and how much of them is right."),
    ("Accepted, by position", "ops",
     [(or_zero(rate("vllm:spec_decode_num_accepted_tokens_per_pos_total", "position")), "{{position}}")],
     "Draft tokens that were right, by their places in their drafts."),
    ("Acceptance, by position", "percentunit",
     [(or_zero(f"{rate('vllm:spec_decode_num_accepted_tokens_per_pos_total', 'position')}"
               f" / {rate('troupe_draft_tokens_per_pos_total', 'position')}"), "{{position}}")],
     "Of the drafts verified that are so long, the share that was right up to that place."),
    ("Drafter's memory", "bytes", [(f"troupe_drafter_bytes{{{MODEL}}}", "{{instance}}")], "What the drafter remembers."),
    ("Requests forgotten by the drafter", "ops", [(rate("troupe_drafter_forgotten_requests_total"), "Forgotten/s")],
     "Requests that run on without drafts, since the drafter's memory was full."),
]

def of_service(series):
    """What has no model's name, of the instances that serve the model."""
    return f"{series} and on(job, instance) troupe_live{{{MODEL}}}"


PROCESSES = [
    ("Memory", "bytes", [(of_service("process_resident_memory_bytes"), "{{instance}} service"),
                         (f"troupe_runner_resident_memory_bytes{{{MODEL}}}", "{{instance}} runner")],
     "Memory in use; the runner's with the weights, 0 where it has no process of its own."),
    ("Processor time", "short", [(of_service(f"rate(process_cpu_seconds_total[{RATE}])"), "{{instance}} service"),
                                 (f"rate(troupe_runner_cpu_seconds_total{{{MODEL}}}[{RATE}])", "{{instance}} runner")],
     "Cores in use."),
    ("Descriptors", "short", [(of_service("process_open_fds"), "{{instance}} open"),
                              (of_service("process_max_fds"), "{{instance}} at most")],
     "Files and connections that the service has open."),
]

GPU = [
    ("Memory", "bytes", [(f"troupe_gpu_memory_used_bytes{{{MODEL}}}", "{{instance}} used"),
                         (f"troupe_gpu_memory_total_bytes{{{MODEL}}}", "{{instance}} in all")],
     "Memory of the GPU, whoever has it; 0 where the model runs on the CPU."),
    ("Power", "watt", [(f"troupe_gpu_power_watts{{{MODEL}}}", "{{instance}}")], "Power that the GPU draws."),
    ("Temperature", "celsius", [(f"troupe_gpu_temperature_celsius{{{MODEL}}}", "{{instance}}")], "Temperature of the GPU."),
    ("Graphs", "short", [(f"troupe_gpu_graphs{{{MODEL}}}", "{{instance}}")], "Decode steps of a size that run as one CUDA graph."),
    ("Eager steps", "ops", [(f"rate(troupe_gpu_eager_decode_steps_total{{{MODEL}}}[{RATE}])", "{{instance}} decodes"),
                            (f"rate(troupe_gpu_eager_steps_total{{{MODEL}}}[{RATE}])", "{{instance}} in all")],
     "Steps that run launch by launch, and of these the decodes, which graphs are for."),
]

ROWS = [("Service", VLLM), ("Health", HEALTH), ("Actors", ACTORS), ("Buckets", BUCKETS), ("Grammars", GRAMMARS), ("Drafts", DRAFTS), ("Processes", PROCESSES), ("GPU", GPU)]
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panel(number, place, title, unit, queries, told):
    kind = "heatmap" if unit == "heatmap" else "timeseries"
    targets = [{"refId": chr(ord("A") + i), "datasource": DATASOURCE, "expr": expression, "legendFormat": legend,
                "format": "heatmap" if kind == "heatmap" else "time_series", "range": True}
               for i, (expression, legend) in enumerate(queries)]
    made = {"id": number, "type": kind, "title": title, "description": told, "datasource": DATASOURCE, "gridPos": place,
            "targets": targets}
    if kind == "heatmap":
        made["options"] = {"calculate": False, "yAxis": {"unit": "short"}, "color": {"mode": "scheme", "scheme": "Blues"}}
    else:
        made["fieldConfig"] = {"defaults": {"unit": unit, "min": 0, "custom": {"lineWidth": 1, "fillOpacity": 8}}, "overrides": []}
        made["options"] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    return made


def variable(name, label, **rest):
    return {"name": name, "label": label, "current": {}, "hide": 0, **rest}


def dashboard():
    width, height, columns = 8, 7, 3
    panels, top = [], 0
    for row, shown in ROWS:
        panels.append({"id": len(panels) + 1, "type": "row", "title": row, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": top, "w": 24, "h": 1}})
        top += 1
        for i, (title, unit, queries, told) in enumerate(shown):
            place = {"x": i % columns * width, "y": top + i // columns * height, "w": width, "h": height}
            panels.append(panel(len(panels) + 1, place, title, unit, queries, told))
        top += -(-len(shown) // columns) * height
    return {
        "uid": "troupe", "title": "troupe", "tags": ["troupe", "vllm"], "schemaVersion": 39, "version": 1, "editable": True,
        "refresh": "10s", "time": {"from": "now-15m", "to": "now"}, "timezone": "browser", "graphTooltip": 1,
        "templating": {"list": [
            variable("datasource", "Data source", type="datasource", query="prometheus"),
            variable("model_name", "Model", type="query", datasource=DATASOURCE, refresh=2, sort=1,
                     definition="label_values(troupe_ready, model_name)",
                     query={"query": "label_values(troupe_ready, model_name)", "refId": "models"})]},
        "panels": panels,
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
