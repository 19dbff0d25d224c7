// Any bytes as text, and as tokens, through each kind of tokenizer. The first byte chooses which.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/utf8.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/tiny_vocabulary.hpp"

namespace troupe::fuzz {
namespace {

// Empty: SentencePiece.
constexpr const char* pre_tokenizers[] = {"smollm", "gpt-2",          "llama-bpe",    "qwen2",  "",
                                          "tekken", "deepseek-coder", "deepseek-llm", "viking", "default"};

tokenizer_ptr load(const std::string& pre) {
  test::gguf_writer writer;
  test::add_vocabulary(
      writer, pre.empty() ? test::tiny_sentencepiece_vocabulary() : test::tiny_bpe_vocabulary(), pre);
  const memory_file file(writer.bytes());
  const auto opened = gguf::file::open(file.path());
  require(opened.has_value(), "the vocabulary's file opens");
  const auto loaded = load_tokenizer(*opened);
  require(loaded.has_value(), "the vocabulary loads");
  return *loaded;
}

const std::vector<tokenizer_ptr>& tokenizers() {
  static const std::vector<tokenizer_ptr> all = [] {
    std::vector<tokenizer_ptr> loaded;
    for (const char* pre : pre_tokenizers) loaded.push_back(load(pre));
    return loaded;
  }();
  return all;
}

void encode(const tokenizer& text_of, std::string_view text, bool is_sentencepiece) {
  const auto plain = text_of.encode(text, {.add_special_tokens = false, .parse_special = false});
  // NFC takes some characters apart: U+1D160's four bytes become twelve.
  const std::size_t grows = text_of.most_bytes_for_one() == 1 ? 1 : 3;
  require(plain.size() <= grows * text.size() + 3,
          "a byte is one token at most; SentencePiece puts a space before");
  for (const token_id id : plain)
    require(id >= 0 && id < text_of.vocab_size(), "tokens are of the vocabulary");
  if (!is_sentencepiece) {
    const std::string back = text_of.decode(plain, false);
    require(text_of.most_bytes_for_one() > 1 || back == text, "bytes come back as they were");
    require(text.size() <= text_of.most_bytes_for_one() * back.size(),
            "no text is longer than the tokenizer says");
  }
  for (const token_id id : text_of.encode(text, {}))
    require(id >= 0 && id < text_of.vocab_size(), "special tokens are of the vocabulary");
}

void decode(const tokenizer_ptr& text_of, std::string_view bytes) {
  incremental_detokenizer stream(text_of, false);
  std::string text;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const auto high = static_cast<unsigned char>(bytes[i]);
    const auto low = static_cast<unsigned char>(bytes[i + 1]);
    text += stream.push(static_cast<token_id>((high << 8U | low) % 400) - 20);
  }
  text += stream.finish();
  require(valid_utf8_prefix(text) == text.size(), "a stream of any tokens is UTF-8");
}

}  // namespace
}  // namespace troupe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto& all = troupe::fuzz::tokenizers();
  const std::size_t chosen = data[0] % all.size();
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  troupe::fuzz::encode(*all[chosen], text, std::string_view(troupe::fuzz::pre_tokenizers[chosen]).empty());
  troupe::fuzz::decode(all[chosen], text);
  return 0;
}
