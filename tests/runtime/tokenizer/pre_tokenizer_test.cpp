#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/tokenizer/pre_tokenizer.hpp"

#include <gtest/gtest.h>
#include <pcre2.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "runtime/tokenizer/split_rules.hpp"
#include "tests/runtime/tokenizer/tokenizer_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using strings = std::vector<std::string>;

strings pieces_of(const pre_tokenizer& pattern, std::string_view text) {
  strings pieces;
  pre_tokenizer::splitter splitter(pattern, text);
  for (auto piece = splitter.next(); !piece.empty(); piece = splitter.next()) pieces.emplace_back(piece);
  return pieces;
}

// tests/data/make_tokenizer_cases.py: for each kind of splitting the published patterns, and what Hugging
// Face's tokenizers make of texts with them.
const nlohmann::json& published() {
  static const nlohmann::json kinds = [] {
    std::ifstream file(test::source_path("tests/data/pre_tokenizers.json"));
    return nlohmann::json::parse(file, nullptr, false);
  }();
  return kinds;
}

// What a pattern matches, and what stands between, of each piece by itself: slowly, and as it is published.
strings split(const strings& pieces, const std::string& pattern) {
  int code = 0;
  PCRE2_SIZE at = 0;
  const std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> compiled(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                    &code, &at, nullptr),
      pcre2_code_free);
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  strings out;
  for (const std::string& piece : pieces) {
    std::size_t done = 0;
    while (pcre2_match(compiled.get(), reinterpret_cast<PCRE2_SPTR>(piece.data()), piece.size(), done, 0,
                       match.get(), nullptr) > 0) {
      const PCRE2_SIZE* const found = pcre2_get_ovector_pointer(match.get());
      if (found[0] > done) out.push_back(piece.substr(done, found[0] - done));
      out.push_back(piece.substr(found[0], found[1] - found[0]));
      done = found[1];
    }
    if (done < piece.size()) out.push_back(piece.substr(done));
  }
  return out;
}

TEST(pre_tokenizer, splits_as_hugging_face_does) {
  ASSERT_EQ(published().size(), 11U);
  for (const auto& [name, kind] : published().items()) {
    const auto pattern = pre_tokenizer::named(name);
    ASSERT_TRUE(pattern) << name;
    const auto& cases = kind.at("cases");
    EXPECT_GT(cases.size(), 100U);
    for (const auto& one : cases) {
      EXPECT_EQ(pieces_of(*pattern, one.at(0).get<std::string>()), one.at(1).get<strings>())
          << name << ": " << one.at(0).dump();
    }
  }
}

TEST(pre_tokenizer, splits_random_texts_as_the_published_patterns_do_one_after_the_other) {
  std::mt19937 random(2);
  for (const auto& [name, kind] : published().items()) {
    const auto rules = pre_tokenizer::named(name);
    ASSERT_TRUE(rules) << name;
    const auto patterns = kind.at("patterns").get<strings>();
    for (int round = 0; round < 100; ++round) {
      const std::string text = test::random_text(random, 1 + random() % 40, true);
      strings pieces = {text};
      for (const std::string& pattern : patterns) pieces = split(pieces, pattern);
      EXPECT_EQ(pieces_of(*rules, text), pieces) << name << ": " << testing::PrintToString(text);
    }
  }
}

TEST(pre_tokenizer, splits_as_its_namesakes_do) {
  const std::vector<strings> alike = {
      {"gpt-2", "phi-2", "smollm", "mellum", "trillion", "a.x-4.0"},
      {"starcoder", "refact", "command-r", "codeshell", "minerva-7b"},
      {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "smaug-bpe"},
      {"qwen2", "deepseek-r1-qwen", "megrez", "kormo"},
      {"gpt-4o", "llama4", "kanana2"}};
  const std::string text = " Hello 12345\n\n  X's d\u00e9j\u00e0//\n!? \u65e5\u672c 1";
  for (const strings& names : alike) {
    const auto first = pre_tokenizer::named(names.front());
    ASSERT_TRUE(first) << names.front();
    for (const std::string& name : names) {
      const auto other = pre_tokenizer::named(name);
      ASSERT_TRUE(other) << name;
      EXPECT_EQ(pieces_of(*other, text), pieces_of(*first, text)) << name;
    }
  }
}

TEST(pre_tokenizer, loses_nothing_of_a_long_text) {
  for (const auto& [name, kind] : published().items()) {
    const auto pattern = pre_tokenizer::named(name);
    ASSERT_TRUE(pattern);
    for (const char* unit : {"a", " ", "\n", "1", "!", "'s", " \n", "  x", "\xE3\x80\x80", "\xF0\x9F\x98\x80",
                             "A", "aB", "A\xCC\x81", "\xE6\x97\xA5", "/"}) {
      std::string text;
      while (text.size() < 300'000) text += unit;
      std::string joined;
      for (const auto& piece : pieces_of(*pattern, text)) joined += piece;
      EXPECT_TRUE(joined == text) << name << ": " << unit;
    }
  }
}

TEST(pre_tokenizer, takes_a_mebibyte_of_one_letter_as_one_piece) {
  for (const auto& [name, kind] : published().items()) {
    const auto pattern = pre_tokenizer::named(name);
    ASSERT_TRUE(pattern);
    for (const char letter : {'a', 'A'})
      EXPECT_EQ(pieces_of(*pattern, std::string(1U << 20U, letter)).size(), 1U) << name << ": " << letter;
    // Blanks that something follows: each place is looked at a few times only.
    EXPECT_LE(pieces_of(*pattern, std::string(1U << 20U, ' ') + "1").size(), 3U) << name;
  }
}

TEST(pre_tokenizer, names_one_that_it_does_not_know_and_those_that_it_does) {
  const auto pattern = pre_tokenizer::named("kimi-k2");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, error_code::unsupported);
  EXPECT_EQ(
      pattern.error().message,
      "tokenizer.ggml.pre: the pre-tokenizer 'kimi-k2' is not supported; these are: " + split_rule_names());
  EXPECT_NE(split_rule_names().find("tekken, "), std::string::npos);
}

// llama.cpp's defaults for Mistral's files: begin-of-text, and pieces that are tokens need no merging.
TEST(pre_tokenizer, knows_what_tekken_takes_for_granted) {
  const auto tekken = pre_tokenizer::named("tekken");
  ASSERT_TRUE(tekken);
  EXPECT_TRUE(tekken->adds_bos());
  EXPECT_TRUE(tekken->prefers_whole_pieces());
  EXPECT_FALSE(tekken->composes());
}

}  // namespace
}  // namespace troupe
