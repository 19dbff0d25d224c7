#include "config/options.hpp"

#include <gtest/gtest.h>

#include <set>

#include "config/values.hpp"

namespace troupe::config {
namespace {

TEST(Options, FlagAndVariableFollowFromTheName) {
  const option* which = find_option("max_num_batched_tokens");
  ASSERT_NE(which, nullptr);
  EXPECT_EQ(which->flag(), "--max-num-batched-tokens");
  EXPECT_EQ(which->variable(), "TROUPE_MAX_NUM_BATCHED_TOKENS");
}

TEST(Options, HaveTheNamesThatVllmUsersKnow) {
  for (const char* name : {"model", "served_model_name", "max_model_len", "max_num_seqs",
                           "max_num_batched_tokens", "block_size", "host", "port", "tcp_port"}) {
    EXPECT_NE(find_option(name), nullptr) << name;
  }
}

TEST(Options, AreNamedOnceAndExplained) {
  std::set<std::string_view> names;
  for (const option& which : options()) {
    EXPECT_TRUE(names.insert(which.name).second) << which.name;
    EXPECT_FALSE(which.help.empty()) << which.name;
  }
}

TEST(Options, EveryDefaultIsWithinItsOwnRangeAndReadsBack) {
  const settings defaults;
  for (const option& which : options()) {
    const std::string text = value_text(defaults, which);
    settings read;
    const auto stored = assign(read, which, text);
    ASSERT_TRUE(stored) << which.name << ": " << stored.error();
    EXPECT_EQ(value_text(read, which), text) << which.name;
  }
}

TEST(Options, EveryNumberIsRefusedJustOutsideItsRange) {
  for (const option& which : options()) {
    if (std::holds_alternative<std::string settings::*>(which.member) || which.is_switch()) continue;
    const bool is_ratio = std::holds_alternative<double settings::*>(which.member);
    const bool is_time = std::holds_alternative<std::chrono::milliseconds settings::*>(which.member);
    const auto text = [&](std::int64_t n) {
      if (is_ratio) return std::to_string(static_cast<double>(n) / 1000);
      return std::to_string(n) + (is_time ? "ms" : "");
    };
    settings target;
    EXPECT_TRUE(assign(target, which, text(which.low))) << which.name;
    EXPECT_TRUE(assign(target, which, text(which.high))) << which.name;
    EXPECT_FALSE(assign(target, which, text(which.low - 1))) << which.name;
    EXPECT_FALSE(assign(target, which, text(which.high + 1))) << which.name;
    for (const char* nonsense : {"", " ", "abc", "1x", "nan", "inf", "-inf", "1e3", "0x10",
                                 "9223372036854775808", "99999999999999999999999", "1 2", "--1", "+1"}) {
      EXPECT_FALSE(assign(target, which, nonsense)) << which.name << " '" << nonsense << "'";
    }
  }
}

TEST(Options, TakeABlockSizeThatIsAMultipleOrADivisorOf16) {
  settings target;
  const auto stored = assign(target, *find_option("block_size"), "24");
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error(), "must be 1 to 1024, a multiple of 16 or a divisor of it, got '24'");
  EXPECT_EQ(target.block_size, 16);
  EXPECT_TRUE(assign(target, *find_option("block_size"), "48"));
  EXPECT_EQ(target.block_size, 48);
  for (const char* size : {"1", "2", "4", "8", "16"})
    EXPECT_TRUE(assign(target, *find_option("block_size"), size));
  for (const char* size : {"0", "-1", "3", "12", "-16"})
    EXPECT_FALSE(assign(target, *find_option("block_size"), size)) << size;
}

TEST(Options, ASwitchTakesTheUsualWordsAndNoOthers) {
  for (const char* on : {"true", "on", "yes", "1", "True"}) EXPECT_EQ(parse_switch(on), 1) << on;
  for (const char* off : {"false", "off", "no", "0", "FALSE"}) EXPECT_EQ(parse_switch(off), 0) << off;
  for (const char* bad : {"", " ", "2", "tru", "truee", "false-ish", "-1"})
    EXPECT_EQ(parse_switch(bad), std::nullopt) << bad;
}

TEST(Options, RefuseAChoiceThatIsNone) {
  settings target;
  const auto stored = assign(target, *find_option("kernel_path"), "AVX2");
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error(), "must be auto|avx512vnni|avx2|reference, got 'AVX2'");
}

