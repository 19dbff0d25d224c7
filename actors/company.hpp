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

#include "actors/net/engine_port.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/chat_template/chat_template.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/result.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace caf {
class actor_system;
}

namespace troupe {

// A model ready to be served, without its file: load_engine() makes one from a file, a test by hand.
struct loaded_engine {
  std::shared_ptr<executor> device;
  tokenizer_ptr vocabulary;
  std::shared_ptr<const chat_template> chat;
  std::string name;                // the file's name without its extension
  std::int32_t max_model_len = 0;  // longest context in tokens
};

struct company_options {
  // Either a file, or an engine that is ready.
  std::string model_path;
  std::optional<loaded_engine> engine;

  std::string served_model_name;  // empty: the engine's name
  std::string version;            // of the program, for metrics

  std::int32_t max_model_len = 0;  // 0: what the model was trained for
  std::int32_t max_num_seqs = 64;
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t block_size = 16;
  std::size_t kv_cache_bytes = std::size_t{1} << 30U;
  std::size_t max_num_queued_requests = 1024;
  std::int32_t max_logprobs = 20;
  std::int32_t threads = 0;  // of the executor; 0: one per core that the process may use
  std::string kernel_path = "auto";
  std::chrono::nanoseconds request_timeout{0};                         // from arrival; 0: none
  std::chrono::nanoseconds step_deadline = std::chrono::seconds{120};  // a step longer than this: not live

  std::int32_t tokenizer_workers = 2;
  // Where the actors live: a system of the embedding program's, which must outlive the company, or its own.
  caf::actor_system* system = nullptr;
  std::int32_t actor_threads = 2;
  std::string actor_policy = "sharing";
};

// Repacks the file's weights and takes all memory. Errors: those of load_model, load_tokenizer,
// make_cpu_executor.
result<loaded_engine> load_engine(const company_options& options);

// One item of the way to readiness: "[3/12] decode, batch 4".
struct start_progress {
  std::int32_t done = 0;
  std::int32_t total = 0;
  std::string what;
  std::chrono::nanoseconds took{0};
};
using progress_callback = std::function<void(const start_progress&)>;

// All calls from one thread at a time, except where a comment says otherwise.
class company {
 public:
  // Loads and starts. Warming up goes on behind; the gateways may open meanwhile (they report not ready).
  // Errors: those of load_engine, invalid_argument.
  static result<std::unique_ptr<company>> start(company_options options);
  ~company();  // stop()
  company(const company&) = delete;
  company& operator=(const company&) = delete;

  // Waits until the warm-up is done; `progress` is called on this thread, once per item.
  // Errors: unavailable, naming the actor that failed; or that the wait was interrupted.
  result<void> wait_ready(const progress_callback& progress = {});
  // Makes wait_ready() and drain() return early. Any thread.
  void interrupt();

  // The engine as the embedding program uses it. Any thread; valid until stop().
  net::engine_port& port();
  // Any thread.
  net::engine_status status() const;
  // The name of the actor whose end brought the company down; nothing while all is well. Any thread.
  std::optional<std::string> failure() const;
  // `callback` runs once, on any thread, when an actor has died; at once where that has happened already.
  void on_failure(std::function<void(const std::string& actor)> callback);

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
  result<counts> count() const;

  // Refuses new requests with `unavailable`, lets running ones finish within the grace, ends the rest with
  // `abort`. True where all have ended.
  bool drain(std::chrono::nanoseconds grace);
  // Ends every actor and joins every thread. What is still open ends with `unavailable`. Twice is once.
  void stop();

 private:
  struct state;
  explicit company(std::unique_ptr<state> state);
  std::unique_ptr<state> state_;
};

}  // namespace troupe
