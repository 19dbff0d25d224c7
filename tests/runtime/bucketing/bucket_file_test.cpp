#include "runtime/bucketing/bucket_file.hpp"

#include <gtest/gtest.h>

#include <random>

namespace troupe {
namespace {

using buckets = std::vector<bucket>;

buckets parse(std::string_view text) {
  const auto parsed = parse_buckets(text, "b.txt");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return parsed.value_or(buckets{});
}

std::string fault(std::string_view text) {
  const auto parsed = parse_buckets(text, "b.txt");
  if (parsed) return "none";
  EXPECT_EQ(parsed.error().code, error_code::invalid_argument);
  EXPECT_EQ(parsed.error().param, "bucketing_from_file");
  return parsed.error().message;
}

TEST(BucketFile, HoldsPreciseBuckets) {
  EXPECT_EQ(parse("(1, 2048, 0)\n(64, 1, 1024)\n"), (buckets{{1, 2048, 0}, {64, 1, 1024}}));
}

TEST(BucketFile, CombinesLists) {
  EXPECT_EQ(parse("(1, [256, 512], [0, 4, 8])"),
            (buckets{{1, 256, 0}, {1, 256, 4}, {1, 256, 8}, {1, 512, 0}, {1, 512, 4}, {1, 512, 8}}));
}

TEST(BucketFile, EndsARangeWithItsLastValueWhereTheStepLandsOnIt) {
  EXPECT_EQ(parse("(1, 1, range(256, 512, 128))"), (buckets{{1, 1, 256}, {1, 1, 384}, {1, 1, 512}}));
  EXPECT_EQ(parse("(1, 1, range(256, 511, 128))"), (buckets{{1, 1, 256}, {1, 1, 384}}));
  EXPECT_EQ(parse("(1, 1, range(3, 5))"), (buckets{{1, 1, 3}, {1, 1, 4}, {1, 1, 5}}));
  EXPECT_EQ(parse("(1, 1, range(7, 7, 100))"), (buckets{{1, 1, 7}}));
}

TEST(BucketFile, MixesListsAndRanges) {
  const buckets mixed = parse("([64, 128, 256], 1, range(512, 1024, 32))");
  EXPECT_EQ(mixed.size(), 51U);
  EXPECT_EQ(mixed.front(), (bucket{64, 1, 512}));
  EXPECT_EQ(mixed.back(), (bucket{256, 1, 1024}));
  EXPECT_EQ(parse("(range(1, 3), [5, 7], 2)").size(), 6U);
}

TEST(BucketFile, HasCommentsEmptyLinesAndBlanksAnywhere) {
  EXPECT_EQ(parse("# buckets\n\n  \t\n ( 1 ,\t[ 2,3 ] , range ( 0 , 4 , 4 ) ) # why\r\n#(9, 9, 9)\n(1,2,0)"),
            (buckets{{1, 2, 0}, {1, 2, 4}, {1, 3, 0}, {1, 3, 4}}));
}

TEST(BucketFile, MayHaveACommaBeforeEachClosingBracketAsInPython) {
  EXPECT_EQ(parse("(1, [2, 3,], range(4, 5,),)"), (buckets{{1, 2, 4}, {1, 2, 5}, {1, 3, 4}, {1, 3, 5}}));
  EXPECT_EQ(fault("(1, [2,,], 3)"), "b.txt:1: expected a whole number up to 16777216, found ',], 3)'");
  EXPECT_EQ(fault("(1, 2, 3,,)"), "b.txt:1: expected ')' after three dimensions, found ',,)'");
}

TEST(BucketFile, MayBeginWithAByteOrderMark) {
  EXPECT_EQ(parse("\xEF\xBB\xBF(1, 2, 3)"), (buckets{{1, 2, 3}}));
  EXPECT_EQ(fault("(1, 2, 3)\n\xEF\xBB\xBF(1, 2, 3)"), "b.txt:2: expected '(', found '?\?\?(1, 2, 3)'");
}

TEST(BucketFile, CountsABucketOnce) {
  EXPECT_EQ(parse("(2, 1, 3)\n(2, 1, 3)\n(1, 1, [3, 3])"), (buckets{{1, 1, 3}, {2, 1, 3}}));
}

TEST(BucketFile, NamesABadLineWithItsNumberAndFault) {
  const std::pair<const char*, const char*> lines[] = {
      {"1, 2, 3", "expected '(', found '1, 2, 3'"},
      {"(1, 2)", "expected ',', found ')'"},
      {"(1, 2, 3", "expected ')' after three dimensions, the line ends"},
      {"(1, 2, 3, 4)", "expected ')' after three dimensions, found ', 4)'"},
      {"(1, 2, 3) x", "expected nothing after ')', found 'x'"},
      {"(1, 2, 3)(1, 2, 4)", "expected nothing after ')', found '(1, 2, 4)'"},
      {"(1, 2, -3)", "expected a whole number up to 16777216, a list or a range, found '-3)'"},
      {"(1, 2, 99999999999999999999)",
       "expected a whole number up to 16777216, a list or a range, found '99999999999999999999)'"},
      {"(1, 2, 1.5)", "expected ')' after three dimensions, found '.5)'"},
      {"(1, two, 3)", "expected a whole number up to 16777216, a list or a range, found 'two, 3)'"},
      {"(1, [], 3)", "expected a whole number up to 16777216, found '], 3)'"},
      {"(1, [2, 3, 4)", "expected ',' or ']', found ')'"},
      {"(1, [2, 3", "expected ',' or ']', the line ends"},
      {"(1, 2, range 3)", "expected '(' after range, found '3)'"},
      {"(1, 2, range(3))", "range takes first, last and step, got 1 numbers"},
      {"(1, 2, range(3, 4, 5, 6))", "range takes first, last and step, got 4 numbers"},
      {"(1, 2, range(3, 4)", "expected ')' after three dimensions, the line ends"},
      {"(1, 2, range(3, 4", "expected ',' or ')', the line ends"},
      {"(1, 2, range(3, 4, 0))", "the step of a range must be at least 1"},
      {"(1, 2, range(4, 3, 1))", "the range from 4 to 3 is empty"},
      {"(1, 2, range(0, 262144))", "the range from 0 to 262144 has more than 262144 values"},
      {"(1, 2, range(0, 16777216, 1))", "the range from 0 to 16777216 has more than 262144 values"},
      {"(range(1, 600), range(1, 600), 1)", "more than 262144 buckets in a line"},
      {"(0, 2, 3)", "a batch size of 0"},
      {"(1, [2, 0], 3)", "a query length of 0"},
      {"(1, \x1b[31m, 3)", "expected a whole number up to 16777216, a list or a range, found '?[31m, 3)'"},
  };
  for (const auto& [line, what] : lines) {
    EXPECT_EQ(fault(std::string("# first\n\n") + line + "\n(1, 2, 3)\n"), std::string("b.txt:3: ") + what)
        << line;
  }
}

TEST(BucketFile, NamesEveryBadLine) {
  EXPECT_EQ(fault("(1, 1, 1)\nx\n(2, 2, 2)\n(3)"),
            "b.txt:2: expected '(', found 'x'; b.txt:4: expected ',', found ')'");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "x\n";
  EXPECT_TRUE(fault(many).ends_with("; b.txt:8: expected '(', found 'x'; and 12 more bad lines"))
      << fault(many);
}

TEST(BucketFile, MustHoldABucketAndNotTooMany) {
  EXPECT_EQ(fault(""), "b.txt: holds no bucket");
  EXPECT_EQ(fault("# nothing\n"), "b.txt: holds no bucket");
  EXPECT_EQ(fault("(1, 1, range(0, 262143))\n(2, 1, 1)"), "b.txt:2: more than 262144 buckets");
  EXPECT_EQ(parse("(1, 1, range(0, 262143))\n(1, 1, range(0, 262143))").size(), 262144U);
}

TEST(BucketFile, NeverFailsOtherwiseOverRandomBytes) {
  std::mt19937 random(3);
  constexpr std::string_view alphabet = "(),[]range 0123456789#\n\t-x\xff";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::size_t k = random() % 60; k > 0; --k) text += alphabet[random() % alphabet.size()];
    const auto parsed = parse_buckets(text, "b.txt");
    if (!parsed) {
      EXPECT_TRUE(parsed.error().message.starts_with("b.txt")) << parsed.error().message;
    }
  }
}

}  // namespace
}  // namespace troupe
