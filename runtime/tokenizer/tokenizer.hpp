// Text to token ids and back, from the vocabulary in a model file.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct encode_options {
  bool add_special_tokens = true;  // begin-of-text / end-of-text where the model file asks for them
  bool parse_special = true;       // "<|im_start|>" in the text is one token; false: plain characters
};

// Immutable after load; safe to share between threads.
class tokenizer {
 public:
  virtual ~tokenizer() = default;

  // Any bytes are accepted; invalid UTF-8 is encoded byte by byte. What the vocabulary cannot spell is
  // dropped, or becomes the unknown token where SentencePiece has one. O(n log n).
  virtual std::vector<token_id> encode(std::string_view text, const encode_options& options) const = 0;
  // The bytes of one token, possibly a part of a UTF-8 character; special tokens give their text, ids outside
  // the vocabulary nothing.
  virtual std::string_view piece(token_id id) const = 0;
  // The bytes of all of them: the pieces, without the space that SentencePiece puts before a text.
  virtual std::string decode(std::span<const token_id> ids, bool skip_special_tokens) const = 0;

  virtual std::int32_t vocab_size() const = 0;
  virtual bool is_special(token_id id) const = 0;            // control and unknown tokens: not text
  virtual bool is_end_of_generation(token_id id) const = 0;  // end-of-text, end-of-turn
  virtual std::optional<token_id> bos() const = 0;
  virtual std::optional<token_id> eos() const = 0;
  virtual std::optional<token_id> find(std::string_view token_text) const = 0;

  // A text has at most so many bytes for each byte that its tokens spell.
  virtual std::size_t most_bytes_for_one() const { return 1; }
  // What was amiss in the model file and is made up for, in lines for people.
  virtual std::span<const std::string> warnings() const { return {}; }
};
using tokenizer_ptr = std::shared_ptr<const tokenizer>;

// Builds the tokenizer that the file's metadata names: tokenizer.ggml.model "gpt2" (byte-level BPE;
// tokenizer.ggml.pre says how text is split) or "llama" (SentencePiece). Errors: unsupported, corrupt_file.
result<tokenizer_ptr> load_tokenizer(const gguf::file& file);

// Turns a stream of token ids into a stream of whole UTF-8 characters. One per request.
class incremental_detokenizer {
 public:
  // at_start: false where text stands before the stream, whose first SentencePiece space is then a real one.
  incremental_detokenizer(tokenizer_ptr tokenizer, bool skip_special_tokens, bool at_start = true);
  // The text that `id` completes; bytes of an unfinished character are kept. Bytes that can never become a
  // character come out as U+FFFD.
  std::string push(token_id id);
  // What is left at the end of the stream: U+FFFD for an unfinished character, else nothing.
  std::string finish();

 private:
  tokenizer_ptr tokenizer_;
  bool skip_special_tokens_;
  bool at_start_;
  std::string pending_;
};

}  // namespace troupe
