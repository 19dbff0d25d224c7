// The company as one object: loads a model, starts the actors, opens the gateways, ends it all again.
// The way to embed the service; `troupe serve`, `run` and `chat` are made of it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/company_board.hpp"
#include "actors/company_limits.hpp"
#include "actors/drain_outcome.hpp"
#include "actors/grammars/grammar_options.hpp"
#include "actors/net/admin/company_report.hpp"
#include "actors/net/engine_port.hpp"
#include "actors/net/telemetry/trace_exporter.hpp"
#include "actors/start/engine_options.hpp"
#include "actors/start/loaded_engine.hpp"
#include "runtime/drafting/drafter.hpp"
#include "runtime/executor/warm_up/warm_up_course.hpp"
#include "runtime/result.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace caf {
class actor_system;
}

namespace troupe {
namespace metrics {
class engine_metrics;
}
namespace net {
struct http_options;
struct tcp_options;
}  // namespace net

// By themselves the plainest there are; with the service's defaults: to_company_options() of its settings
// (main/setup/company_options.hpp).
struct company_options {
  engine_options engine;                // the model file, and how large a step and the cache may be
  std::optional<loaded_engine> loaded;  // in place of the file

  std::string served_model_name;            // empty: the engine's name
  std::vector<std::string> served_aliases;  // its other names, which requests may give too
  std::string version;                      // of the program, for metrics
  std::string cpu;                          // its name, for metrics
  // Of make_company_metrics(), for whoever asked for them before there was a company; null: of its own.
  std::shared_ptr<metrics::engine_metrics> metrics;
  scheduler_limits scheduling;  // its policy and its queue; what a step and the cache hold is the engine's
  std::int32_t max_logprobs = 20;
  std::chrono::nanoseconds request_timeout{0};  // from arrival; 0: none
  std::chrono::nanoseconds queue_timeout{0};    // until its first step; 0: none
  bool allow_auto_truncate = false;             // a prompt that is too long is cut at its front, else refused
  std::chrono::nanoseconds step_deadline = std::chrono::seconds{120};  // a step longer than this: not live

  warm_up_mode warm_up = warm_up_mode::lazy;

  grammar_options grammars;

  std::optional<drafter_options> drafts;  // how drafts are made; unset: there are none

  std::optional<net::trace_options> traces;  // where traces of requests are sent; unset: nowhere

  std::int32_t tokenizer_workers = 2;
  // Where the actors live: a system of the embedding program's, which must outlive the company, or its own.
  caf::actor_system* system = nullptr;
  std::int32_t actor_threads = 2;
  std::string actor_policy = "sharing";
};

// After each item of the way to readiness: done, of how many, which ("Decode batch:4 query:1 blocks:128").
using progress_callback = std::function<void(const warm_up_progress&)>;

// All calls from one thread at a time, except where a comment says otherwise, and none from an actor that
// shares its thread with others: they wait for actors. (Where the company is to be an actor's own, spawn that
// with caf::detached.)
class company {
 public:
  // Loads and starts. Warming up goes on behind; the gateways may open meanwhile (they report not ready).
  // Errors: those of load_engine; invalid_argument; unsupported in a process that was started as a runner;
  // internal where the supervisor ends at once.
  static result<std::unique_ptr<company>> start(company_options options);
  ~company();  // stop()
  company(const company&) = delete;
  company& operator=(const company&) = delete;

  // Waits until the warm-up is done; `progress` is called on this thread, once per item.
  // Errors: unavailable, naming the actor that failed; or that the wait was interrupted.
  result<void> wait_ready(const progress_callback& progress = {});
  // wait_ready() returns at once. Any thread.
  void interrupt_wait();
  // The same, and the grace of a drain is over, also of one that is to come. Any thread.
  void interrupt();

  // Opens a gateway; gives the port it listens on. Errors: those of the listening socket; unavailable after
  // stop().
  result<std::uint16_t> serve_http(net::http_options options);
  result<std::uint16_t> serve_tcp(const net::tcp_options& options);

  // The engine as the embedding program uses it. Any thread; it may be kept for longer than this object.
  // After stop() all is refused with `unavailable`.
  std::shared_ptr<net::engine_port> port() const;
  // Any thread.
  net::engine_status status() const;
  // The name of the actor whose end brought the company down; nothing while all is well. Any thread.
  std::optional<std::string> failure() const;
  // `callback` runs once, on any thread, when the company has failed (an actor that is started anew is no
  // failure); at once where that has happened already. Of several each is called, in the order in which they
  // were given; what one throws is its own affair. It must not call stop(), which waits for whoever calls it:
  // another thread has to. Any thread.
  void on_failure(std::function<void(const std::string& actor)> callback);

  // Goes on by these limits, or, where one of them cannot be had, by those that it has. `reply` is called
  // once, on any thread, when everybody has been told. Requests go on. Any thread. Errors: invalid_argument,
  // naming the limit and its range (check_limits()); unavailable where the company is about to end.
  void reload(company_limits limits, std::function<void(result<void>)> reply);
  // For the metrics: whether the last reload of the settings was taken. Any thread.
  void note_reload(bool taken);
  // Who fills which role, and how they are, asked of the supervisor; `reply` is called once, on any thread.
  // Any thread. Errors: unavailable, where there is no supervisor any more.
  void describe(std::function<void(result<net::company_report>)> reply) const;

  // What is open at the moment, asked of the actors themselves. For tests and idle checks.
  struct counts {
    std::uint64_t client_streams = 0;     // at all gateways
    std::uint64_t tokenizer_streams = 0;  // at all tokenizers
    std::int32_t running = 0;
    std::int32_t waiting = 0;
    std::int32_t free_blocks = 0;
    std::int32_t blocks = 0;
    bool blocks_consistent = true;
  };
  // Errors: unavailable, after stop() or where an actor has ended.
  result<counts> count() const;

  // Refuses new requests with `unavailable`, lets running ones finish within the
  // grace, ends the rest with `abort`, and with `unavailable` where nothing of the answer is there yet or an
  // actor does not react.
  drain_outcome drain(std::chrono::nanoseconds grace);
  // Of that, where its outcome is that requests were cut off: how many, as far as is known.
  std::uint64_t requests_cut() const;
  // Every stream that is open ends with `unavailable`, now and whatever has become of the actors. Any thread.
  void end_streams();
  // Ends every actor and joins every thread. What is still open ends with `unavailable`. Twice is once.
  // `abandon` is called, if at all once, where that lasts, nobody is left but who may be at work that nobody
  // waits for any more, and there is such work in this process (abandonable_work): a process that is to end
  // anyway can end there.
  void stop(const std::function<void()>& abandon = {});

 private:
  struct state;
  explicit company(std::unique_ptr<state> parts);
  std::unique_ptr<state> state_;
};

}  // namespace troupe
