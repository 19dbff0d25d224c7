#include "tests/runtime/sampling/toy_model_fixture.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/sampling/row_math.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {

namespace {

constexpr std::array<token_id, 2> prompt{3, 5};
constexpr float spread = 1.3F;

// Keys of the random functions of a text.
enum class function : std::uint64_t { target = 1, draft = 2, parity = 3, n_gram = 4, grammar = 5 };

std::uint64_t key(function which, std::uint64_t argument) {
  return (static_cast<std::uint64_t>(which) << 32U) + argument;
}

double smaller_of_both(const toy_model::distributions& both) {
  const auto& [target, draft, mass, quantiles] = both;
  const double target_total = sum_weights(target.weights);
  const double draft_total = sum_weights(draft.weights);
  double sum = 0.0;
  for (std::size_t i = 0; i < target.ids.size(); ++i) {
    const auto found = std::ranges::find(draft.ids, target.ids[i]);
    if (found == draft.ids.end()) continue;
    const float drafted = draft.weights[static_cast<std::size_t>(found - draft.ids.begin())];
    sum += std::min(static_cast<double>(target.weights[i]) / target_total,
                    static_cast<double>(drafted) / draft_total);
  }
  return sum;
}

// By token in ascending order: from where to where u draws it.
double overlap_of_quantiles(const toy_model::distributions& both) {
  const auto& [target, draft, mass, quantiles] = both;
  const double target_total = sum_weights(target.weights);
  const double draft_total = sum_weights(draft.weights);
  double overlap = 0.0;
  double target_end = 0.0;
  for (std::size_t i = 0; i < target.ids.size(); ++i) {
    const double target_begin =
        std::exchange(target_end, target_end + static_cast<double>(target.weights[i]) / target_total);
    double draft_end = 0.0;
    for (std::size_t j = 0; j < draft.ids.size(); ++j) {
      const double draft_begin =
          std::exchange(draft_end, draft_end + static_cast<double>(draft.weights[j]) / draft_total);
      if (draft.ids[j] != target.ids[i]) continue;
      overlap += std::max(0.0, std::min(target_end, draft_end) - std::max(target_begin, draft_begin));
    }
  }
  return overlap;
}

}  // namespace

std::vector<toy_setting> toy_settings() {
  return {{"temperature", {.temperature = 0.8F}},
          {"top-k", {.top_k = 3}},
          {"top-p", {.top_p = 0.7F}},
          {"min-p", {.min_p = 0.15F}},
          {"penalties", {.presence_penalty = 0.5F, .frequency_penalty = 0.7F, .repetition_penalty = 1.4F}},
          {"mask", {.temperature = 1.2F}, true},
          {"logit bias", {.logit_bias = {{1, 2.0F}, {4, -3.0F}, {6, 0.7F}}}},
          {"everything",
           {.min_tokens = 2,
            .temperature = 0.9F,
            .top_p = 0.95F,
            .top_k = 12,
            .min_p = 0.01F,
            .presence_penalty = 0.3F,
            .frequency_penalty = 0.4F,
            .repetition_penalty = 1.2F,
            .stop_token_ids = {9},
            .logit_bias = {{2, 1.5F}, {20, -1.0F}}},
           true,
           32,
           3,
           2},
          {"greedy", {.temperature = 0.0F, .repetition_penalty = 1.3F}}};
}

const char* to_string(draft_kind kind) {
  constexpr std::array names{"equal", "disjoint", "one-hot", "random", "unfiltered"};
  return names[static_cast<std::size_t>(kind)];
}

toy_model::toy_model(toy_setting setting, draft_kind kind)
    : setting_(std::move(setting)),
      kind_(kind),
      sampling_(std::make_shared<sampling_params>(setting_.sampling)),
      known_(first_of(setting_.length)) {}

std::size_t toy_model::after(std::size_t node, token_id token) const {
  return node * setting_.vocab_size + 1 + static_cast<std::size_t>(token);
}

std::size_t toy_model::first_of(std::size_t length) const {
  std::size_t first = 0;
  for (std::size_t i = 0; i < length; ++i) first = after(first, 0);
  return first;
}

std::size_t toy_model::length(std::size_t node) const {
  std::size_t length = 0;
  for (; node > 0; node = (node - 1) / setting_.vocab_size) ++length;
  return length;
}

std::vector<token_id> toy_model::history(std::size_t node) const {
  std::vector<token_id> tokens;
  for (; node > 0; node = (node - 1) / setting_.vocab_size) {
    tokens.push_back(static_cast<token_id>((node - 1) % setting_.vocab_size));
  }
  tokens.insert(tokens.end(), prompt.rbegin(), prompt.rend());
  std::ranges::reverse(tokens);
  return tokens;
}

