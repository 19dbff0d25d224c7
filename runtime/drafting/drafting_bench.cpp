// What drafting costs: a token appended, a draft proposed, a step's lengths chosen. Figures: docs/engine.md.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "runtime/drafting/draft_lengths.hpp"
#include "runtime/drafting/drafter.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

// Words as frequent as in text (Zipf), of which a part is copied from before, in runs of some tokens.
tokens make_text(std::size_t count, double copied) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  tokens text;
  text.reserve(count);
  std::size_t from = 0;
  std::size_t run = 0;
  while (text.size() < count) {
    if (run == 0 && text.size() > 100 && unit(random) < copied / 20.0) {
      from = random() % (text.size() - 50);
      run = 20;
    }
    if (run > 0) {
      text.push_back(text[from++]);
      --run;
    } else {
      text.push_back(static_cast<token_id>(std::pow(49152.0, unit(random))) - 1);
    }
  }
  return text;
}

drafter_options with(speculative_method method) {
  drafter_options options;
  options.config.method = method;
  options.work_tokens = std::size_t{1} << 30U;
  return options;
}

// The whole of a prompt, and the memory that it takes.
template <speculative_method method>
void index_prompt(benchmark::State& state) {
  const tokens text = make_text(static_cast<std::size_t>(state.range(0)), 0.3);
  const drafter_options options = with(method);
  std::size_t bytes = 0;
  for (auto _ : state) {
    drafted_request request(options.config, 0, text);
    request.index(text.size());
    bytes = request.bytes();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_token"] = static_cast<double>(bytes) / static_cast<double>(text.size());
}
BENCHMARK(index_prompt<speculative_method::suffix>)->Arg(1 << 10)->Arg(8 << 10)->Arg(128 << 10);
BENCHMARK(index_prompt<speculative_method::ngram>)->Arg(1 << 10)->Arg(8 << 10)->Arg(128 << 10);

// One piece of a long prompt: how long a call holds its caller up, the worst of them.
void longest_piece(benchmark::State& state) {
  const tokens text = make_text(128 << 10, 0.3);
  drafter_options options = with(speculative_method::suffix);
  options.work_tokens = 256;
  double worst = 0.0;
  for (auto _ : state) {
    drafter drafts(options);
    drafts.open(1, "", text);
    for (bool more = true; more;) {
      const auto begin = std::chrono::steady_clock::now();
      more = drafts.work();
      worst =
          std::max(worst, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }
  state.counters["worst_us"] = worst * 1e6;
}
BENCHMARK(longest_piece)->Unit(benchmark::kMillisecond);

// A token comes, a draft goes, at a context of so many tokens; with 1,000 answers of the tenant.
template <speculative_method method>
void append_and_propose(benchmark::State& state) {
  const auto context = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t most = 1024;
  const tokens text = make_text(context + most, static_cast<double>(state.range(1)) / 100.0);
  drafter drafts(with(method));
  const tokens answers = make_text(200000, 0.3);
  for (request_id id = 10; id < 1010; ++id) {
    drafts.open(id, "", {});
    drafts.append(id, std::span(answers).subspan((id - 10) * 200, 200));
    drafts.close(id);
  }
  while (drafts.work()) {
  }
  std::size_t at = text.size();
  for (auto _ : state) {
    if (at == text.size()) {
      state.PauseTiming();
      drafts.open(1, "", std::span(text).first(context));
      at = context;
      state.ResumeTiming();
    }
    drafts.append(1, std::span(text).subspan(at++, 1));
    benchmark::DoNotOptimize(drafts.propose(1));
  }
}
// Context, percent of the text that is copied.
BENCHMARK(append_and_propose<speculative_method::suffix>)
    ->ArgsProduct({{1 << 10, 8 << 10, 128 << 10}, {0, 30, 90}});
BENCHMARK(append_and_propose<speculative_method::ngram>)
    ->ArgsProduct({{1 << 10, 8 << 10, 128 << 10}, {0, 30, 90}});

// Sequences, and how likely each drafted token is.
void choose_lengths(benchmark::State& state) {
  const auto sequences = static_cast<std::size_t>(state.range(0));
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> unit(0.0F, 1.0F);
  std::vector<std::vector<float>> drafts(sequences);
  for (auto& each : drafts) {
    each.resize(16);
    const float level = unit(random);
    for (float& probability : each) probability = level;
  }
  const std::vector<std::span<const float>> views(drafts.begin(), drafts.end());
  step_costs costs;
  for (const auto& [rows, time] : {std::pair{1, 4.6}, {4, 6.5}, {8, 11.0}, {32, 30.0}, {512, 480.0}})
    costs.measured(rows, time);
  const step_load load{static_cast<std::int32_t>(sequences), 0, 512, 0.1, 0.05};
  draft_lengths out;
  for (auto _ : state) {
    choose_draft_lengths(views, load, costs, out);
    benchmark::DoNotOptimize(out.lengths.data());
  }
  state.counters["drafted"] = out.num_drafted;
}
BENCHMARK(choose_lengths)->Arg(1)->Arg(8)->Arg(64);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
