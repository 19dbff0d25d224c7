// The same bits on every machine.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "runtime/sampling/row_loops.hpp"
#include "runtime/sampling/vector_code.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

std::vector<vector_unit> other_units_here() {
  std::vector<vector_unit> out;
  for (const vector_unit unit : {vector_unit::avx2, vector_unit::avx512})
    if (unit <= vector_unit_here()) out.push_back(unit);
  return out;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& row) {
  std::vector<std::uint32_t> out;
  for (const float value : row) out.push_back(std::bit_cast<std::uint32_t>(value));
  return out;
}

// Rows of all sizes around a vector's, some with what is no number, and masks with whole words and parts.
class vector_code : public ::testing::TestWithParam<std::size_t> {
 protected:
  vector_code() : row(random_logits(GetParam(), 7, 6.0F)), mask((row.size() + 31) / 32) {
    for (std::size_t i = 5; i < row.size(); i += 97) row[i] = -infinity;
    for (std::size_t i = 11; i < row.size(); i += 301) row[i] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t w = 0; w < mask.size(); ++w)
      mask[w] = w % 3 == 0 ? 0x9e3779b9U * static_cast<std::uint32_t>(w + 1) : w % 3 == 1 ? ~0U : 0U;
  }

  template <class Loops, class... Argument>
  auto on_each(Argument... argument) {
    std::vector<decltype(run_on<Loops>(vector_unit::any, argument...))> out{
        run_on<Loops>(vector_unit::any, argument...)};
    for (const vector_unit unit : other_units_here()) out.push_back(run_on<Loops>(unit, argument...));
    return out;
  }

  std::vector<float> row;
  std::vector<std::uint32_t> mask;
};

TEST_P(vector_code, gives_the_same_bits_on_every_unit) {
  const std::size_t size = row.size();
  const float max = run_on<row_loops::row_max>(vector_unit::any, std::span<const float>(row));
  std::vector<float> masked(size), weights(size), under_mask(size);
  run_on<row_loops::mask_row>(vector_unit::any, std::span<const float>(row),
                              std::span<const std::uint32_t>(mask), masked.data());
  const auto weigh = [&](vector_unit unit, std::span<const std::uint32_t> by) {
    std::vector<float> out(size);
    run_on<row_loops::weigh>(unit, std::span<const float>(by.empty() ? row : masked), max, 0.7F, out.data(),
                             by);
    return out;
  };
  weights = weigh(vector_unit::any, {});
  under_mask = weigh(vector_unit::any, mask);
  for (const vector_unit unit : other_units_here()) {
    SCOPED_TRACE(static_cast<int>(unit));
    std::vector<float> out(size);
    run_on<row_loops::mask_row>(unit, std::span<const float>(row), std::span<const std::uint32_t>(mask),
                                out.data());
    EXPECT_EQ(bits_of(out), bits_of(masked));
    EXPECT_EQ(bits_of(weigh(unit, {})), bits_of(weights));
    EXPECT_EQ(bits_of(weigh(unit, mask)), bits_of(under_mask));
  }
  const auto equal = [](const auto& each) {
    return std::ranges::count(each, each.front()) == std::ssize(each);
  };
  EXPECT_TRUE(equal(on_each<row_loops::row_max>(std::span<const float>(row))));
  EXPECT_TRUE(equal(on_each<row_loops::arg_max>(std::span<const float>(row))));
  EXPECT_TRUE(equal(on_each<row_loops::sum_weights>(std::span<const float>(weights))));
  EXPECT_TRUE(equal(on_each<row_loops::sum_from>(std::span<const float>(weights), 0.01F)));
  std::vector<float> kept(size);
  EXPECT_TRUE(equal(on_each<row_loops::gather_from>(std::span<const float>(weights), 0.01F, kept.data())));
  EXPECT_TRUE(equal(on_each<row_loops::sum_exponentials>(std::span<const float>(row), max)));
  for (const double u : {0.0, 0.1, 0.5, 0.9, 1.0 - 0x1.0p-53})
    EXPECT_TRUE(equal(on_each<row_loops::invert_distribution>(std::span<const float>(weights), u))) << u;
}

INSTANTIATE_TEST_SUITE_P(sizes, vector_code, ::testing::Values(1, 15, 16, 17, 31, 33, 255, 257, 1000, 49152));

}  // namespace
}  // namespace troupe
