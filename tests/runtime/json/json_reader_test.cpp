#include "runtime/json/json_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace troupe {
namespace {

json random_document(std::mt19937& random, int depth) {
  switch (std::uniform_int_distribution<int>(0, depth > 0 ? 7 : 5)(random)) {
    case 0:
      return nullptr;
    case 1:
      return (random() & 1U) != 0;
    case 2:
      return static_cast<std::int64_t>(random()) - (1LL << 31);
    case 3:
      return static_cast<std::uint64_t>(random()) << 32U;
    case 4:
      return std::uniform_real_distribution<double>(-1e9, 1e9)(random);
    case 5:
      return std::string(random() % 20, static_cast<char>(' ' + random() % 90));
    case 6: {
      json array = json::array();
      for (auto i = random() % 5; i > 0; --i) array.push_back(random_document(random, depth - 1));
      return array;
    }
    default: {
      json object = json::object();
      for (auto i = random() % 5; i > 0; --i) {
        object[std::to_string(random() % 100)] = random_document(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(read_json, gives_back_any_document_with_its_order) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const json document = random_document(random, 5);
    const auto read = read_json(document.dump());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->dump(), document.dump());
  }
}

TEST(read_json, refuses_what_is_not_strict_json) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":1,}",
                           "NaN",
                           "[NaN]",
                           "[Infinity]",
                           "[-Infinity]",
                           "[1e400]",
                           "[-1e400]",
                           "[01]",
                           "[+1]",
                           "[.5]",
                           "'a'",
                           "{a:1}",
                           "[1] [2]",
                           "// c\n1",
                           "/* c */1",
                           "\"\n\"",
                           "\"\\x\"",
                           "nul",
                           "\"\\ud800\"",
                           "\"\\udc00\\ud800\"",
                           "\"\xFF\"",
                           "\"\xC0\xAF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xE2\x82\"",
                           "[\"\xE2\x82\"]",
                           "\xFF\xFE{}"}) {
    const auto read = read_json(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error().code, error_code::invalid_argument) << text;
    EXPECT_FALSE(read.error().message.empty()) << text;
  }
}

TEST(read_json, says_that_a_number_is_out_of_range) {
  EXPECT_NE(read_json("[1e400]").error().message.find("out of range"), std::string::npos);
}

TEST(read_json, says_which_text_is_none_and_repeats_nothing_of_it) {
  const auto told = [](const char* text) { return read_json(text).error().message; };
  EXPECT_EQ(told(R"({"secret":"\ud800"})"),
            "a string has half of a surrogate pair, which is no character, at byte 18");
  EXPECT_EQ(told(R"(["\udc00x"])"),
            "a string has half of a surrogate pair, which is no character, at byte 8");
  EXPECT_EQ(told("[\"secret\xFF\"]"), "the body is not UTF-8 at byte 9");
  EXPECT_EQ(told("[\"surrogate ill-formed UTF-8\" \"surrogate\"]"), "the body is not valid JSON at byte 41");
}

TEST(read_json, calls_the_text_what_its_caller_does) {
  const auto told = [](const char* text) {
    return read_json(text, {.max_depth = 2}, {}, "the schema").error().message;
  };
  EXPECT_EQ(told("[1"), "the schema is not valid JSON at byte 3");
  EXPECT_EQ(told("[\"\xFF\"]"), "the schema is not UTF-8 at byte 3");
  EXPECT_EQ(told("[\"\\ud800\"]"),
            "the schema: a string has half of a surrogate pair, which is no character, at byte 9");
  EXPECT_EQ(told("[1e400]"), "the schema: a number is out of range at byte 6, at \"/0\"");
  EXPECT_EQ(told("[[[]]]"), "the schema: the JSON is nested too deeply, more than 2 levels");
}

TEST(read_json, the_last_of_equal_names_counts) {
  const auto read = read_json(R"({"a":1,"b":2,"a":[3],"c":4,"a":5,"b":{"x":1,"x":2}})");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->dump(), R"({"a":5,"b":{"x":2},"c":4})");
}

TEST(read_json, bounds_the_depth_without_recursing) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(read_json(nested(1024)).has_value());
  EXPECT_EQ(read_json(nested(1025)).error().message, "the JSON is nested too deeply, more than 1024 levels");
  EXPECT_TRUE(read_json(nested(64), {.max_depth = 64}).has_value());
  EXPECT_EQ(read_json(nested(65), {.max_depth = 64}).error().message,
            "the JSON is nested too deeply, more than 64 levels");
  EXPECT_FALSE(read_json(nested(1'000'000)).has_value());
  EXPECT_FALSE(read_json(std::string(1'000'000, '[')).has_value());
  std::string objects;
  for (int i = 0; i < 1025; ++i) objects += "{\"a\":";
  EXPECT_FALSE(read_json(objects + "1" + std::string(1025, '}')).has_value());
}

TEST(read_json, brackets_inside_strings_are_no_depth) {
  EXPECT_TRUE(read_json("\"" + std::string(1000, '[') + "\\\"[[[\"").has_value());
}

TEST(read_json, bounds_values_and_members) {
  json_limits limits;
  limits.max_values = 4;
  EXPECT_TRUE(read_json("[1,2,3]", limits).has_value());
  EXPECT_FALSE(read_json("[1,2,3,4]", limits).has_value());
  limits = {};
  limits.max_large_values = 3;
  EXPECT_TRUE(read_json("[{},\"a\",1,2,3]", limits).has_value());
  EXPECT_FALSE(read_json("[{},\"a\",\"b\"]", limits).has_value());
  limits = {};
  limits.max_members = 2;
  EXPECT_TRUE(read_json(R"({"a":1,"b":2})", limits).has_value());
  EXPECT_FALSE(read_json(R"({"a":1,"b":2,"c":3})", limits).has_value());
}

TEST(read_json, takes_an_object_with_as_many_members_as_the_limit) {
  std::string text = "{";
  const std::size_t count = json_limits{}.max_members;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  const auto read = read_json(text + "}");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->size(), count);
}

TEST(read_json, any_bytes_are_a_document_or_an_error) {
  std::mt19937 random(11);
  const std::string valid =
      R"({"messages":[{"role":"user","content":"h\u00e9\ud83d\ude00"}],"n":[1,-2,3.5e2,true,null]})";
  for (int i = 0; i < 20000; ++i) {
    std::string text = valid;
    for (auto edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.resize(at + 1);
      } else {
        text[at] = static_cast<char>(random());
      }
    }
    const auto read = read_json(text);
    if (read) {
      EXPECT_EQ(read->dump(), json::parse(text).dump());
    }
    if (!read) {
      EXPECT_FALSE(json::accept(text) && text.find("1e") == std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace troupe
