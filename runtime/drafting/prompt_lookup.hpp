// Prompt lookup: the longest n-gram that ends the sequence and has occurred in it before proposes what
// followed it there (Saxena, prompt-lookup-decoding, 2023; vLLM's `ngram`).
//
// All n-grams up to the longest stand in a trie that reads them backwards from their last token, each with
// the place of its latest occurrence: a token costs at most max_n steps, not a pass over the sequence.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/drafting/child_table.hpp"
#include "runtime/request.hpp"

namespace troupe {

class prompt_lookup {
 public:
  // 1 <= min_n <= max_n
  prompt_lookup(std::int32_t min_n, std::int32_t max_n, std::uint64_t hash_seed = 0);

  void append(std::span<const token_id> tokens);
  // Of the n-gram found, in tokens; 0 where none of at least min_n has occurred before.
  std::int32_t match_length() const { return match_length_; }
  // Up to `most` tokens that followed its latest occurrence. They may run into what they continue: a sequence
  // that repeats itself is continued for ever.
  void continue_match(std::size_t most, std::vector<token_id>& out) const;

  std::size_t bytes() const;

 private:
  void append_token(token_id token);

  std::int32_t min_n_;
  std::int32_t max_n_;
  std::vector<token_id> tokens_;
  child_table grams_;                    // node 0 is the empty n-gram
  std::vector<std::uint32_t> follower_;  // [nodes] the place behind the latest occurrence
  std::int32_t match_length_ = 0;
  std::uint32_t match_follower_ = 0;
};

}  // namespace troupe
