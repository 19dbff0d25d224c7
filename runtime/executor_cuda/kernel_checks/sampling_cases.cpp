#include "runtime/executor_cuda/kernel_checks/sampling_cases.hpp"

#include <algorithm>
#include <list>
#include <utility>

#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/sampling/random_logits.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::device_distribution;
using kernels::cuda::sampling_row;

// Arrays on the device that live as long as the call; null for an empty one.
class uploads {
 public:
  template <class T>
  const T* copy(const std::vector<T>& values) {
    if (values.empty()) return nullptr;
    auto& array = arrays_.emplace_back((values.size() * sizeof(T) + 3) / 4);
    check_cuda(cudaMemcpy(array.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
               "cudaMemcpy");
    return reinterpret_cast<const T*>(array.data());
  }
  // With room for `size` tokens.
  device_distribution copy(const kept_distribution& distribution, std::size_t size) {
    device_distribution copied;
    copied.size = const_cast<std::int32_t*>(
        copy(std::vector<std::int32_t>{static_cast<std::int32_t>(distribution.ids.size())}));
    std::vector<token_id> ids = distribution.ids;
    std::vector<float> weights = distribution.weights;
    ids.resize(size, -1);
    weights.resize(size, nan);
    copied.ids = const_cast<token_id*>(copy(ids));
    copied.weights = const_cast<float*>(copy(weights));
    return copied;
  }
  float* room(std::size_t count) { return reinterpret_cast<float*>(arrays_.emplace_back(count).data()); }

 private:
  std::list<device_data<std::uint32_t>> arrays_;
};

void add_processing(const sampling_case& from, sampling_row& row, uploads& memory) {
  const sampling_params& params = *from.row.sampling;
  if (from.row.num_generated < params.min_tokens) {
    std::vector<token_id> banned = from.end_tokens;
    banned.insert(banned.end(), params.stop_token_ids.begin(), params.stop_token_ids.end());
    std::ranges::sort(banned);
    banned.erase(std::ranges::unique(banned).begin(), banned.end());
    row.num_banned = static_cast<std::int32_t>(banned.size());
    row.banned = memory.copy(banned);
  }
  std::vector<token_id> biased;
  std::vector<float> biases;
  auto ascending = params.logit_bias;
  std::ranges::stable_sort(ascending, {}, &std::pair<token_id, float>::first);
  for (const auto& [id, bias] : ascending) {
    biased.push_back(id);
    biases.push_back(bias);
  }
  row.num_biased = static_cast<std::int32_t>(biased.size());
  row.biased = memory.copy(biased);
  row.biases = memory.copy(biases);
  row.repetition_penalty = params.repetition_penalty;
  row.presence_penalty = params.presence_penalty;
  row.frequency_penalty = params.frequency_penalty;
  row.prompt_length = from.row.prompt_length;
  row.history_length = static_cast<std::int32_t>(from.row.history.size());
  row.history = memory.copy(from.row.history);
}

sampling_row device_row(const sampling_case& from, std::size_t stride, uploads& memory) {
  const sampling_params& params = *from.row.sampling;
  sampling_row row;
  row.seed = params.seed;
  row.position = from.row.position;
  row.temperature = params.temperature;
  row.top_p = params.top_p;
  row.min_p = params.min_p;
  row.top_k = params.top_k;
  add_processing(from, row, memory);
  row.mask = memory.copy(from.mask);
  if (from.draft) {
    row.draft = memory.copy(std::vector<token_id>{*from.draft});
    row.drafted = memory.copy(from.drafted, from.drafted.ids.size());
  }
  if (from.keeps_logits) row.processed = memory.room(stride);
  if (from.is_draft) row.kept = memory.copy({}, stride);
  return row;
}

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

kept_distribution read_back(const device_distribution& distribution) {
  std::int32_t size = 0;
  check_cuda(cudaMemcpy(&size, distribution.size, sizeof(size), cudaMemcpyDeviceToHost), "cudaMemcpy");
  kept_distribution kept;
  kept.ids.resize(static_cast<std::size_t>(size));
  kept.weights.resize(static_cast<std::size_t>(size));
  const std::size_t bytes = kept.ids.size() * sizeof(token_id);
  check_cuda(cudaMemcpy(kept.ids.data(), distribution.ids, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  check_cuda(cudaMemcpy(kept.weights.data(), distribution.weights, bytes, cudaMemcpyDeviceToHost),
             "cudaMemcpy");
  return kept;
}

}  // namespace

std::vector<token_id> sample_on_device(const std::vector<sampling_case>& cases,
                                       std::vector<std::vector<float>>* logits,
                                       std::vector<kept_distribution>* kept) {
  const std::size_t vocab = cases.front().logits.size();
  const std::size_t stride = (vocab + 3) / 4 * 4 + 8;
  uploads memory;
  std::vector<float> all(cases.size() * stride, nan);
  std::vector<sampling_row> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::copy(cases[i].logits.begin(), cases[i].logits.end(),
              all.begin() + static_cast<std::ptrdiff_t>(i * stride));
    rows.push_back(device_row(cases[i], stride, memory));
  }
  const device_data<float> device_logits(all);
  const device_data<sampling_row> device_rows(rows);
  const device_data<token_id> tokens(cases.size());
  const auto num_rows = static_cast<std::int32_t>(cases.size());
  const device_data<std::byte> workspace(
      kernels::cuda::sampling_workspace_bytes(num_rows, static_cast<std::int32_t>(vocab)));
  kernels::cuda::sample_tokens({.logits = device_logits.data(),
                                .stride = stride,
                                .vocab = static_cast<std::int32_t>(vocab),
                                .num_rows = num_rows,
                                .rows = device_rows.data(),
                                .tokens = tokens.data(),
                                .workspace = workspace.data()},
                               {}, nullptr);
  if (logits != nullptr) {
    const std::vector<float> left = device_logits.read();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto begin = left.begin() + static_cast<std::ptrdiff_t>(i * stride);
      logits->emplace_back(begin, begin + static_cast<std::ptrdiff_t>(vocab));
    }
  }
  for (const sampling_row& row : rows) {
    if (kept != nullptr)
      kept->push_back(row.kept.size == nullptr ? kept_distribution{} : read_back(row.kept));
  }
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
