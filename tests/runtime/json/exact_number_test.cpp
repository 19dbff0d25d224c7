#include "runtime/json/exact_number.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "runtime/json/json_reader.hpp"
#include "runtime/openai/grammar_fields.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::openai {
namespace {

bool is_kept(const std::string& number) {
  const auto read = read_json("[" + number + "]", {}, {.everywhere = true});
  EXPECT_TRUE(read.has_value()) << number;
  if (!read) return false;
  const auto kept = kept_number((*read)[0]);
  if (kept) {
    EXPECT_EQ(*kept, number);
  }
  return kept.has_value();
}

TEST(exact_number, keeps_what_no_machine_type_holds) {
  for (const char* text : {"18446744073709551616", "-9223372036854775809", "100000000000000000000000",
                           "0.100000000000000005", "1.00000000000000000001e3", "123456789.0123456789",
                           "9007199254740993.0", "900719925474099.3e1", "1.2345678901234567e16"})
    EXPECT_TRUE(is_kept(text)) << text;
  for (const char* text :
       {"18446744073709551615", "-9223372036854775808", "1e300", "0.69999999999999996", "9.00719925474099e15",
        "0.10", "0.00000000000000000000001", "1.000000000000000000000", "-0.0", "0e9999", "5e-324"})
    EXPECT_FALSE(is_kept(text)) << text;
}

TEST(exact_number, is_written_again_as_it_was) {
  const std::string text =
      R"({"a":[1,123456789012345678901,{"é\n":-0.1234567890123456789012e5}],"b":{},"c":"x","d":[true,null]})";
  const auto read = read_json(text, {}, {.everywhere = true});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(dump_exactly(*read), text);
  EXPECT_EQ(dump_exactly(json(123456789)), "123456789");
}

TEST(exact_number, a_double_is_written_as_no_other_number) {
  for (const char* text : {"5e+22", "1e+23", "6.2e+22", "0.1", "1.0", "-2.5e-07", "57174417800000000000.0"}) {
    const auto read = read_json(std::string("[") + text + "]", {}, {.everywhere = true});
    const std::string written = dump_exactly(*read);
    EXPECT_EQ(std::strtod(written.c_str() + 1, nullptr), std::strtod(text, nullptr)) << written;
    EXPECT_LE(written.size(), std::string(text).size() + 2) << written;
  }
  EXPECT_EQ(dump_exactly(json(5e22)), "5e+22");
  EXPECT_EQ(dump_exactly(json(6.13416488555265e17)), "6.13416488555265e+17");
  EXPECT_EQ(dump_exactly(json({{"a", 1.0}})), R"({"a":1.0})");
}

TEST(exact_number, is_a_double_but_in_the_members_named) {
  constexpr std::array<std::string_view, 1> members{"kept"};
  const auto read =
      read_json(R"({"a":{"kept":123456789012345678901},"kept":{"b":[123456789012345678901]},"c":1e-400})", {},
                {.members = members});
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE((*read)["a"]["kept"].is_number_float());
  EXPECT_TRUE(kept_number((*read)["kept"]["b"][0]));
  EXPECT_EQ((*read)["c"].get<double>(), 0.0);
}

TEST(exact_number, that_is_lost_in_a_double_is_out_of_range) {
  for (const char* number : {"1e-400", "1e400"}) {
    const auto read = read_json(std::string(R"({"a~/":[0,{"b":)") + number + "}]}", {}, {.everywhere = true});
    ASSERT_FALSE(read.has_value()) << number;
    EXPECT_EQ(read.error().param, "/a~0~1/1/b") << number;
  }
}

TEST(exact_number, is_kept_up_to_a_length_and_as_one_of_few) {
  const std::string digits(longest_kept_number - 2, '7');
  EXPECT_TRUE(is_kept("0." + digits));
  const auto longer = read_json("[1,0." + digits + "7]", {}, {.everywhere = true});
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().message, "a number is too long, at \"/1\"");
  EXPECT_EQ(longer.error().param, "/1");
  const std::string few = "[123456789012345678901,123456789012345678902]";
  EXPECT_TRUE(read_json(few, {.max_large_values = 3}, {.everywhere = true}).has_value());
  EXPECT_FALSE(read_json(few, {.max_large_values = 2}, {.everywhere = true}).has_value());
}

TEST(exact_number, of_a_schema_goes_from_the_body_to_its_grammar) {
  for (const std::string member : {R"("structured_outputs":{"json":)",
                                   R"("response_format":{"type":"json_schema","json_schema":{"schema":)",
                                   R"("guided_json":)", R"("structured_outputs":{"structural_tag":)"}) {
    std::string body = R"({"prompt":"x","temperature":0.50000000000000000001,)" + member +
                       R"({"const":123456789012345678901})";
    for (const char c : member) body += c == '{' ? "}" : "";
    const auto document = read_body(body + "}");
    ASSERT_TRUE(document.has_value()) << body;
    const auto request = parse_completion(*document, {.model = "m", .vocab_size = 300});
    ASSERT_TRUE(request.has_value()) << request.error().message;
    EXPECT_EQ(request->generation.sampling.temperature, 0.5F);
    ASSERT_TRUE(request->generation.sampling.grammar);
    EXPECT_EQ(request->generation.sampling.grammar->text, R"({"const":123456789012345678901})");
  }
}

}  // namespace
}  // namespace troupe::openai