std::uint64_t toy_model::last_two(std::size_t node) const {
  const auto tokens = history(node);
  const auto last = tokens.rbegin();
  return static_cast<std::uint64_t>(last[1]) * setting_.vocab_size + static_cast<std::uint64_t>(last[0]);
}

std::vector<float> toy_model::target_logits(std::size_t node) const {
  const std::uint64_t pair = last_two(node);
  auto logits = random_logits(key(function::target, pair), setting_.vocab_size, spread);
  if (kind_ != draft_kind::disjoint) return logits;
  const std::size_t odd = uniform(key(function::parity, pair), 0) < 0.5 ? 0 : 1;
  for (std::size_t i = odd; i < logits.size(); i += 2) logits[i] = -std::numeric_limits<float>::infinity();
  return logits;
}

std::vector<float> toy_model::draft_logits(std::size_t node) const {
  const std::uint64_t pair = last_two(node);
  if (kind_ == draft_kind::equal) return target_logits(node);
  auto logits = random_logits(key(function::draft, pair), setting_.vocab_size, spread);
  if (kind_ != draft_kind::disjoint) return logits;
  const auto target = target_logits(node);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (target[i] != -std::numeric_limits<float>::infinity())
      logits[i] = -std::numeric_limits<float>::infinity();
  }
  return logits;
}

// Of every four neighbours two, an even and an odd one, and others by chance: so that neither side of
// disjoint supports is left without.
std::vector<std::uint32_t> toy_model::mask(std::size_t node) const {
  if (!setting_.has_grammar) return {};
  std::vector<std::uint32_t> allowed((setting_.vocab_size + 31) / 32);
  const std::uint64_t state = key(function::grammar, last_two(node));
  for (std::size_t first = 0; first < setting_.vocab_size; first += 4) {
    const std::size_t kept = uniform(state, first) < 0.5 ? 0 : 2;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i / 2 == kept / 2 || uniform(state, 100 + first + i) < 0.3)
        add_token(allowed, static_cast<token_id>(first + i));
    }
  }
  return allowed;
}

std::vector<float> toy_model::masked_logits(std::size_t node) const {
  auto logits = target_logits(node);
  if (setting_.has_grammar) mask_row(target_logits(node), mask(node), logits.data());
  return logits;
}

sample_row toy_model::row_after(std::size_t node) const {
  sample_row row;
  row.num_generated = static_cast<std::int32_t>(length(node));
  row.prompt_length = static_cast<std::int32_t>(prompt.size());
  row.position = row.prompt_length + row.num_generated;
  row.sampling = sampling_;
  return row;
}

toy_model::distributions toy_model::compute(std::size_t node) const {
  distributions both;
  sampler_scratch scratch;
  const auto allowed = mask(node);
  sample_row row = row_after(node);
  row.history = history(node);
  both.target.assign(compute_distribution(target_logits(node), row, end_tokens(), scratch, allowed));
  if (kind_ == draft_kind::one_hot) {
    const double u = uniform(key(function::n_gram, last_two(node)), 0);
    both.draft.ids = {static_cast<token_id>(u * static_cast<double>(setting_.vocab_size))};
    both.draft.weights = {1.0F};
  } else if (kind_ == draft_kind::unfiltered) {
    row.sampling = std::make_shared<const sampling_params>();
    both.draft.assign(compute_distribution(draft_logits(node), row, {}, scratch));
  } else {
    both.draft.assign(compute_distribution(draft_logits(node), row, end_tokens(), scratch, allowed));
  }
  both.common_mass = smaller_of_both(both);
  both.common_quantiles = overlap_of_quantiles(both);
  return both;
}

const toy_model::distributions& toy_model::at(std::size_t node) {
  if (known_[node] == nullptr) known_[node] = std::make_unique<distributions>(compute(node));
  return *known_[node];
}

std::vector<double> toy_model::enumerate() {
  std::vector<double> probabilities{1.0};
  for (std::size_t length = 0; length < setting_.length; ++length) {
    std::vector<double> longer(probabilities.size() * setting_.vocab_size, 0.0);
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      if (probabilities[i] == 0.0) continue;
      const kept_distribution& next = at(first_of(length) + i).target;
      const double total = sum_weights(next.weights);
      for (std::size_t j = 0; j < next.ids.size(); ++j) {
        longer[i * setting_.vocab_size + static_cast<std::size_t>(next.ids[j])] =
            probabilities[i] * static_cast<double>(next.weights[j]) / total;
      }
    }
    probabilities = std::move(longer);
  }
  return probabilities;
}

}  // namespace troupe
