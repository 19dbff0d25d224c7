#include "runtime/utf8.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

namespace troupe {
namespace {

TEST(utf8, replaces_by_maximal_parts) {  // Unicode 15, section 3.9, table 3-8 and following
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x8F\xBF\xBF"), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(utf8, knows_a_valid_text_as_json_does) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 2 == 0 ? random() : 0xC0U + random() % 64);
    bool valid = true;
    try {
      [[maybe_unused]] const std::string strict = nlohmann::json(bytes).dump();
    } catch (const nlohmann::json::type_error&) {
      valid = false;
    }
    EXPECT_EQ(valid_utf8_prefix(bytes) == bytes.size(), valid);
    EXPECT_EQ(replace_invalid_utf8(bytes) == bytes, valid);
  }
}

TEST(utf8, counts_characters_and_replacements) {
  EXPECT_EQ(utf8_length(""), 0);
  EXPECT_EQ(utf8_length("a\u00e9\u20ac\U0001F600"), 4);
  for (const std::string bytes : {"a\xFF\xE2\x82", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"})
    EXPECT_EQ(utf8_length(bytes), utf8_length(replace_invalid_utf8(bytes)));
}

}  // namespace
}  // namespace troupe
