#include "runtime/drafting/prompt_lookup.hpp"

namespace troupe {

prompt_lookup::prompt_lookup(std::int32_t min_n, std::int32_t max_n, std::uint64_t hash_seed)
    : min_n_(min_n), max_n_(max_n), grams_(hash_seed), follower_(1) {}

void prompt_lookup::append(std::span<const token_id> tokens) {
  for (const token_id token : tokens) append_token(token);
}

void prompt_lookup::append_token(token_id token) {
  tokens_.push_back(token);
  const auto end = static_cast<std::uint32_t>(tokens_.size());
  match_length_ = 0;
  std::int32_t gram = 0;
  for (std::int32_t n = 1; n <= max_n_ && static_cast<std::uint32_t>(n) <= end; ++n) {
    const token_id next = tokens_[end - static_cast<std::uint32_t>(n)];
    std::int32_t longer = grams_.find(gram, next);
    if (longer == 0) {
      longer = static_cast<std::int32_t>(follower_.size());
      grams_.insert(gram, next, longer);
      follower_.push_back(end);
    } else {
      if (n >= min_n_) {
        match_length_ = n;
        match_follower_ = follower_[static_cast<std::size_t>(longer)];
      }
      follower_[static_cast<std::size_t>(longer)] = end;
    }
    gram = longer;
  }
}

void prompt_lookup::continue_match(std::size_t most, std::vector<token_id>& out) const {
  out.clear();
  if (match_length_ == 0) return;
  for (std::size_t from = match_follower_; out.size() < most; ++from)
    out.push_back(from < tokens_.size() ? tokens_[from] : out[from - tokens_.size()]);
}

std::size_t prompt_lookup::bytes() const {
  return tokens_.capacity() * sizeof(token_id) + grams_.bytes() +
         follower_.capacity() * sizeof(std::uint32_t);
}

}  // namespace troupe
