// What every tokenizer over a vocabulary has in common: special tokens, pieces, begin and end of text.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/special_matcher.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/tokenizer/vocabulary.hpp"

namespace troupe {

class vocabulary_tokenizer : public tokenizer {
 public:
  std::vector<token_id> encode(std::string_view text, const encode_options& options) const final;
  std::string_view piece(token_id id) const final;
  std::string decode(std::span<const token_id> ids, bool skip_special_tokens) const override;

  std::int32_t vocab_size() const final { return static_cast<std::int32_t>(vocabulary_.size()); }
  bool is_special(token_id id) const final;
  bool is_end_of_generation(token_id id) const final;
  std::optional<token_id> bos() const final { return vocabulary_.bos; }
  std::optional<token_id> eos() const final { return vocabulary_.eos; }
  std::optional<token_id> find(std::string_view token_text) const final {
    return vocabulary_.find(token_text);
  }
  std::span<const std::string> warnings() const final { return vocabulary_.warnings; }

 protected:
  // pieces[token]: the bytes that the token stands for. find_user_defined: user-defined tokens are looked for
  // in the raw text, always; else encode_text() does so.
  vocabulary_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces, bool find_user_defined);

  // Appends the tokens of text (not empty) without special tokens. `fresh`: nothing, or a control token,
  // stands before it.
  virtual void encode_text(std::string_view text, bool fresh, std::vector<token_id>& ids) const = 0;

  const vocabulary& words() const { return vocabulary_; }
  bool knows(token_id id) const { return id >= 0 && id < vocab_size(); }

 private:
  vocabulary vocabulary_;
  std::vector<std::string> pieces_;
  special_matcher specials_;
};

}  // namespace troupe
