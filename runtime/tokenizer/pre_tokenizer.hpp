// Splits text into the pieces that byte-pair merges may not cross.
#pragma once
#include <cstddef>
#include <memory>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe {

// Rules as tokenizer.ggml.pre names them (split_rules.hpp), compiled by PCRE2. Immutable, shared between
// threads.
class pre_tokenizer {
 public:
  // Errors: unsupported, which lists the names that are served.
  static result<pre_tokenizer> named(std::string_view name);

  bool prefers_whole_pieces()
      const;              // a piece that is a token needs no merging (Hugging Face's ignore_merges)
  bool adds_bos() const;  // where the file is silent
  bool composes() const;  // text is brought to NFC before it is split

  // Walks the pieces of one text: together they are the whole text.
  class splitter {
   public:
    // `text` is valid UTF-8 and outlives the splitter.
    splitter(const pre_tokenizer& rules, std::string_view text);
    ~splitter();
    splitter(const splitter&) = delete;
    splitter& operator=(const splitter&) = delete;
    // The next piece, empty at the end.
    std::string_view next();

   private:
    struct state;
    std::unique_ptr<state> state_;
  };

 private:
  struct compiled;
  std::shared_ptr<const compiled> compiled_;
};

}  // namespace troupe
