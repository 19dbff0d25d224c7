#include "main/measurements/scheduler_benchmark.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "actors/company.hpp"
#include "main/measurements/byte_vocabulary.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::int32_t longest_prompt = 383;
constexpr std::int32_t longest_answer = 512;
constexpr std::int32_t block_size = 16;

double micros(clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::int32_t num_blocks(std::int32_t running) {
  return (longest_prompt + longest_answer + block_size) / block_size * running;
}

scheduler_limits limits_for(const scheduler_benchmark_options& options) {
  scheduler_limits limits;
  limits.max_num_seqs = options.running;
  limits.max_num_queued_requests = static_cast<std::size_t>(options.running);
  limits.max_num_batched_tokens = options.running + 8192;
  limits.max_model_len = longest_prompt + longest_answer;
  limits.max_steps_in_flight = options.async_scheduling ? 2 : 1;
  limits.enable_prefix_caching = true;
  return limits;
}

// The n-th request: lengths are spread evenly by a stride that has no factor in common with their range.
std::vector<token_id> prompt_of(std::int64_t n) {
  std::vector<token_id> prompt(static_cast<std::size_t>(128 + n * 101 % 256));
  for (std::size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<token_id>((static_cast<std::size_t>(n) * 31 + i) % 250);
  return prompt;
}

sampling_params sampling_of(std::int64_t n) {
  sampling_params params;
  params.temperature = 0.0F;
  params.max_tokens = static_cast<std::int32_t>(1 + n * 211 % longest_answer);
  return params;
}

std::unique_ptr<executor> scripted(std::int32_t running) {
  return make_null_executor({block_size, num_blocks(running), 1},
                            [](const sample_row& row) { return static_cast<token_id>(row.position % 250); });
}

// ---- the engine's parts ----

class engine_run {
 public:
  explicit engine_run(const scheduler_benchmark_options& options)
      : options_(options), engine_(scripted(options.running), limits_for(options)) {}

  result<std::vector<double>> run() {
    for (std::int32_t i = 0; i < options_.running; ++i)
      if (auto submitted = submit(); !submitted) return tl::unexpected<error>(submitted.error());
    for (std::int32_t i = 0; i < 2 * longest_answer; ++i) step();  // until ends and arrivals are in balance
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(options_.steps));
    for (std::int32_t i = 0; i < options_.steps; ++i) times.push_back(step());
    return times;
  }

 private:
  result<token_batch> submit() {
    const std::int64_t n = next_++;
    return engine_.submit({.id = static_cast<request_id>(n),
                           .prompt = prompt_of(n),
                           .sampling = std::make_shared<const sampling_params>(sampling_of(n))});
  }

  double step() {
    const auto begin = clock::now();
    while (engine_.dispatch()) {
    }
    const auto planned = clock::now();
    if (!engine_.execute()) return 0;
    const auto executed = clock::now();
    const token_batch& events = engine_.commit();
    const auto end = clock::now();
    std::int32_t ended = 0;
    for (const token_event& event : events) ended += event.end ? 1 : 0;
    for (; ended > 0; --ended)
      if (!submit()) break;
    return micros(planned - begin) + micros(end - executed);
  }

  const scheduler_benchmark_options& options_;
  engine engine_;
  std::int64_t next_ = 1;
};

// ---- the whole company ----

// The null executor, telling when each step begins.
class timed_executor final : public forwarding_executor {
 public:
  explicit timed_executor(std::int32_t running) : forwarding_executor(scripted(running)) {}
  void forward(const device_batch& batch) override {
    const auto now = clock::now();
    const std::lock_guard lock(mutex_);
    // A warm-up step has no number.
    if (batch.step != 0 && last_ != clock::time_point()) times_.push_back(micros(now - last_));
    last_ = batch.step != 0 ? now : clock::time_point();
    changed_.notify_one();
  }

  // Waits for so many steps, forgets them where they are not to be counted.
  std::vector<double> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return times_.size() >= count; });
    return std::exchange(times_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<double> times_;
  clock::time_point last_{};
};

// Keeps `running` requests open at a company's port until it is told to stop.
class crowd {
 public:
  explicit crowd(net::engine_port& port) : port_(port) {}

  void add() {
    std::int64_t n = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      n = next_++;
      ++open_;
    }
    auto request = std::make_shared<generation_request>();
    request->prompt = token_prompt{prompt_of(n)};
    request->sampling = sampling_of(n);
    port_.generate(std::move(request), [this](const stream_event& event) {
      if (event.end) on_end();
    });
  }

  void stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void on_end() {
    add();
    const std::lock_guard lock(mutex_);
    if (--open_ == 0) changed_.notify_one();
  }

  net::engine_port& port_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_ = 1;
  std::int32_t open_ = 0;
  bool stopping_ = false;
};

result<std::vector<double>> run_company(const scheduler_benchmark_options& options) {
  const auto device = std::make_shared<timed_executor>(options.running);
  company_options wanted;
  wanted.scheduling = limits_for(options);
  wanted.engine.max_num_seqs = options.running;
  wanted.engine.max_num_batched_tokens = options.running + 8192;
  wanted.loaded.emplace();
  wanted.loaded->device = device;
  wanted.loaded->vocabulary = std::make_shared<const byte_vocabulary>();
  wanted.loaded->chat = std::make_shared<const chat_template>(chat_template::chatml());
  wanted.loaded->name = "null";
  wanted.loaded->max_model_len = longest_prompt + longest_answer;
  auto started = company::start(std::move(wanted));
  if (!started) return tl::unexpected<error>(started.error());
  if (auto ready = (*started)->wait_ready(); !ready) return tl::unexpected<error>(ready.error());

  crowd clients(*(*started)->port());
  for (std::int32_t i = 0; i < options.running; ++i) clients.add();
  device->wait_for(longest_answer);
  std::vector<double> times = device->wait_for(static_cast<std::size_t>(options.steps));
  clients.stop();
  (*started)->stop();
  return times;
}

}  // namespace

result<std::vector<double>> run_scheduler_benchmark(const scheduler_benchmark_options& options) {
  return options.actors ? run_company(options) : engine_run(options).run();
}

}  // namespace troupe::cli
