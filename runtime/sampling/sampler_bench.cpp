#include "runtime/sampling/sampler.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

#include "runtime/sampling/philox.hpp"
#include "runtime/token_bits.hpp"

namespace troupe {
namespace {

constexpr std::size_t vocab_size = 49152;

// Logits of about a model's spread: normal numbers (Box-Muller over the counter-based generator) times
// `scale`.
std::vector<float> random_logits(float scale) {
  std::vector<float> logits(vocab_size);
  for (std::size_t i = 0; i < vocab_size; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(1, i)));
    logits[i] = scale * static_cast<float>(radius * std::cos(6.283185307179586 * uniform(2, i)));
  }
  return logits;
}

void run(benchmark::State& state, const sampling_params& params, const std::vector<float>& logits) {
  sample_row row;
  row.sampling = std::make_shared<const sampling_params>(params);
  for (token_id id = 0; params.needs_history() && id < 1000; ++id) row.history.push_back(id);
  row.prompt_length = 500;
  sampler_scratch scratch;
  for (auto _ : state) {
    ++row.position;
    benchmark::DoNotOptimize(sample_token(logits, row, {}, scratch));
  }
}

void run(benchmark::State& state, const sampling_params& params, float scale = 3.0F) {
  run(state, params, random_logits(scale));
}

// A model that knows a few dozen tokens that may come.
std::vector<float> peaked_logits() {
  auto logits = random_logits(2.0F);
  for (std::size_t i = 0; i < vocab_size; i += 1009) logits[i] += 12.0F;
  return logits;
}

void greedy(benchmark::State& state) { run(state, {.temperature = 0.0F}); }
void temperature(benchmark::State& state) { run(state, {}); }
void top_k_50(benchmark::State& state) { run(state, {.top_k = 50}); }
void top_k_20000(benchmark::State& state) { run(state, {.top_k = 20000}); }
void top_p(benchmark::State& state) { run(state, {.top_p = 0.9F}); }
void top_p_peaked(benchmark::State& state) { run(state, {.top_p = 0.9F}, peaked_logits()); }
void top_p_flat(benchmark::State& state) { run(state, {.top_p = 0.9F}, 0.01F); }
void top_p_equal(benchmark::State& state) { run(state, {.top_p = 0.9F}, 0.0F); }
void top_k_and_top_p(benchmark::State& state) {
  run(state, {.temperature = 0.7F, .top_p = 0.9F, .top_k = 50});
}
void top_k_large_and_top_p(benchmark::State& state) { run(state, {.top_p = 0.9F, .top_k = 20000}); }
void min_p(benchmark::State& state) { run(state, {.min_p = 0.05F}); }
void penalties(benchmark::State& state) {
  run(state, {.temperature = 0.0F, .frequency_penalty = 0.5F, .repetition_penalty = 1.2F});
}
void greedy_with_20_logprobs(benchmark::State& state) { run(state, {.temperature = 0.0F, .logprobs = 20}); }

// Under a mask that allows every token at which `is_allowed`.
template <class IsAllowed>
void run_masked(benchmark::State& state, IsAllowed is_allowed) {
  const auto logits = random_logits(3.0F);
  std::vector<std::uint32_t> mask((vocab_size + 31) / 32);
  for (std::size_t i = 0; i < vocab_size; ++i)
    if (is_allowed(i)) add_token(mask, static_cast<token_id>(i));
  const sampling_params params;
  sample_row row;
  row.sampling = std::make_shared<const sampling_params>(params);
  sampler_scratch scratch;
  for (auto _ : state) {
    ++row.position;
    benchmark::DoNotOptimize(sample_token(logits, row, {}, scratch, mask));
  }
}

void masked_but_one_in_ten(benchmark::State& state) {
  run_masked(state, [](std::size_t i) { return i * 2654435761U % 10 != 0; });
}
void masked_few(benchmark::State& state) {
  run_masked(state, [](std::size_t i) { return i % 1009 == 0; });
}

// A draft that is rejected, drawn from a distribution near the target's; without making either of them.
void reject(benchmark::State& state, const sampling_params& params, bool one_hot = false) {
  auto logits = random_logits(3.0F);
  sample_row row;
  row.sampling = std::make_shared<const sampling_params>(params);
  sampler_scratch target_scratch;
  sampler_scratch draft_scratch;
  const auto target = compute_distribution(logits, row, {}, target_scratch);
  const token_id token = draw_token(target, 0.5);
  for (std::size_t i = 0; i < vocab_size; ++i) logits[i] += 0.2F * static_cast<float>(uniform(3, i));
  logits[static_cast<std::size_t>(token)] += 10.0F;
  kept_distribution draft;
  draft.assign(compute_distribution(logits, row, {}, draft_scratch));
  if (one_hot) draft = {{token}, {1.0F}};
  const drafted_token drafted{token, draft.view()};
  for (auto _ : state) {
    const token_id drawn = verify_draft(target, drafted, 1.0 - 0x1.0p-53, 0.5);
    if (drawn == token) return state.SkipWithError("the draft was accepted");
    benchmark::DoNotOptimize(drawn);
  }
}

void rejected_draft(benchmark::State& state) { reject(state, {}); }
void rejected_draft_top_k_and_top_p(benchmark::State& state) { reject(state, {.top_p = 0.9F, .top_k = 50}); }
void rejected_n_gram(benchmark::State& state) { reject(state, {}, true); }

BENCHMARK(rejected_draft);
BENCHMARK(rejected_draft_top_k_and_top_p);
BENCHMARK(rejected_n_gram);
BENCHMARK(greedy);
BENCHMARK(temperature);
BENCHMARK(masked_but_one_in_ten);
BENCHMARK(masked_few);
BENCHMARK(top_k_50);
BENCHMARK(top_k_20000);
BENCHMARK(top_p);
BENCHMARK(top_p_peaked);
BENCHMARK(top_p_flat);
BENCHMARK(top_p_equal);
BENCHMARK(top_k_and_top_p);
BENCHMARK(top_k_large_and_top_p);
BENCHMARK(min_p);
BENCHMARK(penalties);
BENCHMARK(greedy_with_20_logprobs);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();
