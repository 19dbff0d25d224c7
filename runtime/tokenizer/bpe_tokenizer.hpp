// Byte-level byte-pair encoding: tokenizer.ggml.model "gpt2".
#pragma once
#include <array>
#include <cstddef>

#include "runtime/tokenizer/merge_table.hpp"
#include "runtime/tokenizer/pre_tokenizer.hpp"
#include "runtime/tokenizer/vocabulary_tokenizer.hpp"

namespace troupe {

class bpe_tokenizer final : public vocabulary_tokenizer {
 public:
  // Errors: unsupported, corrupt_file.
  static result<tokenizer_ptr> load(const gguf::file& file);

  std::size_t most_bytes_for_one() const override;

 private:
  bpe_tokenizer(vocabulary vocabulary, std::vector<std::string> pieces, pre_tokenizer pattern,
                merge_table merges);

  void encode_text(std::string_view text, bool fresh, std::vector<token_id>& ids) const override;
  void encode_piece(std::string_view piece, greedy_merger& merger, std::vector<merge_symbol>& symbols,
                    std::vector<token_id>& ids) const;
  void append_byte(char byte, std::vector<token_id>& ids) const;
  std::optional<token_id> whole_piece(std::string_view piece) const;

  pre_tokenizer pattern_;
  merge_table merges_;
  std::array<token_id, 256> byte_tokens_{};  // -1: none; such a byte is dropped
};

}  // namespace troupe
