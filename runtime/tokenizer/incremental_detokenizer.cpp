#include <utility>

#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/utf8.hpp"

namespace troupe {

incremental_detokenizer::incremental_detokenizer(tokenizer_ptr tokenizer, bool skip_special_tokens,
                                                 bool at_start)
    : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens), at_start_(at_start) {}

std::string incremental_detokenizer::push(token_id id) {
  if (skip_special_tokens_ && tokenizer_->is_special(id)) return {};
  if (at_start_) {
    pending_ += tokenizer_->decode(std::span(&id, 1), skip_special_tokens_);
  } else {
    pending_ += tokenizer_->piece(id);
  }
  at_start_ = false;
  std::string text;
  drain_utf8(pending_, text);
  return text;
}

std::string incremental_detokenizer::finish() {
  if (std::exchange(pending_, {}).empty()) return {};
  return std::string(replacement_character);
}

}  // namespace troupe
