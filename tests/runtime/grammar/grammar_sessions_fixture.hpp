// Steps for grammar_sessions without a scheduler: their rows, and what they have sampled.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/grammar/grammar_sessions.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"

namespace troupe::grammar {

inline constexpr std::size_t vocabulary_size = 32'000;
inline constexpr token_id end_token = 2;

// 32,000 tokens: an end, single characters, and words of a # and a number.
token_trie_ptr vocabulary_of_steps();
compiled_grammar_ptr grammar_of(const grammar_spec& spec);
grammar_spec regex(const std::string& text);

struct asked {
  request_id id = 0;
  std::int32_t num_generated = 0;
  bool has_grammar = true;
  bool wants_logprobs = false;
  std::vector<token_id> drafts = {};
};
// Without sampling parameters: those are the runner's alone to read.
step_batch step_of(std::uint64_t number, const std::vector<asked>& rows);
step_result sampled(std::uint64_t step, const std::vector<token_id>& tokens);
// All that can be filled once the step has begun; null while rows wait for tokens.
step_masks_ptr masks_of(grammar_sessions& sessions, const step_batch& batch);

}  // namespace troupe::grammar
