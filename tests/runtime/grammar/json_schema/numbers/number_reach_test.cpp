// What is denied is never written so that a reader of doubles takes it for a number that is denied.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/grammar/json_schema/checked_schema.hpp"

namespace troupe::json_schema {
namespace {

struct denying_schema {
  std::string text;
  std::function<bool(double)> allows;  // as jsonschema tells it of the double
  std::vector<double> near;            // numbers of interest
};

bool divides(double by, double value) {
  const double quotient = value / by;
  return std::isfinite(quotient) && quotient == std::trunc(quotient);
}

std::vector<denying_schema> denying_schemas() {
  return {
      {R"({"type":"number","not":{"const":1}})", [](double x) { return x != 1; }, {1}},
      {R"({"type":"number","not":{"const":0.1}})", [](double x) { return x != 0.1; }, {0.1}},
      {R"({"type":"number","not":{"const":-0.3}})", [](double x) { return x != -0.3; }, {-0.3, 0.3}},
      {R"({"type":"number","not":{"enum":[0.001,1000,123456.789]}})",
       [](double x) { return x != 0.001 && x != 1000 && x != 123456.789; },
       {0.001, 1000, 123456.789}},
      {R"({"type":"number","not":{"type":"integer"}})",
       [](double x) { return !divides(1, x); },
       {1, 2, 1e6, 9007199254.0, 33333333333333.0, 99999999999999.0, 281474976710657.0, 999999999999997.0,
        1100000000000000.0, 1.4e15, 2e15, 3e15}},
      {R"({"type":"number","not":{"multipleOf":1}})",
       [](double x) { return !divides(1, x); },
       {1, 99999999, 99999999999999.0, 333333333333333.0}},
      {R"({"type":"number","not":{"multipleOf":7}})", [](double x) { return std::fmod(x, 7) != 0; }, {7, 49}},
      {R"({"type":"number","not":{"multipleOf":0.01}})",
       [](double x) { return !divides(0.01, x); },
       {0.01, 0.07, 1.23, 88979575995549.95}},
      {R"({"type":"number","not":{"multipleOf":0.5}})",
       [](double x) { return !divides(0.5, x); },
       {0.5, 2.5, 499.5, 6172.5, 1, 33333333333333.5, 99999999999999.5, 333333333333333.5, 999999999999999.5,
        1100000000000000.5, 1.4e15, 2e15, 3e15}},
      {R"({"type":"number","not":{"multipleOf":2.5}})",
       [](double x) { return !divides(2.5, x); },
       {2.5, 7.5}},
      {R"({"type":"number","not":{"minimum":1}})", [](double x) { return x < 1; }, {1}},
      {R"({"type":"number","not":{"maximum":0.1}})", [](double x) { return x > 0.1; }, {0.1}},
      {R"({"type":"number","not":{"exclusiveMinimum":5}})", [](double x) { return x <= 5; }, {5}},
      {R"({"if":{"const":0.1},"then":{"type":"string"},"else":{"type":"number"}})",
       [](double x) { return x != 0.1; },
       {0.1}},
      {R"({"type":"number","oneOf":[{"multipleOf":3},{"maximum":9}]})",
       [](double x) { return (std::fmod(x, 3) == 0) != (x <= 9); },
       {3, 9, 12}},
  };
}

std::string shortest(double value) {
  std::array<char, 64> buffer{};
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr};
}

// Decimals of up to 20 digits within a few units of the last place of a double near `value`.
std::string text_near(double value, std::mt19937& random) {
  double near = value;
  for (auto steps = random() % 4; steps > 0; --steps)
    near = std::nextafter(near, random() % 2 ? 1e300 : -1e300);
  std::array<char, 64> buffer{};
  const int whole = std::abs(near) < 1 ? 1 : static_cast<int>(std::log10(std::abs(near))) + 1;
  const int precision = std::max(1, 14 + static_cast<int>(random() % 6) - whole);
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), near,
                                                std::chars_format::fixed, precision)
                                      .ptr);
  if (random() % 3 == 0) text.back() = static_cast<char>('0' + random() % 10);
  return text;
}

TEST(NumberReach, IsNeverWrittenWhereItIsDenied) {
  std::mt19937 random(5);
  for (const denying_schema& schema : denying_schemas()) {
    SCOPED_TRACE(schema.text);
    const checked_schema checked(schema.text);
    for (int round = 0; round < 1500; ++round) {
      const double value = schema.near[random() % schema.near.size()] * static_cast<double>(round % 3 + 1);
      const std::string text = text_near(value, random);
      EXPECT_TRUE(!checked.accepts(text) || schema.allows(std::strtod(text.c_str(), nullptr))) << text;
    }
  }
}

TEST(NumberReach, LeavesWhatProgramsWriteOfOtherNumbers) {
  std::mt19937 random(6);
  std::uniform_real_distribution<double> any(-1000, 1000);
  for (const denying_schema& schema : denying_schemas()) {
    SCOPED_TRACE(schema.text);
    const checked_schema checked(schema.text);
    for (int round = 0; round < 300; ++round) {
      // No hundredths, which are multiples of 0.01 whatever their doubles say.
      const double value = round % 3 == 0 ? (std::round(any(random) * 100) * 10 + 5) / 1000 : any(random);
      const std::string text = shortest(value);
      EXPECT_TRUE(!schema.allows(value) || checked.accepts(text)) << text;
    }
  }
  const checked_schema sum(R"({"type":"number","not":{"const":0.3}})");
  EXPECT_TRUE(sum.accepts("0.30000000000000004"));
  EXPECT_FALSE(sum.accepts("0.30000000000000001"));
  const checked_schema one(R"({"type":"number","not":{"const":1}})");
  EXPECT_TRUE(one.accepts("0.9999999999999999") && one.accepts("1.0000000000000002") && one.accepts("2"));
  EXPECT_FALSE(one.accepts("1.0000000000000001") || one.accepts("1.000000"));
}

TEST(NumberReach, IsThatOfMoreDigitsForManyValues) {
  std::string list = "0.1";
  for (int i = 1; i < 1000; ++i) list += "," + std::to_string(i);
  const checked_schema checked(R"({"type":"number","not":{"enum":[)" + list + "]}}");
  for (const char* text : {"0.2", "1000", "1.5", "999.000000000001", "-1"})
    EXPECT_TRUE(checked.accepts(text)) << text;
  for (const char* text :
       {"0.1", "0.10000000000000001", "7.0000000000000001", "6.9999999999999999", "7.0", "7"})
    EXPECT_FALSE(checked.accepts(text)) << text;
}

TEST(ListedNumbers, EndSoonBehindThePoint) {
  const checked_schema one(R"({"const":1})"), some(R"({"enum":[0.5,-2,0]})");
  EXPECT_TRUE(one.accepts("1") && one.accepts("1.0") && one.accepts("1.00"));
  EXPECT_TRUE(some.accepts("0.5") && some.accepts("0.50") && some.accepts("-2.0") && some.accepts("0.0"));
  const std::string zeros(20, '0');
  EXPECT_FALSE(one.accepts("1.0" + zeros) || some.accepts("0.5" + zeros) || some.accepts("0.0" + zeros));
}

}  // namespace
}  // namespace troupe::json_schema
