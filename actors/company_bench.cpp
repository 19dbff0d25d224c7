// What the actors cost per step: a whole company on its own threads over an executor that takes no time.
#include <benchmark/benchmark.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "actors/company.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/executor/null_executor.hpp"
#include "runtime/generation_request.hpp"

namespace troupe {
namespace {

constexpr std::int32_t vocab_size = 256;
constexpr std::int32_t tokens_per_request = 400;

// One token per byte: detokenizing is as cheap as it can be.
class byte_vocabulary final : public tokenizer {
 public:
  byte_vocabulary() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i] = static_cast<char>(i);
  }
  std::vector<token_id> encode(std::string_view text, const encode_options&) const override {
    return {text.begin(), text.end()};
  }
  std::string_view piece(token_id id) const override { return {&pieces_[static_cast<std::size_t>(id)], 1}; }
  std::string decode(std::span<const token_id> ids, bool) const override { return {ids.begin(), ids.end()}; }
  std::int32_t vocab_size() const override { return troupe::vocab_size; }
  bool is_special(token_id) const override { return false; }
  bool is_end_of_generation(token_id) const override { return false; }
  std::optional<token_id> bos() const override { return std::nullopt; }
  std::optional<token_id> eos() const override { return std::nullopt; }
  std::optional<token_id> find(std::string_view) const override { return std::nullopt; }

 private:
  std::array<char, troupe::vocab_size> pieces_{};
};

// The null executor, counting its steps.
class counted_executor final : public forwarding_executor {
 public:
  counted_executor(std::int32_t num_blocks, std::atomic<std::int64_t>& steps)
      : forwarding_executor(make_null_executor({16, num_blocks, 1}, [](const sample_row&) { return 'x'; })),
        steps_(steps) {}
  void forward(const device_batch&) override { ++steps_; }

 private:
  std::atomic<std::int64_t>& steps_;
};

// Sends `count` requests that run side by side and waits for all ends.
void run_crowd(net::engine_port& port, std::int32_t count) {
  std::mutex mutex;
  std::condition_variable changed;
  std::int32_t open = count;
  for (std::int32_t i = 0; i < count; ++i) {
    auto request = std::make_shared<generation_request>();
    request->prompt = token_prompt{{1, 2, 3}};
    request->sampling.max_tokens = tokens_per_request;
    port.generate(std::move(request), [&](const stream_event& event) {
      if (!event.end) return;
      const std::lock_guard lock(mutex);
      if (--open == 0) changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return open == 0; });
}

void step_through_the_actors(benchmark::State& state) {
  spdlog::set_level(spdlog::level::warn);
  const auto running = static_cast<std::int32_t>(state.range(0));
  std::atomic<std::int64_t> steps{0};
  company_options options;
  options.engine.max_num_seqs = running;
  options.loaded.emplace();
  options.loaded->device = std::make_shared<counted_executor>(running * 32, steps);
  options.loaded->vocabulary = std::make_shared<const byte_vocabulary>();
  options.loaded->chat = std::make_shared<const chat_template>(chat_template::chatml());
  options.loaded->name = "null";
  options.loaded->max_model_len = 512;
  auto company = company::start(std::move(options));
  if (!company || !(*company)->wait_ready()) {
    state.SkipWithError("the company did not start");
    return;
  }
  const std::int64_t warm_up = steps.load();
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    run_crowd((*company)->port(), running);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  state.counters["us_per_step"] = 1e6 * seconds / static_cast<double>(steps.load() - warm_up);
}
BENCHMARK(step_through_the_actors)
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
