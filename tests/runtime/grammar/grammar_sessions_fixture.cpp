#include "tests/runtime/grammar/grammar_sessions_fixture.hpp"

#include <utility>

#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe::grammar {

token_trie_ptr vocabulary_of_steps() {
  static const token_trie_ptr trie = [] {
    std::vector<std::string> texts(vocabulary_size);
    for (std::size_t i = 3; i < texts.size(); ++i)
      texts[i] = i < 128 ? std::string(1, static_cast<char>(i)) : "#" + std::to_string(i);
    texts[3] += static_cast<char>(4);  // so that the byte 3 is in no other token
    std::vector<vocabulary_token> tokens;
    for (std::size_t i = 0; i < texts.size(); ++i)
      tokens.push_back({texts[i], i > 2, i == static_cast<std::size_t>(end_token)});
    return make_token_trie(tokens);
  }();
  return trie;
}

compiled_grammar_ptr grammar_of(const grammar_spec& spec) {
  return *compile(spec, vocabulary_of_steps(), grammar_limits{});
}

grammar_spec regex(const std::string& text) { return {.kind = grammar_kind::regex, .text = text}; }

step_batch step_of(std::uint64_t number, const std::vector<asked>& rows) {
  step_batch batch;
  batch.step = number;
  for (const asked& each : rows) {
    const auto index = static_cast<std::int32_t>(batch.samples.size());
    const auto num_drafts = static_cast<std::int32_t>(each.drafts.size());
    batch.sequences.push_back({.id = each.id, .first_row = index, .num_rows = 1 + num_drafts});
    for (std::int32_t i = 0; i <= num_drafts; ++i) {
      sample_row sample;
      sample.sequence = static_cast<std::int32_t>(batch.sequences.size()) - 1;
      sample.row = index + i;
      sample.num_generated = each.num_generated + i;
      batch.samples.push_back(std::move(sample));
      batch.tokens.push_back(i == 0 ? 0 : each.drafts[static_cast<std::size_t>(i - 1)]);
    }
    if (each.has_grammar) batch.masked_samples.push_back({index, each.wants_logprobs});
    if (num_drafts > 0) batch.drafts.push_back({index, num_drafts});
  }
  return batch;
}

step_result sampled(std::uint64_t step, const std::vector<token_id>& tokens) {
  step_result result;
  result.step = step;
  for (const token_id token : tokens) result.tokens.push_back({.id = 0, .token = token});
  return result;
}

step_masks_ptr masks_of(grammar_sessions& sessions, const step_batch& batch) {
  sessions.begin(batch);
  while (sessions.fill_one()) {
  }
  return sessions.take();
}

}  // namespace troupe::grammar
