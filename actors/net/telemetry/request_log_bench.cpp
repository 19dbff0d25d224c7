// What the end of a request costs the thread that all clients of a gateway share, and what its spans cost the
// exporter's.
#include <benchmark/benchmark.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "actors/net/telemetry/request_log.hpp"
#include "actors/net/telemetry/request_tracker.hpp"
#include "actors/net/telemetry/trace_exporter.hpp"
#include "runtime/telemetry/report_text.hpp"

namespace troupe::net {
namespace {

request_report answered() {
  request_report report;
  report.id = "chatcmpl-0123456789abcdef0123456789abcdef";
  report.number = 12;
  report.gateway = "http";
  report.route = "/v1/chat/completions";
  report.model = "SmolLM2-135M-Instruct";
  report.wishes.emplace();
  report.reasons = {finish_reason::stop};
  report.tokens = {31, 12, 16};
  const steady_time begin{std::chrono::seconds(1)};
  using std::chrono::milliseconds;
  report.received = begin;
  report.times = {begin + milliseconds(1), begin + milliseconds(2), begin + milliseconds(35),
                  begin + milliseconds(110)};
  report.ended = begin + milliseconds(120);
  return report;
}

void json_text(benchmark::State& state) {
  const request_report report = answered();
  for (auto _ : state) benchmark::DoNotOptimize(report_json(report));
}
BENCHMARK(json_text);

void log_line(benchmark::State& state) {
  const spdlog::logger target("target", std::make_shared<spdlog::sinks::basic_file_sink_mt>("/dev/null"));
  request_log log(target, line_form::json, logged_requests::all);
  const request_report report = answered();
  for (auto _ : state) log.ended(report);
}
BENCHMARK(log_line);

// A request of 100 steps, from its beginning to its line.
void track_request(benchmark::State& state) {
  request_observers observers;
  if (state.range(0) != 0)
    observers.push_back(std::make_shared<request_log>(
        spdlog::logger("target", std::make_shared<spdlog::sinks::basic_file_sink_mt>("/dev/null")),
        line_form::json, logged_requests::all));
  stream_event step;
  step.tokens = {1};
  stream_event last;
  last.end.emplace();
  for (auto _ : state) {
    request_tracker tracker(observers, answered());
    for (int i = 0; i < 100; ++i) tracker.add(0, step);
    tracker.add(0, last);
  }
}
BENCHMARK(track_request)->ArgName("logged")->Arg(0)->Arg(1);

// What a trace costs there: it is put into the exporter's queue.
void queue_trace(benchmark::State& state) {
  trace_options options;
  options.host = "127.0.0.1";
  options.port = "1";
  options.max_waiting_spans = options.max_batch_spans = std::size_t{1} << 40U;
  options.max_delay = std::chrono::hours(1);
  options.last_timeout = std::chrono::milliseconds(0);
  trace_exporter exporter(options, [](span_fate, std::uint64_t) {});
  const request_report report = answered();
  for (auto _ : state) exporter.ended(report);
}
BENCHMARK(queue_trace)->Iterations(50'000);

void span_text(benchmark::State& state) {
  const request_report report = answered();
  std::uint64_t last = 1;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        otlp_json({spans_of(report, trace_id{1}, std::chrono::nanoseconds(0), [&] { return last++; })}, {}));
}
BENCHMARK(span_text);

}  // namespace
}  // namespace troupe::net

BENCHMARK_MAIN();
