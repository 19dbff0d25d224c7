#include "runtime/tokenizer/pre_tokenizer.hpp"
#include "tests/support/paths.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace troupe {
namespace {

std::vector<std::string> pieces_of(const pre_tokenizer& pattern, std::string_view text) {
  std::vector<std::string> pieces;
  pre_tokenizer::splitter splitter(pattern, text);
  for (auto piece = splitter.next(); !piece.empty(); piece = splitter.next()) pieces.emplace_back(piece);
  return pieces;
}

// tests/data/make_tokenizer_cases.py
TEST(pre_tokenizer, splits_as_hugging_face_does) {
  std::ifstream file(test::source_path("tests/data/pre_tokenizers.json"));
  const auto patterns = nlohmann::json::parse(file, nullptr, false);
  ASSERT_EQ(patterns.size(), 3U);
  for (const auto& [name, cases] : patterns.items()) {
    const auto pattern = pre_tokenizer::named(name);
    ASSERT_TRUE(pattern);
    EXPECT_GT(cases.size(), 100U);
    for (const auto& one : cases) {
      EXPECT_EQ(pieces_of(*pattern, one.at(0).get<std::string>()), one.at(1).get<std::vector<std::string>>())
          << name << ": " << one.at(0).dump();
    }
  }
}

TEST(pre_tokenizer, loses_nothing_of_a_long_text) {
  for (const char* name : {"smollm", "gpt-2", "llama-bpe", "qwen2"}) {
    const auto pattern = pre_tokenizer::named(name);
    ASSERT_TRUE(pattern);
    for (const char* unit :
         {"a", " ", "\n", "1", "!", "'s", " \n", "  x", "\xE3\x80\x80", "\xF0\x9F\x98\x80"}) {
      std::string text;
      while (text.size() < 300'000) text += unit;
      std::string joined;
      for (const auto& piece : pieces_of(*pattern, text)) joined += piece;
      EXPECT_TRUE(joined == text) << name << ": " << unit;
    }
  }
}

TEST(pre_tokenizer, names_one_that_it_does_not_know) {
  const auto pattern = pre_tokenizer::named("deepseek-llm");
  ASSERT_FALSE(pattern);
  EXPECT_EQ(pattern.error().code, error_code::unsupported);
  EXPECT_NE(pattern.error().message.find("deepseek-llm"), std::string::npos);
}

}  // namespace
}  // namespace troupe
