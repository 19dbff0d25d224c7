#include "runtime/supervision/replacement_record.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using std::chrono::seconds;
using trouble = replacement_record::trouble;

constexpr steady_time day{seconds(1000)};

replacement_record of_somebody() {
  replacement_record record;
  record.is_back(day);
  return record;
}

TEST(replacement_record, a_replacement_that_takes_long_is_trouble_until_it_is_there) {
  replacement_record record = of_somebody();
  record.ended(day + seconds(60));
  EXPECT_EQ(record.gone_since(), day + seconds(60));
  EXPECT_EQ(record.trouble_at(day + seconds(65)), trouble::none);
  EXPECT_EQ(record.trouble_at(day + seconds(66)), trouble::takes_long);
  record.is_back(day + seconds(67));
  EXPECT_EQ(record.trouble_at(day + seconds(67)), trouble::none);
  EXPECT_EQ(record.gone_since(), std::nullopt);
}

TEST(replacement_record, the_third_end_in_a_row_is_trouble_until_somebody_has_lived_for_long) {
  replacement_record record = of_somebody();
  record.ended(day + seconds(60));
  record.is_back(day + seconds(61));
  record.ended(day + seconds(70));
  EXPECT_EQ(record.trouble_at(day + seconds(70)), trouble::none);
  record.is_back(day + seconds(71));
  record.ended(day + seconds(80));
  EXPECT_EQ(record.trouble_at(day + seconds(80)), trouble::recurs) << "the first may have lived for days";
  record.is_back(day + seconds(81));
  EXPECT_EQ(record.trouble_at(day + seconds(90)), trouble::recurs);
  EXPECT_EQ(record.trouble_at(day + seconds(91)), trouble::none);
  record.ended(day + seconds(92));
  EXPECT_EQ(record.trouble_at(day + seconds(92)), trouble::none) << "the first one again";
}

TEST(replacement_record, who_ends_before_being_there_adds_to_the_row_and_to_the_time) {
  replacement_record record = of_somebody();
  for (int end = 0; end < 3; ++end) record.ended(day + seconds(60 + end));
  EXPECT_EQ(record.gone_since(), day + seconds(60));
  EXPECT_EQ(record.trouble_at(day + seconds(62)), trouble::recurs);
  record.clear();
  EXPECT_EQ(record.trouble_at(day + seconds(62)), trouble::none);
  EXPECT_EQ(record.trouble_at(day + seconds(66)), trouble::takes_long);
}

}  // namespace
}  // namespace troupe
