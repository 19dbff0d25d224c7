#include "runtime/json/json_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

std::string written(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

TEST(json_writer, places_commas) {
  std::string out = "data: ";
  json_writer json(out);
  json.begin_object()
      .key("a")
      .begin_array()
      .integer(1)
      .null()
      .begin_array()
      .end_array()
      .boolean(true)
      .end_array();
  json.key("b").begin_object().end_object().key("c").string("[").key("d").number(0.5F).end_object();
  EXPECT_EQ(out, R"(data: {"a":[1,null,[],true],"b":{},"c":"[","d":0.5})");
}

TEST(json_writer, numbers_read_back_the_same) {
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    const float value = std::uniform_real_distribution<float>(-100.0F, 0.0F)(random);
    std::string out;
    json_writer(out).number(value);
    EXPECT_EQ(nlohmann::json::parse(out).get<float>(), value);
  }
  std::string out;
  json_writer(out).number(-std::numeric_limits<float>::infinity());
  EXPECT_EQ(out, "null");
}

TEST(json_writer, valid_text_reads_back_the_same) {
  std::string text;
  for (char c = 0; c < 0x7F; ++c) text += c;
  text += "\x7F\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF\u2028 \xED\x9F\xBF \xEE\x80\x80";
  EXPECT_EQ(nlohmann::json::parse(written(text)).get<std::string>(), text);
}

TEST(json_writer, any_bytes_come_out_as_valid_utf8) {
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 2 == 0 ? random() : 0xC0U + random() % 64);
    const std::string out = written(bytes);
    ASSERT_TRUE(nlohmann::json::accept(out)) << out;
    const std::string read = nlohmann::json::parse(out).get<std::string>();
    EXPECT_EQ(read, replace_invalid_utf8(bytes)) << "every way out replaces the same";
  }
  EXPECT_EQ(written("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(written("\xE2\x82"), "\"\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace troupe
