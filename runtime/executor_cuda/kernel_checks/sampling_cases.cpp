#include "runtime/executor_cuda/kernel_checks/sampling_cases.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/sampling/kept_rows.hpp"
#include "runtime/executor_cuda/sampling/sampling_stage.hpp"
#include "runtime/sampling/random_logits.hpp"

namespace troupe::checks {
namespace {

double chance(std::uint64_t seed, std::uint64_t what) { return uniform(seed, 1'000'000 + what); }

template <class T>
T pick(std::uint64_t seed, std::uint64_t what, const std::vector<T>& from) {
  return from[static_cast<std::size_t>(chance(seed, what) * static_cast<double>(from.size()))];
}

std::vector<token_id> random_tokens(std::uint64_t seed, std::uint64_t what, std::size_t count,
                                    std::size_t vocab) {
  std::vector<token_id> tokens(count);
  for (std::size_t i = 0; i < count; ++i)
    tokens[i] =
        static_cast<token_id>(uniform(seed, 2'000'000 + what * 100'000 + i) * static_cast<double>(vocab));
  return tokens;
}

std::vector<std::uint32_t> random_mask(std::uint64_t seed, std::size_t vocab) {
  const double share = pick<double>(seed, 20, {0.001, 0.1, 0.9});
  std::vector<std::uint32_t> mask((vocab + 31) / 32, 0);
  for (std::size_t i = 0; i < vocab; ++i) {
    if (uniform(seed, 3'000'000 + i) < share) add_token(mask, static_cast<token_id>(i));
  }
  if (chance(seed, 21) < 0.9)
    add_token(mask, static_cast<token_id>(chance(seed, 22) * static_cast<double>(vocab)));
  return mask;
}

void sprinkle(std::uint64_t seed, std::vector<float>& logits) {
  const auto size = static_cast<double>(logits.size());
  const auto somewhere = [&](std::uint64_t what) -> float& {
    return logits[static_cast<std::size_t>(chance(seed, what) * size)];
  };
  if (chance(seed, 1) < 0.3) somewhere(2) = nan;
  if (chance(seed, 3) < 0.3) somewhere(4) = -infinity;
  if (chance(seed, 5) < 0.05) somewhere(6) = somewhere(7) = infinity;
  if (chance(seed, 8) < 0.02)
    std::fill(logits.begin(), logits.end(), chance(seed, 9) < 0.5 ? nan : -infinity);
  if (chance(seed, 10) < 0.05) std::fill(logits.begin(), logits.end(), -0.0F);
}

// Rows of logits as they lie on the device, further apart than they are long.
struct logit_rows {
  explicit logit_rows(const std::vector<sampling_case>& cases)
      : vocab(cases.front().logits.size()),
        stride((vocab + 3) / 4 * 4 + 8),
        values(cases.size() * stride, nan) {
    for (std::size_t i = 0; i < cases.size(); ++i) std::ranges::copy(cases[i].logits, of(values, i));
  }
  std::vector<float>::iterator of(std::vector<float>& rows, std::size_t index) const {
    return rows.begin() + static_cast<std::ptrdiff_t>(index * stride);
  }

  std::size_t vocab;
  std::size_t stride;
  std::vector<float> values;
};

void add(sampling_stage& stage, const sampling_case& from, kept_rows& kept, kept_distribution& into,
         float* processed) {
  const drafted_token draft{from.draft.value_or(0), from.drafted.view()};
  sample_extras extras;
  if (from.draft) extras.draft = &draft;
  if (from.is_draft) extras.kept = kept.place();
  if (from.keeps_logits) extras.processed = processed;
  if (!stage.add(from.row, from.end_tokens, from.mask, extras))
    throw std::length_error("a case has longer lists than a stage of its own holds");
  if (from.is_draft) kept.add(into);
}

}  // namespace

std::vector<token_id> sample_on_device(const std::vector<sampling_case>& cases,
                                       std::vector<std::vector<float>>* logits,
                                       std::vector<kept_distribution>* kept) {
  const logit_rows rows(cases);
  const device_data<float> device_logits(rows.values), processed(rows.values.size());
  const auto num_rows = static_cast<std::int32_t>(cases.size());
  const auto vocab = static_cast<std::int32_t>(rows.vocab);
  std::size_t lists = 0;  // with the vocabulary's length for what has any
  for (const sampling_case& each : cases) lists += 64 + 6 * rows.vocab + each.row.history.size();
  sampling_stage stage(num_rows, vocab, 0, lists * sizeof(token_id) * 2);
  kept_rows kept_there(vocab, num_rows);
  std::vector<kept_distribution> kept_here(cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    add(stage, cases[i], kept_there, kept_here[i], processed.data() + i * rows.stride);
  const device_data<token_id> tokens(cases.size());
  const device_data<std::byte> workspace(kernels::cuda::sampling_workspace_bytes(num_rows, vocab));
  const cuda_stream stream;
  stage.send(stream);
  kernels::cuda::sample_tokens({.logits = device_logits.data(),
                                .stride = rows.stride,
                                .vocab = vocab,
                                .num_rows = num_rows,
                                .rows = stage.rows(),
                                .tokens = tokens.data(),
                                .workspace = workspace.data()},
                               stage.needs(), stream.get());
  kept_there.collect(stream);
  stream.synchronize();
  if (logits != nullptr) {
    std::vector<float> left = device_logits.read();
    for (std::size_t i = 0; i < cases.size(); ++i)
      logits->emplace_back(rows.of(left, i), rows.of(left, i) + vocab);
  }
  if (kept != nullptr) *kept = std::move(kept_here);
  return tokens.read();
}

std::vector<token_id> sample_on_host(const std::vector<sampling_case>& cases) {
  std::vector<token_id> tokens;
  sampler_scratch scratch;
  for (const sampling_case& from : cases) {
    drafted_token draft;
    if (from.draft) draft = {*from.draft, from.drafted.view()};
    tokens.push_back(sample_token(from.logits, from.row, from.end_tokens, scratch, from.mask,
                                  from.draft ? &draft : nullptr)
                         .token);
  }
  return tokens;
}

sampling_case random_case(std::uint64_t seed, std::size_t vocab) {
  sampling_case made;
  made.logits = random_logits(seed, vocab, pick<float>(seed, 30, {0.1F, 3.0F, 3.0F, 12.0F}),
                              pick<float>(seed, 31, {0.0F, 0.0F, 0.5F, 4.0F}));
  sprinkle(seed, made.logits);
  const auto size = static_cast<std::int32_t>(vocab);
  sampling_params params;
  params.seed = seed * 7919;
  params.temperature = pick<float>(seed, 32, {0.0F, 0.3F, 1.0F, 1.0F, 0.7F, 2.5F});
  params.top_k = pick<std::int32_t>(seed, 33, {0, 0, 0, 1, 5, 40, size / 2, size - 1, size, size + 5});
  params.top_p = pick<float>(seed, 34, {1.0F, 1.0F, 0.95F, 0.5F, 0.9999F, 1e-6F});
  params.min_p = pick<float>(seed, 35, {0.0F, 0.0F, 0.0F, 0.05F, 0.5F, 1.0F, 1e-7F});
  if (chance(seed, 36) < 0.3) params.repetition_penalty = pick<float>(seed, 37, {1.1F, 0.8F, 2.0F});
  if (chance(seed, 38) < 0.3) params.frequency_penalty = pick<float>(seed, 39, {0.3F, -0.7F});
  if (chance(seed, 40) < 0.3) params.presence_penalty = pick<float>(seed, 41, {0.5F, -1.1F});
  if (chance(seed, 42) < 0.3) {
    for (const token_id id : random_tokens(seed, 1, 12, vocab)) {
      params.logit_bias.emplace_back(
          id, pick<float>(seed, 50 + static_cast<std::uint64_t>(id), {-5.0F, 0.1F, 9.0F}));
      if (chance(seed, 43) < 0.5) params.logit_bias.emplace_back(id, 0.3F);
    }
  }
  made.row.position = static_cast<std::int32_t>(chance(seed, 44) * 5000);
  made.row.num_generated = 3;
  if (chance(seed, 45) < 0.3) {
    params.min_tokens = 4;
    params.stop_token_ids = random_tokens(seed, 2, 3, vocab);
    params.stop_token_ids.push_back(size + 1);
    made.end_tokens = random_tokens(seed, 3, 2, vocab);
  }
  if (params.needs_history()) {
    made.row.history = random_tokens(seed, 4, 1 + static_cast<std::size_t>(chance(seed, 46) * 1500), vocab);
    made.row.history.push_back(size + 3);
    made.row.prompt_length =
        static_cast<std::int32_t>(chance(seed, 47) * static_cast<double>(made.row.history.size()));
  }
  if (chance(seed, 48) < 0.3) made.mask = random_mask(seed, vocab);
  if (!made.mask.empty() && params.min_tokens > 0 && chance(seed, 49) < 0.5) {
    // A mask that leaves end tokens alone: the minimum length does not hold.
    made.mask.assign(made.mask.size(), 0);
    for (const token_id id : made.end_tokens) add_token(made.mask, id);
  }
  made.keeps_logits = chance(seed, 29) < 0.5;
  made.row.sampling = std::make_shared<const sampling_params>(std::move(params));
  return made;
}

sampling_case random_drafted_case(std::uint64_t seed, std::size_t vocab) {
  sampling_case made = random_case(seed, vocab);
  sampling_case drafter = random_case(seed, vocab);
  drafter.mask.clear();
  const double closeness = chance(seed, 60);
  if (closeness < 0.2) {
    drafter = random_case(seed + 1'000'000, vocab);
    drafter.mask.clear();
  } else if (closeness < 0.7) {
    const std::vector<float> noise = random_logits(seed + 5, vocab, 0.5F);
    for (std::size_t i = 0; i < vocab; ++i) drafter.logits[i] += noise[i];
  }
  sampler_scratch scratch;
  made.drafted.assign(compute_distribution(drafter.logits, drafter.row, drafter.end_tokens, scratch));
  made.draft = draw_token(made.drafted.view(), chance(seed, 61));
  if (chance(seed, 62) < 0.2) {
    made.drafted.ids = {*made.draft};
    made.drafted.weights = {1.0F};
  }
  // One that its own distribution does not hold.
  if (chance(seed, 63) < 0.1) made.draft = random_tokens(seed, 6, 1, vocab).front();
  return made;
}

}  // namespace troupe::checks
