#include "runtime/bucketing/padding_waste.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <set>

namespace troupe {
namespace {

using lengths = std::vector<std::int32_t>;

lengths parse_lengths(std::string_view text) {
  const auto parsed = parse_trace(text, "t.txt");
  EXPECT_TRUE(parsed.has_value()) << parsed.error().message;
  return parsed.value_or(lengths{});
}

std::string fault_of_trace(std::string_view text) {
  const auto parsed = parse_trace(text, "t.txt");
  return parsed ? "none" : parsed.error().message;
}

TEST(Trace, HoldsLengthsInAnyLayout) {
  EXPECT_EQ(parse_lengths("412\n100, 7\n\n# a comment\n 3 4\t5 # more\r\n6,"),
            (lengths{412, 100, 7, 3, 4, 5, 6}));
}

TEST(Trace, NamesABadLineWithItsNumber) {
  EXPECT_EQ(fault_of_trace("1\n2\nx\n"), "t.txt:3: expected a length of 1 to 16777216 tokens, found 'x'");
  EXPECT_EQ(fault_of_trace("1\n-2"), "t.txt:2: expected a length of 1 to 16777216 tokens, found '-2'");
  EXPECT_EQ(fault_of_trace("0"), "t.txt:1: expected a length of 1 to 16777216 tokens, found 0");
  EXPECT_EQ(fault_of_trace("1.5"), "t.txt:1: expected a length of 1 to 16777216 tokens, found '.5'");
  EXPECT_EQ(fault_of_trace("99999999999"),
            "t.txt:1: expected a length of 1 to 16777216 tokens, found '99999999999'");
  EXPECT_EQ(fault_of_trace("# none"), "t.txt: holds no length");
}

TEST(PaddingWaste, CountsWhatTheBucketsAdd) {
  const bucket_table<bucket> buckets({{1, 128, 0}, {1, 256, 0}, {1, 256, 4}});
  const padding_waste waste = measure_waste({100, 128, 129, 300}, buckets);
  EXPECT_EQ(waste.lengths, 4);
  EXPECT_EQ(waste.tokens, 657);
  EXPECT_EQ(waste.padding_tokens, 28 + 0 + 127);
  EXPECT_EQ(waste.fallbacks, 1);
  EXPECT_DOUBLE_EQ(waste.share(), 155.0 / (657 + 155));
  EXPECT_EQ(padding_waste{}.share(), 0.0);
}

TEST(PaddingWaste, ReadsUnifiedBucketsAsPrompts) {
  const bucket_table<unified_bucket> buckets({{8, 0, 0, false}, {16, 0, 0, true}});
  EXPECT_EQ(measure_waste({5}, buckets).padding_tokens, 11);
}

std::int64_t padding_of(const lengths& trace, const lengths& buckets) {
  std::int64_t padding = 0;
  for (const std::int32_t length : trace)
    padding += *std::lower_bound(buckets.begin(), buckets.end(), length) - length;
  return padding;
}

// The least padding of all choices of `count` of the distinct lengths.
std::int64_t least_padding(const lengths& trace, std::size_t count) {
  const std::set<std::int32_t> once(trace.begin(), trace.end());
  const lengths distinct(once.begin(), once.end());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t chosen = 0; chosen < 1U << distinct.size(); ++chosen) {
    if (static_cast<std::size_t>(std::popcount(chosen)) > count) continue;
    if ((chosen >> (distinct.size() - 1U)) == 0) continue;  // the longest must fit
    lengths buckets;
    for (std::size_t i = 0; i < distinct.size(); ++i)
      if ((chosen >> i & 1U) != 0) buckets.push_back(distinct[i]);
    least = std::min(least, padding_of(trace, buckets));
  }
  return least;
}

TEST(SuggestLengths, AreTheBestOfAllChoices) {
  std::mt19937 random(11);
  for (int i = 0; i < 300; ++i) {
    lengths trace(1 + random() % 25);
    const auto widest = 1 + random() % 60;
    for (std::int32_t& length : trace) length = 1 + static_cast<std::int32_t>(random() % widest);
    std::set<std::int32_t> once(trace.begin(), trace.end());
    while (once.size() > 11) {
      std::erase(trace, *once.rbegin());
      once.erase(*once.rbegin());
    }
    for (std::int32_t count = 1; count <= 6; ++count) {
      const auto suggested = suggest_lengths(trace, count);
      ASSERT_TRUE(suggested.has_value());
      EXPECT_LE(suggested->lengths.size(), static_cast<std::size_t>(count));
      EXPECT_TRUE(std::is_sorted(suggested->lengths.begin(), suggested->lengths.end()));
      EXPECT_EQ(suggested->lengths.back(), *once.rbegin());
      EXPECT_EQ(suggested->padding_tokens, padding_of(trace, suggested->lengths));
      EXPECT_EQ(suggested->padding_tokens, least_padding(trace, static_cast<std::size_t>(count)));
    }
  }
}

TEST(SuggestLengths, CostNothingWhereEveryLengthHasABucket) {
  const auto suggested = suggest_lengths({7, 3, 7, 9}, 8);
  ASSERT_TRUE(suggested.has_value());
  EXPECT_EQ(suggested->lengths, (lengths{3, 7, 9}));
  EXPECT_EQ(suggested->padding_tokens, 0);
}

TEST(SuggestLengths, OfALongTraceAreNoWorseThanNeighbouringChoices) {
  std::mt19937 random(4);
  lengths trace(20'000);
  for (std::int32_t& length : trace) length = 1 + static_cast<std::int32_t>(random() % 100 * (random() % 80));
  const auto suggested = suggest_lengths(trace, 8);
  ASSERT_TRUE(suggested.has_value());
  ASSERT_EQ(suggested->lengths.size(), 8U);
  EXPECT_EQ(suggested->padding_tokens, padding_of(trace, suggested->lengths));
  for (std::size_t i = 0; i + 1 < 8; ++i)
    for (const std::int32_t shift : {-97, -5, -1, 1, 5, 97}) {
      lengths moved = suggested->lengths;
      moved[i] += shift;
      std::sort(moved.begin(), moved.end());
      EXPECT_GE(padding_of(trace, moved), suggested->padding_tokens);
    }
}

TEST(SuggestLengths, RefuseATraceOrACountOfNothing) {
  EXPECT_FALSE(suggest_lengths({}, 4));
  EXPECT_FALSE(suggest_lengths({1}, 0));
  EXPECT_FALSE(suggest_lengths({1}, 1025));
}

}  // namespace
}  // namespace troupe
