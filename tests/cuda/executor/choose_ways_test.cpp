#include "runtime/executor_cuda/products/choose_ways.hpp"

#include <gtest/gtest.h>

#include <array>

namespace troupe {
namespace {

using kernels::cuda::few_row_variant;

constexpr product_way library{};
constexpr product_way lanes{.is_own = true, .norms = true, .variant = few_row_variant::lanes};
constexpr product_way tiles{.is_own = true, .norms = false, .variant = few_row_variant::tiles};

// Two products, whose times are added; what stands for one beside the other can be set.
struct ChooseWays : testing::Test {
  float time_of(const few_row_ways& product, std::size_t number) const {
    const product_way way = product.of(8);
    return way == lanes ? by_lanes[number] : way == tiles ? by_tiles[number] : by_library[number];
  }
  void choose() {
    const std::array<product_candidates, 2> products{product_candidates{&first, {lanes, tiles, library}},
                                                     product_candidates{&second, {lanes, tiles, library}}};
    choose_ways(products, 8, [&] {
      const bool is_mixed = (first.of(8) == library) != (second.of(8) == library);
      return time_of(first, 0) + time_of(second, 1) + (is_mixed ? for_a_mixture : 0.0F);
    });
  }

  std::array<float, 2> by_library{10, 10}, by_lanes{8, 8}, by_tiles{9, 9};
  float for_a_mixture = 0;
  few_row_ways first, second;
};

TEST_F(ChooseWays, TheFastestOfEachProductIsSet) {
  by_tiles[1] = 5;
  choose();
  EXPECT_EQ(first.of(8), lanes);
  EXPECT_EQ(second.of(8), tiles);
  by_library[0] = 3;
  choose();
  EXPECT_EQ(first.of(8), library);
}

TEST_F(ChooseWays, WhatCostsItsNeighboursMoreThanItSavesIsNot) {
  by_library = {6, 12};
  for_a_mixture = 4;
  choose();
  EXPECT_EQ(first.of(8), lanes);
  EXPECT_EQ(second.of(8), lanes);
}

TEST_F(ChooseWays, LessThanAHundredthIsChance) {
  by_tiles[0] = 7.9F;
  choose();
  EXPECT_EQ(first.of(8), lanes);
}

TEST_F(ChooseWays, TheLibraryComputesAllWhereThatIsFaster) {
  by_library = {7, 7};
  for_a_mixture = 10;
  choose();
  EXPECT_EQ(first.of(8), library);
  EXPECT_EQ(second.of(8), library);
}

TEST_F(ChooseWays, OtherRangesOfRowsStayAsTheyAre) {
  choose();
  for (const std::int32_t rows : {5, 6, 7, 8}) EXPECT_EQ(first.of(rows), lanes) << rows;
  for (const std::int32_t rows : {0, 1, 4, 9, 16, 64, 65}) EXPECT_EQ(first.of(rows), library) << rows;
}

}  // namespace
}  // namespace troupe
