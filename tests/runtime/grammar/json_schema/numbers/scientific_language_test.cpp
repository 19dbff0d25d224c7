#include "runtime/grammar/json_schema/numbers/scientific_language.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/grammar/json_schema/checked_schema.hpp"

namespace troupe::json_schema {
namespace {

TEST(ScientificLanguage, NumbersAreTakenWhereItAloneShowsThemWithinBounds) {
  const auto verdict = [](const char* words, const char* text) {
    return checked_schema(words).accepts(text);
  };
  const char* percent = R"({"type":"number","minimum":-5,"maximum":100})";
  for (const char* text : {"1e-05", "2.5e-07", "-9.99e-12", "1e-100", "99.5", "-5"})
    EXPECT_TRUE(verdict(percent, text)) << text;
  for (const char* text : {"1e+16", "-1e+16", "1e+02", "-1e+300"})
    EXPECT_FALSE(verdict(percent, text)) << text;
  const char* from = R"({"type":"number","exclusiveMinimum":1e20})";
  for (const char* text : {"1e+21", "2.5e+300", "1e+308"}) EXPECT_TRUE(verdict(from, text)) << text;
  for (const char* text : {"1e+20", "1e-05", "-1e+30", "1e+19", "1e+1000", "2e+308"})
    EXPECT_FALSE(verdict(from, text)) << text;
  EXPECT_TRUE(verdict(R"({"type":"number","minimum":1e20})", "1e+20"));
  const char* above = R"({"type":"number","exclusiveMinimum":0,"maximum":1e18})";
  for (const char* text : {"1e-300", "9.9e+17", "1e+16"}) EXPECT_TRUE(verdict(above, text)) << text;
  for (const char* text : {"0e-05", "1.1e+18", "-1e-05", "1e+18"}) EXPECT_FALSE(verdict(above, text)) << text;
  const char* small = R"({"type":"number","maximum":-0.00005})";
  for (const char* text : {"-1e+16", "-0.001"}) EXPECT_TRUE(verdict(small, text)) << text;
  for (const char* text : {"-4e-05", "-1e-06", "1e-06", "1e+16"}) EXPECT_FALSE(verdict(small, text)) << text;
  const char* whole = R"({"type":"integer","minimum":5})";
  for (const char* text : {"1e+16", "3.0e+20", "5"}) EXPECT_TRUE(verdict(whole, text)) << text;
  for (const char* text : {"1e-05", "1e-16", "4"}) EXPECT_FALSE(verdict(whole, text)) << text;
  EXPECT_TRUE(verdict(R"({"type":"number","minimum":0})", "15E3"));
  EXPECT_FALSE(read_json_schema(R"({"type":"number","minimum":5,"maximum":4})").has_value());
}

// 9.9999999999999999e+16 is 1e+17 to whoever reads doubles, as 99999999999999991611392 is 1e+23.
TEST(ScientificLanguage, NumbersThatAreReadAsTheNextPowerOfTenAreNotBelowIt) {
  const checked_schema below(R"({"type":"number","exclusiveMaximum":1e17})");
  EXPECT_FALSE(below.accepts("9.9999999999999999e+16"));
  EXPECT_TRUE(below.accepts("9.99999999999999e+16"));
  EXPECT_FALSE(checked_schema(R"({"type":"number","exclusiveMinimum":1e23})").accepts("1e+23"));
  EXPECT_TRUE(checked_schema(R"({"type":"number","exclusiveMinimum":1e23})").accepts("1e+25"));
}

TEST(ScientificLanguage, NumbersStandBehindDenialsWhereTheirExponentAloneDecides) {
  struct verdicts {
    const char* schema;
    std::vector<const char*> accepted, rejected;
  };
  for (const verdicts& each : std::vector<verdicts>{
           {R"({"not":{"const":1}})", {"1e+16", "-2.5e-07", "2"}, {"1", "1.0"}},
           {R"({"not":{"enum":[0.0001,"a"]}})", {"2"}, {"1e-05", "0.0001", "9.9999999999999999e-05"}},
           {R"({"type":"number","not":{"minimum":5}})", {"-1e+16", "1e-05", "-1e-300"}, {"1e+16", "5"}},
           {R"({"not":{"type":"integer"}})", {"2.5e-07", "1.5"}, {"1e+16", "1.5e+16", "0e-05", "2.0"}},
           {R"({"type":"number","oneOf":[{"type":"integer"},{"minimum":2}]})",
            {"-1e+16", "2.5"},
            {"1e+16", "1e-05", "3"}},
           {R"({"if":{"maximum":10},"then":{"minimum":0},"else":{"minimum":1e15}})",
            {"1e+16", "1e-05", "7"},
            {"-1e+16", "11"}},
           {R"({"type":"number","not":{"not":{"minimum":1e16}}})", {"1e+16", "1e+17"}, {"1e-05", "-1e+16"}},
           {R"({"type":"number","multipleOf":0.01})", {"1e+16", "-1.2345e+20", "0.05"}, {"1e-05", "0.005"}},
           {R"({"type":"number","multipleOf":1,"maximum":1e18})", {"1e+17", "-1.5e+16"}, {"1e+18", "1.5"}},
       }) {
    const checked_schema schema(each.schema);
    for (const char* text : each.accepted) EXPECT_TRUE(schema.accepts(text)) << each.schema << text;
    for (const char* text : each.rejected) EXPECT_FALSE(schema.accepts(text)) << each.schema << text;
  }
}

}  // namespace
}  // namespace troupe::json_schema
