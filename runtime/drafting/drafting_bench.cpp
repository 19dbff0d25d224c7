// What drafting costs: a token appended, a draft proposed, a step's lengths chosen. Figures: docs/engine.md.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <random>
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

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A long prompt in pieces: how long a call holds its caller up, and the worst of them.
void longest_piece(benchmark::State& state) {
  const tokens text = make_text(128 << 10, 0.3);
  drafter_options options = with(speculative_method::suffix);
  options.work_tokens = drafter_options{}.work_tokens;
  std::vector<double> times;
  for (auto _ : state) {
    drafter drafts(options);
    double begin = thread_seconds();
    drafts.open(1, "", text);
    for (bool more = true; more;) {
      times.push_back(thread_seconds() - begin);
      begin = thread_seconds();
      more = drafts.work();
    }
  }
  std::ranges::sort(times);
  state.counters["p50_us"] = times[times.size() / 2] * 1e6;
  state.counters["worst_us"] = times.back() * 1e6;
}
BENCHMARK(longest_piece)->Unit(benchmark::kMillisecond);

// A token comes, a draft goes, at a context of so many tokens; with 1,000 answers of the tenant.
template <speculative_method method>
void append_and_propose(benchmark::State& state) {
  const auto context = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t most = 8192;
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
    ->ArgsProduct({{1 << 10, 8 << 10, 128 << 10}, {0, 30}});
BENCHMARK(append_and_propose<speculative_method::ngram>)
    ->ArgsProduct({{1 << 10, 8 << 10, 128 << 10}, {0, 30}});

// Of so many sequences, each with a draft of 16 tokens; the time of a row beside the fixed time of a step.
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
  for (const std::int32_t rows : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
    costs.measured(rows, static_cast<double>(state.range(1)) + rows);
  const step_load load{static_cast<std::int32_t>(sequences), 0, 512, 0.0, 0.05};
  draft_lengths out;
  for (auto _ : state) {
    choose_draft_lengths(views, load, costs, out);
    benchmark::DoNotOptimize(out.lengths.data());
  }
  state.counters["drafted"] = out.num_drafted;
}
BENCHMARK(choose_lengths)->ArgsProduct({{1, 8, 64}, {5, 50}});

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
