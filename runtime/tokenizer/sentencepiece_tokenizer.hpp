// SentencePiece vocabularies of the BPE kind: tokenizer.ggml.model "llama"
// (https://arxiv.org/abs/1808.06226).
#pragma once
#include <array>
#include <cstddef>
#include <unordered_map>

#include "runtime/tokenizer/greedy_merge.hpp"
#include "runtime/tokenizer/vocabulary_tokenizer.hpp"

namespace troupe {

// Joins the neighbouring pair whose joined text is the token of the highest score, leftmost first; characters
// that are no token are spelled by byte tokens. A space is U+2581 inside the vocabulary.
class sentencepiece_tokenizer final : public vocabulary_tokenizer {
 public:
  // Errors: corrupt_file.
  static result<tokenizer_ptr> load(const gguf::file& file);
  // The first space of the text is the one that encode() put there.
  std::string decode(std::span<const token_id> ids, bool skip_special_tokens) const override;

 private:
  sentencepiece_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces,
                          const std::vector<float>& scores, bool add_space_prefix);

  struct split {
    merge_symbol left, right;
  };
  using splits = std::unordered_map<token_id, split>;

  void encode_text(std::string_view text, bool fresh, std::vector<token_id>& ids) const override;
  // Text with its spaces as U+2581 and no user-defined tokens.
  void encode_marked(std::string_view marked, std::vector<token_id>& ids) const;
  std::optional<token_id> mergeable(std::string_view text) const;
  void append(const merge_symbol& symbol, const splits& unused, std::vector<token_id>& ids) const;
  void append_bytes(std::string_view text, std::vector<token_id>& ids) const;

  special_matcher user_defined_;             // never merged, found in text whose spaces are U+2581
  std::vector<std::uint32_t> ranks_;         // [token], 0 is the highest score; equal scores, equal ranks
  std::array<token_id, 256> byte_tokens_{};  // -1: none
  std::size_t longest_ = 0;                  // bytes of the longest token
  bool add_space_prefix_;
};

}  // namespace troupe
