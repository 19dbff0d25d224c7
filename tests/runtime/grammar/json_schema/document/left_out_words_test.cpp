// What is left of schemas whose words cannot be enforced; tool_calls_test.cpp has what they let through then.
#include "runtime/grammar/json_schema/document/left_out_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/grammar/json_schema/checked_schema.hpp"

namespace troupe::json_schema {
namespace {

const std::string odd = R"({"type":"string","pattern":"(?<=a)b"})";

// What is left once what is refused has gone, word by word; empty: nothing is to blame but a part.
std::string left_of(const std::string& text, std::size_t most = 8) {
  json schema = json::parse(text);
  for (std::size_t i = 0; i <= most; ++i) {
    const auto read = read_json_schema(schema.dump(), {});
    if (read) return schema.dump();
    if (!leave_out(schema, read.error(), {})) break;
  }
  return "";
}

TEST(left_out_words, take_what_turns_about_with_them_in_one_go) {
  std::string turned;
  for (int i = 0; i < 20; ++i) turned += R"("a)" + std::to_string(i) + R"(":{"not":{"$ref":"#/$defs/b"}},)";
  const auto schema = [](const std::string& members) {
    return R"({"type":"object","$defs":{"b":)" + odd + R"(},"properties":{)" + members +
           R"("z":{"$ref":"#/$defs/b"}}})";
  };
  const std::string left = left_of(schema(turned), 1);
  EXPECT_EQ(left.find("not"), std::string::npos) << left;
  EXPECT_EQ(left.find("pattern"), std::string::npos) << left;
  EXPECT_NE(left.find(R"("z":{"$ref":"#/$defs/b"})"), std::string::npos) << left;

  for (std::size_t i = 0; i < most_turned; ++i)
    turned += R"("b)" + std::to_string(i) + R"(":{"not":{"$ref":"#/$defs/b"}},)";
  EXPECT_EQ(left_of(schema(turned)), "") << "more go than anybody has read";
}

TEST(left_out_words, may_lie_within_one_another) {
  const std::string left = left_of(
      R"({"$defs":{"bad":)" + odd +
      R"(},"not":{"foo":{"bar":{"oneOf":[{"$ref":"#/$defs/bad"}]}},"$ref":"#/$defs/bad"},"type":"object",
          "properties":{"x":{"$ref":"#/not/foo/bar"}}})");
  EXPECT_EQ(left.find("oneOf"), std::string::npos) << left;
}

// Beside such words an object is open, and so it stays without them.
TEST(left_out_words, leave_open_what_they_have_left_open) {
  for (const char* word :
       {R"("$ref":"https://example.com/x")", R"("minProperties":-1)", R"("enum":7)", R"("required":7)"}) {
    const std::string left =
        left_of(R"({"type":"object",)" + std::string(word) + R"(,"properties":{"a":{"type":"string"}}})");
    const checked_schema closed(left, {.closed_objects = true});
    EXPECT_TRUE(closed.accepts(R"({"a": "x", "b": 1})")) << word;
    EXPECT_FALSE(closed.accepts(R"({"a": 1})")) << word;
  }
  const std::string referred =
      R"({"$defs":{"a":{"type":"object","properties":{"a":{"type":"string"}}}},"$ref":"#/$defs/a","minProperties":-1})";
  EXPECT_TRUE(checked_schema(left_of(referred), {.closed_objects = true}).accepts(R"({"b": 1})"));
}

TEST(left_out_words, are_no_words_of_a_part_that_allows_nothing) {
  EXPECT_EQ(left_of(R"({"type":"object","properties":{"a":{"type":"integer","minimum":2,"maximum":1}},
                        "required":["a"]})"),
            "");
}

}  // namespace
}  // namespace troupe::json_schema
