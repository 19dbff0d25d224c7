// Tokenizers for tests: the default model's, and small ones made of metadata.
#pragma once
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_vocabulary.hpp"

namespace troupe::test {

inline gguf::file open_default_model() {
  auto file = gguf::file::open(test::default_model_path());
  if (!file) ADD_FAILURE() << file.error().message;
  return file ? *file : gguf::file();
}

// The SmolLM2 tokenizer, loaded once.
inline tokenizer_ptr default_tokenizer() {
  static const auto tokenizer = load_tokenizer(open_default_model());
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

inline result<tokenizer_ptr> load_tokenizer(const gguf_writer& writer) {
  const temporary_file saved(writer.bytes());
  const auto file = gguf::file::open(saved.path());
  if (!file) return tl::unexpected(file.error());
  return troupe::load_tokenizer(*file);
}

inline tokenizer_ptr tiny_tokenizer(const std::string& pre) {
  gguf_writer writer;
  add_vocabulary(writer, pre.empty() ? tiny_sentencepiece_vocabulary() : tiny_bpe_vocabulary(), pre);
  const auto tokenizer = load_tokenizer(writer);
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

// Texts that meet the borders: words, spaces, digits, several scripts, and, where asked, bytes that are no
// text.
inline std::string random_text(std::mt19937& random, std::size_t parts, bool valid_only) {
  static const std::vector<std::string> pieces = {"the ",
                                                  "and",
                                                  " of ",
                                                  "a",
                                                  " ",
                                                  "  ",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  "1",
                                                  "42",
                                                  "don't",
                                                  "I'LL",
                                                  "é",
                                                  "naïve",
                                                  "日本語",
                                                  "한국",
                                                  "Привет",
                                                  "👩‍👩‍👧",
                                                  "½",
                                                  "!?",
                                                  "...",
                                                  " <sep>",
                                                  "<unk>",
                                                  "</s>",
                                                  "\u00a0",
                                                  "\u3000",
                                                  "▁",
                                                  "ſ",
                                                  "İ",
                                                  "\u0301",
                                                  "<|im_end|>",
                                                  "مرحبا"};
  std::string text;
  for (std::size_t part = 0; part < parts; ++part) {
    if (!valid_only && random() % 4 == 0) {
      text += static_cast<char>(random());
    } else {
      text += pieces[random() % pieces.size()];
    }
  }
  return text;
}

}  // namespace troupe::test
