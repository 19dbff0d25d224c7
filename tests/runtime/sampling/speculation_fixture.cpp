#include "tests/runtime/sampling/speculation_fixture.hpp"

#include <algorithm>

#include "runtime/sampling/philox.hpp"

namespace troupe {

void speculation::count(std::size_t node, bool is_accepted) {
  const auto& both = model_.at(node);
  const double chance = mode_ == verification::rejection ? both.common_mass : both.common_quantiles;
  ++drafts_.verified;
  drafts_.accepted += is_accepted ? 1U : 0U;
  drafts_.expected += chance;
  drafts_.variance += std::max(0.0, chance * (1.0 - chance));
}

// Every row's sample is drawn before anything is known of the others, as in one batch; then those are taken
// whose row holds the token that the sample before gave.
template <class Sample>
std::vector<sampled_token> speculation::step(std::uint64_t seed, std::size_t node, std::size_t num_drafts,
                                             Sample sample) {
  std::vector<std::size_t> nodes{node};
  std::vector<token_id> drafts;
  for (std::size_t i = 0; i < num_drafts; ++i) {
    const auto position = static_cast<std::uint64_t>(model_.row_after(nodes[i]).position);
    drafts.push_back(draw_token(model_.at(nodes[i]).draft.view(), uniform(seed, position)));
    nodes.push_back(model_.after(nodes[i], drafts[i]));
  }
  std::vector<sampled_token> samples;
  for (std::size_t i = 0; i <= num_drafts; ++i) {
    const bool is_verified = i < num_drafts && mode_ == verification::rejection;
    const drafted_token draft{is_verified ? drafts[i] : 0, model_.at(nodes[i]).draft.view()};
    samples.push_back(sample(nodes[i], is_verified ? &draft : nullptr));
  }
  std::size_t accepted = 0;
  while (accepted < num_drafts && samples[accepted].token == drafts[accepted]) count(nodes[accepted++], true);
  if (accepted < num_drafts) count(nodes[accepted], false);
  samples.resize(accepted + 1);
  return samples;
}

template <class Sample>
std::vector<sampled_token> speculation::run(std::uint64_t seed, Sample sample) {
  constexpr std::uint64_t most_drafts = 4;
  model_.set_seed(seed);
  std::vector<sampled_token> text;
  std::size_t node = 0;
  for (std::uint64_t i = 0; text.size() < model_.setting().length; ++i) {
    const std::size_t room = model_.setting().length - text.size() - 1;
    for (auto& token : step(seed, node, std::min<std::size_t>(1 + (seed + i) % most_drafts, room), sample)) {
      node = model_.after(node, token.token);
      text.push_back(std::move(token));
    }
  }
  return text;
}

std::size_t speculation::draw_text(std::uint64_t seed) {
  const auto text = run(seed, [this](std::size_t node, const drafted_token* draft) {
    return sampled_token{0, draw_sample(model_.at(node).target.view(), model_.row_after(node), draft)};
  });
  std::size_t node = 0;
  for (const sampled_token& token : text) node = model_.after(node, token.token);
  return node;
}

sampled_token speculation::sample_after(std::size_t node, const drafted_token* draft) {
  sample_row row = model_.row_after(node);
  row.history = model_.history(node);
  return sample_token(model_.target_logits(node), row, model_.end_tokens(), scratch_, model_.mask(node),
                      draft);
}

std::vector<sampled_token> speculation::sample_text(std::uint64_t seed) {
  return run(seed,
             [this](std::size_t node, const drafted_token* draft) { return sample_after(node, draft); });
}

std::vector<sampled_token> speculation::sample_text_without_drafts(std::uint64_t seed) {
  model_.set_seed(seed);
  std::vector<sampled_token> text;
  for (std::size_t node = 0; text.size() < model_.setting().length;
       node = model_.after(node, text.back().token)) {
    text.push_back(sample_after(node, nullptr));
  }
  return text;
}

}  // namespace troupe
