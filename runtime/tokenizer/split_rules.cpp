#include "runtime/tokenizer/split_rules.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

// The published patterns, with \s written as S: PCRE2's own \s differs from Unicode's White_Space in U+180E.
// Possessive repeats (++) change no match here and need no backtracking.
#define S R"(\t-\r\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define BLANKS "[" S "]*[\\r\\n]++|[" S "]+(?![^" S "])|[" S "]++"

constexpr const char* line_break = "[\\r\\n]";
constexpr const char* digit = "\\p{N}";

// GPT-2's encoder.py.
constexpr const char* gpt2_pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}++| ?\\p{N}++| ?[^" S "\\p{L}\\p{N}]++|[" S "]+(?![^" S "])|[" S "]++";
constexpr std::array gpt2_patterns = {gpt2_pattern};
// Every digit alone, and GPT-2's pattern between them.
constexpr std::array starcoder_patterns = {digit, gpt2_pattern};
// Llama 3's tokenizer.py.
constexpr std::array llama3_patterns = {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}{1,3}+| ?[^" S
                                                    "\\p{L}\\p{N}]++[\\r\\n]*+|" BLANKS};
// Qwen2's tokenization_qwen2.py: as Llama 3's, but every digit alone.
constexpr std::array qwen2_patterns = {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}| ?[^" S
                                                   "\\p{L}\\p{N}]++[\\r\\n]*+|" BLANKS};
// As Qwen2's, but line breaks stay apart from what stands before them.
constexpr std::array seed_coder_patterns = {CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}++|\\p{N}| ?[^" S
                                                        "\\p{L}\\p{N}]++|" BLANKS};

// Words that begin anew before a capital letter. The repeat that is not possessive gives letters without case
// back.
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define WORDS(ending)                                                                             \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "++" ending "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "++" LOWER \
  "*"                                                                                             \
  "+" ending
#define SYMBOLS " ?[^" S "\\p{L}\\p{N}]++[\\r\\n/]*+"
// Mistral's tekken.json.
constexpr std::array tekken_patterns = {WORDS("") "|\\p{N}|" SYMBOLS "|" BLANKS};
// o200k_base of OpenAI's tiktoken.
constexpr std::array gpt4o_patterns = {WORDS(CONTRACTION "?+") "|\\p{N}{1,3}+|" SYMBOLS "|" BLANKS};

// What DeepSeek's files call Chinese, Japanese and Korean.
constexpr const char* cjk = R"([\x{800}-\x{9fa5}\x{ac00}-\x{d7ff}]++)";
constexpr std::array deepseek_coder_patterns = {line_break, "[" S "]?\\p{L}++", "[" S "]?\\p{P}++", cjk,
                                                digit};
// The letters that have an upper and a lower case, as DeepSeek-LLM's tokenizer.json lists them.
constexpr const char* cased_word =
    "[" S
    "]?"
    R"([A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293})"
    R"(\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1})"
    R"(\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd})"
    R"(\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15})"
    R"(\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d})"
    R"(\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb})"
    R"(\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d})"
    R"(\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e})"
    R"(\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d})"
    R"(\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06})"
    R"(\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb})"
    R"(\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]++)";
constexpr const char* marks_word =
    "[" S
    "]?"
    R"([!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]++)";
// \s+$, looked for where such a stretch begins alone: else a stretch that is not the last is tried from each
// place.
constexpr const char* blanks_at_end = "(?<![" S "])[" S "]++\\z";
constexpr std::array deepseek_llm_patterns = {line_break, cased_word, marks_word, blanks_at_end, cjk, digit};

// BLOOM's pattern, and every digit alone.
constexpr std::array viking_patterns = {
    " ?[^" S R"((|.,!?)\x{2026}\x{3002}\x{ff0c}\x{3001}\x{964}\x{6d4}\x{60c}]++)", digit};
// What llama.cpp does with files that do not say.
constexpr std::array default_patterns = {"[\\p{P}$+<=>^~|]++", gpt2_pattern, "\\p{N}++", "[0-9]{3}"};
#undef SYMBOLS
#undef WORDS
#undef LOWER
#undef UPPER
#undef BLANKS
#undef CONTRACTION
#undef S

constexpr split_rules gpt2{.patterns = gpt2_patterns};
constexpr split_rules starcoder{.patterns = starcoder_patterns};
constexpr split_rules llama3{.patterns = llama3_patterns, .whole_pieces = true, .add_bos = true};
constexpr split_rules smaug{.patterns = llama3_patterns};
constexpr split_rules qwen2{.patterns = qwen2_patterns, .composes = true};
constexpr split_rules like_qwen2{.patterns = qwen2_patterns};
constexpr split_rules seed_coder{.patterns = seed_coder_patterns};
constexpr split_rules tekken{.patterns = tekken_patterns, .whole_pieces = true, .add_bos = true};
constexpr split_rules gpt4o{.patterns = gpt4o_patterns};
constexpr split_rules deepseek_coder{.patterns = deepseek_coder_patterns};
constexpr split_rules deepseek_llm{.patterns = deepseek_llm_patterns};
constexpr split_rules viking{.patterns = viking_patterns};
constexpr split_rules unsaid{.patterns = default_patterns};

struct named_rules {
  std::string_view name;
  const split_rules* rules;
};
// The names that llama.cpp's conversion writes (src/llama-vocab.cpp).
constexpr named_rules known[] = {
    {"default", &unsaid},
    {"gpt-2", &gpt2},
    {"phi-2", &gpt2},
    {"mellum", &gpt2},
    {"trillion", &gpt2},
    {"a.x-4.0", &gpt2},
    // As Hugging Face's tokenizers that are made from such a file. llama.cpp, and the tokenizer that the
    // models were trained with, cut before every digit first, so that two white spaces before one are one
    // token there and two here (docs/engine.md).
    {"smollm", &gpt2},
    {"starcoder", &starcoder},
    {"refact", &starcoder},
    {"command-r", &starcoder},
    {"codeshell", &starcoder},
    {"minerva-7b", &starcoder},
    {"llama-bpe", &llama3},
    {"llama3", &llama3},
    {"llama-v3", &llama3},
    {"falcon3", &llama3},
    {"falcon-h1", &llama3},
    {"pixtral", &llama3},
    {"midm-2.0", &llama3},
    {"lfm2", &llama3},
    {"smaug-bpe", &smaug},
    {"qwen2", &qwen2},
    {"deepseek-r1-qwen", &qwen2},
    {"megrez", &like_qwen2},
    {"kormo", &like_qwen2},
    {"seed-coder", &seed_coder},
    {"tekken", &tekken},
    {"gpt-4o", &gpt4o},
    {"llama4", &gpt4o},
    {"kanana2", &gpt4o},
    {"deepseek-coder", &deepseek_coder},
    {"deepseek-llm", &deepseek_llm},
    {"viking", &viking},
};

}  // namespace

const split_rules* find_split_rules(std::string_view name) {
  const auto* const found = std::ranges::find(known, name, &named_rules::name);
  return found == std::end(known) ? nullptr : found->rules;
}

std::string split_rule_names() {
  std::string names;
  for (const named_rules& one : known) {
    if (!names.empty()) names += ", ";
    names += one.name;
  }
  return names;
}

}  // namespace troupe
