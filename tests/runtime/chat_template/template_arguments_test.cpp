#include "runtime/chat_template/template_arguments.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe {
namespace {

TEST(template_arguments, are_an_object_of_what_a_chat_does_not_set_itself) {
  EXPECT_TRUE(parse_template_arguments("")->is_null());
  EXPECT_EQ((*parse_template_arguments(R"({"a": {"b": [1]}})"))["a"]["b"][0], 1);
  for (const char* wrong :
       {"x", "[]", "3", "{", R"({"messages": []})", R"({"tools": null})",
        R"({"add_generation_prompt": true})", R"({"bos_token": ""})", R"({"chat_template": "x"})", "{} {}"}) {
    const auto parsed = parse_template_arguments(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_EQ(parsed.error().code, error_code::invalid_argument);
    EXPECT_EQ(parsed.error().param, "chat_template_kwargs");
  }
}

TEST(template_arguments, are_64_at_most) {
  json many;
  for (int i = 0; i < 64; ++i) many["a" + std::to_string(i)] = i;
  EXPECT_TRUE(check_template_arguments(many));
  many["one more"] = 1;
  EXPECT_FALSE(check_template_arguments(many));
}

}  // namespace
}  // namespace troupe
