#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <string>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

// The published patterns, with \s written as S: PCRE2's own \s differs from Unicode's White_Space in U+180E.
// Possessive repeats (++) change no match here and need no backtracking.
#define S R"(\t-\r\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

// GPT-2's encoder.py.
constexpr const char* gpt2_pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}++| ?\\p{N}++| ?[^" S "\\p{L}\\p{N}]++|[" S "]+(?![^" S "])|[" S "]++";
// Llama 3's tokenizer.py.
constexpr const char* llama3_pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}{1,3}+| ?[^" S
    "\\p{L}\\p{N}]++[\\r\\n]*+|[" S "]*[\\r\\n]++|[" S "]+(?![^" S "])|[" S "]++";
// Qwen2's tokenization_qwen2.py: as Llama 3's, but every digit alone.
constexpr const char* qwen2_pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}| ?[^" S
    "\\p{L}\\p{N}]++[\\r\\n]*+|[" S "]*[\\r\\n]++|[" S "]+(?![^" S "])|[" S "]++";
#undef S

struct family {
  const char* pattern;
  bool whole_pieces;
  bool add_bos;
};
constexpr family gpt2{gpt2_pattern, false, false};
constexpr family llama3{llama3_pattern, true, true};
constexpr family qwen2{qwen2_pattern, false, false};

struct name {
  std::string_view text;
  const family* is;
};
// The names that llama.cpp's conversion writes for these patterns (src/llama-vocab.cpp).
constexpr std::array<name, 11> names = {
    {{"gpt-2", &gpt2},
     {"phi-2", &gpt2},
     // As Hugging Face's tokenizers that are made from such a file. llama.cpp, and the tokenizer that the
     // models were trained with, cut before every digit first, so that two white spaces before one are one
     // token there and two here (docs/engine.md).
     {"smollm", &gpt2},
     {"llama-bpe", &llama3},
     {"llama3", &llama3},
     {"llama-v3", &llama3},
     {"falcon3", &llama3},
     {"pixtral", &llama3},
     {"qwen2", &qwen2},
     {"deepseek-r1-qwen", &qwen2},
     {"megrez", &qwen2}}};

// Backtracking steps per byte: more than the patterns can need, so that a limit is met only where PCRE2
// itself fails.
constexpr std::size_t steps_per_byte = 64;

}  // namespace

struct pre_tokenizer::compiled {
  pcre2_code* code = nullptr;
  const family* is = nullptr;
  compiled() = default;
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;
  ~compiled() { pcre2_code_free(code); }
};

struct pre_tokenizer::splitter::state {
  std::shared_ptr<const pre_tokenizer::compiled> pattern;
  std::string_view text;
  std::size_t position = 0;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* limits = nullptr;
  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    pcre2_match_data_free(match);
    pcre2_match_context_free(limits);
  }
};

result<pre_tokenizer> pre_tokenizer::named(std::string_view wanted) {
  const auto* found =
      std::find_if(names.begin(), names.end(), [wanted](const name& known) { return known.text == wanted; });
  if (found == names.end()) {
    return fail(error_code::unsupported,
                fmt::format("tokenizer.ggml.pre: the pre-tokenizer '{}' is not supported",
                            replace_invalid_utf8(wanted.substr(0, 100))));
  }
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto made = std::make_shared<compiled>();
  made->is = found->is;
  made->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(found->is->pattern), PCRE2_ZERO_TERMINATED,
                             PCRE2_UTF | PCRE2_ANCHORED, &code, &offset, nullptr);
  if (made->code == nullptr) {
    return fail(error_code::internal,
                fmt::format("PCRE2 refuses the pattern of '{}': error {} at {}", wanted, code, offset));
  }
  pcre2_jit_compile(made->code,
                    PCRE2_JIT_COMPLETE);  // where the machine has no JIT, the interpreter does the same
  pre_tokenizer pattern;
  pattern.compiled_ = std::move(made);
  return pattern;
}

bool pre_tokenizer::prefers_whole_pieces() const { return compiled_->is->whole_pieces; }
bool pre_tokenizer::adds_bos() const { return compiled_->is->add_bos; }

pre_tokenizer::splitter::splitter(const pre_tokenizer& pattern, std::string_view text)
    : state_(std::make_unique<state>()) {
  state_->pattern = pattern.compiled_;
  state_->text = text;
  state_->match = pcre2_match_data_create(1, nullptr);
  state_->limits = pcre2_match_context_create(nullptr);
  if (state_->match == nullptr || state_->limits == nullptr) throw std::bad_alloc();
  const auto steps = std::min<std::size_t>(steps_per_byte * text.size() + 10'000, UINT32_MAX);
  pcre2_set_match_limit(state_->limits, static_cast<std::uint32_t>(steps));
}

pre_tokenizer::splitter::~splitter() = default;

std::string_view pre_tokenizer::splitter::next() {
  auto& at = state_->position;
  const auto text = state_->text;
  if (at == text.size()) return {};
  const int found = pcre2_match(state_->pattern->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                at, PCRE2_NO_UTF_CHECK, state_->match, state_->limits);
  // The patterns match at every place; should PCRE2 give up, one character goes alone and nothing is lost.
  auto end = at + first_utf8_unit(text.substr(at)).size;
  if (found >= 0) end = std::max(end, static_cast<std::size_t>(pcre2_get_ovector_pointer(state_->match)[1]));
  const auto piece = text.substr(at, end - at);
  at = end;
  return piece;
}

}  // namespace troupe
