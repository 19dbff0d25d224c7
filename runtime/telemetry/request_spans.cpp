#include "runtime/telemetry/request_spans.hpp"

#include <algorithm>

namespace troupe {
namespace {

struct phase {
  std::string_view name;
  steady_time begin;
  steady_time end;
  bool within_last = false;  // below the phase before it, not beside it
};

// A request that ends in the midst of a phase has its first part. Of one that was given up the first step may
// not be known, though it had tokens.
std::vector<phase> phases_of(const request_report& report) {
  const request_times& times = report.times;
  std::vector<phase> all;
  if (times.arrival == steady_time{}) return all;
  if (times.scheduled || !times.first_token)
    all.push_back({"queue", times.arrival, times.scheduled.value_or(report.ended)});
  if (report.grammar_wait.count() > 0)
    all.push_back({"grammar", times.arrival, times.arrival + report.grammar_wait, !all.empty()});
  if (times.scheduled) {
    const steady_time prefilled = times.first_token.value_or(report.ended);
    all.push_back({"prefill", std::min(*times.scheduled, prefilled), prefilled});
  }
  if (times.first_token)
    all.push_back({"decode", *times.first_token, times.last_token.value_or(report.ended)});
  return all;
}

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void add_request(const request_report& report, span_attributes& out) {
  if (!report.model.empty()) {
    out.emplace_back("gen_ai.request.model", report.model);
    out.emplace_back("gen_ai.response.model", report.model);
  }
  if (!report.id.empty()) {
    out.emplace_back("gen_ai.request.id", report.id);
    out.emplace_back("gen_ai.response.id", report.id);
  }
  if (!report.route.empty()) out.emplace_back("http.route", report.route);
  if (!report.wishes) return;
  const request_wishes& wishes = *report.wishes;
  out.emplace_back("gen_ai.operation.name", std::string(wishes.chat ? "chat" : "text_completion"));
  out.emplace_back("gen_ai.request.n", std::int64_t{wishes.choices});
  out.emplace_back("gen_ai.request.choice.count", std::int64_t{wishes.choices});
  if (wishes.max_tokens) out.emplace_back("gen_ai.request.max_tokens", std::int64_t{*wishes.max_tokens});
  out.emplace_back("gen_ai.request.temperature", double{wishes.temperature});
  out.emplace_back("gen_ai.request.top_p", double{wishes.top_p});
}

void add_answer(const request_report& report, span_attributes& out) {
  if (report.reasons.empty()) return;
  std::vector<std::string> reasons;
  for (const finish_reason reason : report.reasons) reasons.emplace_back(to_string(reason));
  out.emplace_back("gen_ai.response.finish_reasons", std::move(reasons));
  const usage& tokens = report.tokens;
  out.emplace_back("gen_ai.usage.input_tokens", std::int64_t{tokens.prompt_tokens});
  out.emplace_back("gen_ai.usage.output_tokens", std::int64_t{tokens.completion_tokens});
  out.emplace_back("gen_ai.usage.cache_read.input_tokens", std::int64_t{tokens.cached_tokens});
  out.emplace_back("gen_ai.usage.prompt_tokens", std::int64_t{tokens.prompt_tokens});
  out.emplace_back("gen_ai.usage.completion_tokens", std::int64_t{tokens.completion_tokens});
  out.emplace_back("gen_ai.usage.num_sequences", static_cast<std::int64_t>(report.reasons.size()));
  out.emplace_back("troupe.preemptions", std::int64_t{report.preemptions});
  out.emplace_back("troupe.accepted_drafts", std::int64_t{report.accepted_drafts});
}

void add_latencies(const request_report& report, span_attributes& out) {
  const request_durations spent = durations_of(report);
  if (spent.queue) out.emplace_back("gen_ai.latency.time_in_queue", seconds(*spent.queue));
  if (spent.first_token) out.emplace_back("gen_ai.latency.time_to_first_token", seconds(*spent.first_token));
  if (spent.prefill) out.emplace_back("gen_ai.latency.time_in_model_prefill", seconds(*spent.prefill));
  if (spent.decode) out.emplace_back("gen_ai.latency.time_in_model_decode", seconds(*spent.decode));
  if (spent.prefill && spent.decode)
    out.emplace_back("gen_ai.latency.time_in_model_inference", seconds(*spent.prefill + *spent.decode));
  out.emplace_back("gen_ai.latency.e2e", seconds(spent.total));
}

void add_failure(const request_report& report, span_attributes& out) {
  if (!report.failure) return;
  out.emplace_back("error.type", report.failure->code);
  out.emplace_back("http.response.status_code", std::int64_t{report.failure->status});
}

// A client's own mistake is no error of the server's span.
bool is_error(const request_report& report) {
  return report.failure ? report.failure->status >= 500 : has_failed(report);
}

span_id draw_span_id(const random_bits& random) {
  span_id id{};
  while (id == span_id{}) {
    std::uint64_t bits = random();
    for (std::uint8_t& byte : id) {
      byte = static_cast<std::uint8_t>(bits);
      bits >>= 8U;
    }
  }
  return id;
}

}  // namespace

trace_id draw_trace_id(const random_bits& random) {
  trace_id id{};
  const span_id high = draw_span_id(random);
  const span_id low = draw_span_id(random);
  std::copy(low.begin(), low.end(), std::copy(high.begin(), high.end(), id.begin()));
  return id;
}

std::size_t count_spans(const request_report& report) { return 1 + phases_of(report).size(); }

trace_spans spans_of(const request_report& report, const trace_id& trace, std::chrono::nanoseconds unix_epoch,
                     const random_bits& random) {
  const auto unix_time = [unix_epoch](steady_time moment) {
    return (std::chrono::nanoseconds(moment.time_since_epoch()) + unix_epoch).count();
  };
  trace_spans all{trace, report.caller ? report.caller->state : std::string(), {}};
  trace_span whole{"llm_request", span_kind::server, draw_span_id(random)};
  if (report.caller) whole.parent = report.caller->parent;
  whole.begin = unix_time(report.received);
  whole.end = unix_time(report.ended);
  add_request(report, whole.attributes);
  add_answer(report, whole.attributes);
  add_latencies(report, whole.attributes);
  add_failure(report, whole.attributes);
  whole.failed = is_error(report);
  all.spans.push_back(std::move(whole));
  for (const phase& each : phases_of(report)) {
    trace_span span{each.name, span_kind::internal, draw_span_id(random)};
    span.parent = each.within_last ? all.spans.back().id : all.spans.front().id;
    span.begin = unix_time(each.begin);
    span.end = unix_time(each.end);
    all.spans.push_back(std::move(span));
  }
  return all;
}

}  // namespace troupe