TEST(Options, LeaveANumberToTheProgramWhereItIsAuto) {
  settings target;
  const option& which = *find_option("prompt_query_bucket_min");
  EXPECT_EQ(value_text(target, which), "auto");
  ASSERT_TRUE(assign(target, which, "64"));
  EXPECT_EQ(target.prompt_query_bucket_min, 64);
  EXPECT_EQ(value_text(target, which), "64");
  ASSERT_TRUE(assign(target, which, "auto"));
  EXPECT_EQ(target.prompt_query_bucket_min, std::nullopt);
  EXPECT_EQ(assign(target, which, "0").error(), "must be auto or 1 to 16777216, got '0'");
  EXPECT_EQ(assign(target, which, "Auto").error(), "expected an integer or auto, got 'Auto'");
}

TEST(Options, NameEveryDimensionOfTheBuckets) {
  for (const std::string phase : {"prompt", "decode"})
    for (const std::string dimension : {"bs", "query", "block"})
      for (const std::string end : {"min", "step", "max", "limit"}) {
        const std::string name = phase + "_" + dimension + "_bucket_" + end;
        ASSERT_NE(find_option(name), nullptr) << name;
        settings target;
        ASSERT_TRUE(assign(target, *find_option(name), "77"));
        for (const option& other : options())
          EXPECT_EQ(value_text(target, other) == "77", other.name == name) << other.name;
      }
}

TEST(Options, SuggestTheNearestNameOnlyWhereOneIsNear) {
  EXPECT_EQ(nearest_option("prot"), "port");
  EXPECT_EQ(nearest_option("max-num-seqs"), "max_num_seqs");
  EXPECT_EQ(nearest_option("max_num_batched_token"), "max_num_batched_tokens");
  EXPECT_EQ(nearest_option("completely_different"), "");
  EXPECT_EQ(nearest_option(std::string(1 << 20, 'x')), "");
}

TEST(Values, SizesAreReadInBothUnitSystems) {
  EXPECT_EQ(parse_size("1048576"), 1048576);
  EXPECT_EQ(parse_size("1GiB"), 1LL << 30);
  EXPECT_EQ(parse_size("1gib"), 1LL << 30);
  EXPECT_EQ(parse_size("1.5 GiB"), 3LL << 29);
  EXPECT_EQ(parse_size("2GB"), 2'000'000'000);
  for (const char* bad : {"1.1B", "GiB", "1 GiBs", "1..5GiB", "1.5", "-1GiB", "9999999999TiB"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
}

TEST(Values, DurationsAreSecondsUnlessTheySayOtherwise) {
  EXPECT_EQ(parse_duration("15"), 15'000);
  EXPECT_EQ(parse_duration("1.5s"), 1'500);
  EXPECT_EQ(parse_duration("500ms"), 500);
  EXPECT_EQ(parse_duration("0.07s"), 70);
  EXPECT_EQ(parse_duration("2m"), 120'000);
  EXPECT_EQ(parse_duration("1h"), 3'600'000);
  for (const char* bad : {"-1s", "s", "0.5ms", "1d", "1 s s"})
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
}

TEST(Values, RatiosHaveAtMostThreeDecimals) {
  EXPECT_EQ(parse_ratio("0.9"), 900);
  EXPECT_EQ(parse_ratio("1"), 1000);
  EXPECT_EQ(parse_ratio("0.001"), 1);
  for (const char* bad : {"0.0001", "-0.5", "90%", "nan", "inf", "", "1e-1", "0,9"})
    EXPECT_EQ(parse_ratio(bad), std::nullopt) << bad;
}

TEST(Values, TextFormsReadBack) {
  for (const std::int64_t count : {0, 1, 10, 100, 999, 1000, 1050, 12'345})
    EXPECT_EQ(parse_ratio(ratio_text(count)), count);
  for (const std::uint64_t bytes : {0ULL, 1ULL, 1000ULL, 1024ULL, 3ULL << 20, 5ULL << 40}) {
    EXPECT_EQ(parse_size(size_text(bytes)), static_cast<std::int64_t>(bytes));
  }
  for (const std::int64_t count : {0, 1, 999, 1000, 1500, 60'000}) {
    EXPECT_EQ(parse_duration(duration_text(std::chrono::milliseconds(count))), count);
  }
}

TEST(Values, WhatIsShownIsPrintableAndBounded) {
  EXPECT_EQ(shown("a\x1b[31m\n"), "a?[31m?");
  EXPECT_LE(shown(std::string(10'000, 'x')).size(), 67U);
}

}  // namespace
}  // namespace troupe::config
