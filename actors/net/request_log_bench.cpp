// What the end of a request costs the thread that all clients of a gateway share.
#include <benchmark/benchmark.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "actors/net/request_log.hpp"
#include "actors/net/request_tracker.hpp"
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

}  // namespace
}  // namespace troupe::net

BENCHMARK_MAIN();
