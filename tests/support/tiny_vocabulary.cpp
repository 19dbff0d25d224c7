#include "tests/support/tiny_vocabulary.hpp"

#include <array>
#include <cstdio>
#include <string_view>

namespace troupe::test {
namespace {

constexpr const char* chatml_template =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

std::string utf8(std::uint32_t code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0U | code_point >> 6U), static_cast<char>(0x80U | (code_point & 0x3FU))};
}

// GPT-2's bytes_to_unicode: printable bytes stand for themselves, the others for U+0100 and on, in order.
std::array<std::string, 256> byte_alphabet() {
  std::array<std::string, 256> out;
  std::uint32_t next = 0x100;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    out[byte] = utf8(printable ? byte : next++);
  }
  return out;
}

// Pairs to merge, best first; Ġ is the space of GPT-2's alphabet.
constexpr std::array<std::string_view, 40> merges = {
    "Ġ t",  "Ġ a", "h e",  "i n",  "r e", "o n", "Ġt he", "e r", "Ġ s",  "a t", "Ġ w",  "Ġ o",  "e n", "Ġ c",
    "i t",  "i s", "a n",  "o r",  "e s", "Ġ b", "e d",   "Ġ f", "in g", "Ġ p", "o u",  "Ġa n", "a l", "a r",
    "Ġt o", "Ġ m", "Ġo f", "Ġ in", "Ġ d", "Ġ h", "Ġan d", "i c", "a s",  "l e", "Ġt h", "o m"};

void add(tiny_vocabulary& vocabulary, std::string token, std::int32_t type, float score = 0.0F) {
  vocabulary.tokens.push_back(std::move(token));
  vocabulary.types.push_back(type);
  vocabulary.scores.push_back(score);
}

}  // namespace

tiny_vocabulary tiny_bpe_vocabulary() {
  tiny_vocabulary out;
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) add(out, control, 3);
  for (const auto& letter : byte_alphabet()) add(out, letter, 1);
  for (const auto merge : merges) {
    const auto gap = merge.find(' ');
    out.merges.emplace_back(merge);
    add(out, std::string(merge.substr(0, gap)) + std::string(merge.substr(gap + 1)), 1);
  }
  out.bos = 0;
  out.eos = 2;
  return out;
}

tiny_vocabulary tiny_sentencepiece_vocabulary() {
  tiny_vocabulary out;
  add(out, "<unk>", 2);
  for (const char* control : {"<s>", "</s>"}) add(out, control, 3);
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "<0x%02X>", byte);
    add(out, text.data(), 6);
  }
  for (const char* control : {"<|im_start|>", "<|im_end|>"}) add(out, control, 3);
  float score = -1.0F;
  for (const char* piece :
       {"▁t", "▁a", "he", "in", "re", "on", "▁the", "er", "▁s",  "at",  "▁w",   "▁o",  "en", "▁c",
        "it", "is", "an", "or", "es", "▁b", "ed",   "▁f", "ing", "▁an", "▁and", "▁to", "▁of"}) {
    add(out, piece, 1, score);
    score -= 1.0F;
  }
  add(out, "▁", 1, score);
  for (char letter = '!'; letter <= '~'; ++letter) add(out, std::string(1, letter), 1, score -= 1.0F);
  out.bos = 1;
  out.eos = 2 + 256 + 2;
  return out;
}

void add_vocabulary(gguf_writer& writer, const tiny_vocabulary& vocabulary, const std::string& pre) {
  const bool sentencepiece = pre.empty();
  writer.add("tokenizer.ggml.model", sentencepiece ? "llama" : "gpt2");
  writer.add("tokenizer.ggml.pre", sentencepiece ? "default" : pre.c_str());
  writer.add("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.add("tokenizer.ggml.token_type", vocabulary.types);
  if (sentencepiece) {
    writer.add("tokenizer.ggml.scores", vocabulary.scores);
    writer.add("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  } else {
    writer.add("tokenizer.ggml.merges", vocabulary.merges);
  }
  writer.add("tokenizer.ggml.bos_token_id", static_cast<std::uint32_t>(vocabulary.bos));
  writer.add("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(vocabulary.eos));
  writer.add("tokenizer.ggml.add_bos_token", sentencepiece);
  writer.add("tokenizer.chat_template", chatml_template);
}

}  // namespace troupe::test
