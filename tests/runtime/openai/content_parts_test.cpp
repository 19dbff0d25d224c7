#include "runtime/openai/content_parts.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::openai {
namespace {

TEST(text_of_parts, joins_texts_and_refusals_by_lines) {
  const json parts = json::parse(R"([{"type":"text","text":"a"},{"type":"input_text","text":"b"},
    {"type":"output_text","text":""},{"type":"refusal","refusal":"c"}])");
  EXPECT_EQ(*text_of_parts(parts, "messages[0].content"), "a\nb\n\nc");
  EXPECT_EQ(*text_of_parts(json::array(), "input"), "");
}

TEST(text_of_parts, names_what_is_none_and_where_it_stands) {
  for (const char* part : {"5", "{}", R"({"type":5})", R"({"type":"input_image"})", R"({"type":"text"})",
                           R"({"type":"refusal","text":"a"})", R"({"type":"text","text":5})"}) {
    const auto text = text_of_parts(json::parse("[" + std::string(part) + "]"), "messages[3].content");
    ASSERT_FALSE(text.has_value()) << part;
    EXPECT_EQ(text.error().param, "messages");
    EXPECT_TRUE(text.error().message.starts_with("messages[3].content ")) << text.error().message;
  }
}

}  // namespace
}  // namespace troupe::openai
