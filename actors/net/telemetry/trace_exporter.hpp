// Sends the traces of requests to a collector, by OTLP over HTTP in JSON.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/net/telemetry/request_observer.hpp"
#include "runtime/telemetry/otlp_json.hpp"
#include "runtime/telemetry/trace_context.hpp"

namespace troupe::net {

struct trace_options {
  std::string host;  // of the collector
  std::string port;
  std::string path = "/v1/traces";
  trace_resource resource;
  trace_sampling sampling;
  std::size_t max_waiting_spans = 2048;
  std::size_t max_batch_spans = 512;              // so many are sent at once ...
  std::chrono::milliseconds max_delay{1'000};     // ... and what there is after so long
  std::chrono::milliseconds timeout{10'000};      // for a batch, from connecting to the answer
  std::chrono::milliseconds last_timeout{1'000};  // for all that is left when the exporter closes
};

// What becomes of spans. Lost are those that found too many waiting; that the collector refused; that it
// could not be given in time.
enum class span_fate { exported, queue_full, rejected, unreachable };
using span_counter = std::function<void(span_fate, std::uint64_t spans)>;  // called from any thread

// Has a thread of its own and waits for the collector there; nobody waits for it. A batch that is not taken
// is not sent again.
class trace_exporter final : public request_observer {
 public:
  trace_exporter(trace_options options, span_counter count);
  ~trace_exporter() override;  // close()
  trace_exporter(const trace_exporter&) = delete;
  trace_exporter& operator=(const trace_exporter&) = delete;

  void ended(const request_report& report) override;
  // Sends what is left, in last_timeout at most, and joins the thread. Twice is once.
  void close();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::net
