// The loops of row_math.hpp, for run_on().
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/request.hpp"
#include "runtime/sampling/row_math.hpp"
#include "runtime/token_bits.hpp"

namespace troupe::row_loops {

inline constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
inline constexpr std::size_t lanes = 16;
inline constexpr std::size_t block = 256;
inline constexpr std::size_t mask_bits = 32;  // of a word

// exp(x) for x <= 0, 0 below -87 and for NaN. Range reduction and polynomial of Cephes' expf (Moshier), error
// about 1 unit in the last place.
[[gnu::always_inline]] inline float exp_non_positive(float x) {
  constexpr float lowest = -87.0F;
  constexpr float shifter =
      12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
  const float clamped = x > lowest ? x : lowest;
  const float shifted = clamped * 1.44269504F + shifter;
  const float whole = shifted - shifter;
  const float r = (clamped - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(shifter);
  const float scale = std::bit_cast<float>((exponent + 127) << 23);
  return x > lowest ? p * scale : 0.0F;
}

[[gnu::always_inline]] inline float round_to_step(float weight) {
  constexpr float turning = 0x1.0p-10F;  // below it, the spacing of turning + weight is weight_step
  static_assert(turning * std::numeric_limits<float>::epsilon() == weight_step);
  return weight < turning ? (weight + turning) - turning : weight;
}

[[gnu::always_inline]] inline float block_max(const float* row, std::size_t count) {
  std::array<float, lanes> best;
  best.fill(minus_infinity);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) best[j] = best[j] < row[i + j] ? row[i + j] : best[j];
  }
  for (; i < count; ++i) best[0] = best[0] < row[i] ? row[i] : best[0];
  return *std::max_element(best.begin(), best.end());
}

[[gnu::always_inline]] inline double block_sum(const float* weights, std::size_t count) {
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t j = 0; j < lanes; ++j) sums[j] += static_cast<double>(weights[i + j]);
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(weights[i]);
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

inline constexpr std::array<std::uint32_t, 32> bit_of_lane = [] {
  std::array<std::uint32_t, 32> bit{};
  for (std::size_t j = 0; j < bit.size(); ++j) bit[j] = std::uint32_t{1} << j;
  return bit;
}();

// 32 values, by the bits of `word`: no branch and no shift by lane, so that vector code comes of it.
[[gnu::always_inline]] inline void select_bits(const float* from, std::uint32_t word, float* to) {
  constexpr auto minus_infinity_bits = std::bit_cast<std::uint32_t>(minus_infinity);
  for (std::size_t j = 0; j < bit_of_lane.size(); ++j) {
    const std::uint32_t off = (word & bit_of_lane[j]) == 0 ? ~std::uint32_t{0} : 0;
    to[j] =
        std::bit_cast<float>((std::bit_cast<std::uint32_t>(from[j]) & ~off) | (minus_infinity_bits & off));
  }
}

struct mask_row {
  [[gnu::always_inline]] void operator()(std::span<const float> logits, std::span<const std::uint32_t> mask,
                                         float* out) const {
    constexpr std::size_t bits = mask_bits;
    const std::size_t whole = std::min(logits.size() / bits, mask.size());
    for (std::size_t w = 0; w < whole; ++w) {
      const float* from = logits.data() + w * bits;
      float* to = out + w * bits;
      const std::uint32_t word = mask[w];
      // Most masks are mostly one or the other.
      if (word == 0) {
        std::fill_n(to, bits, minus_infinity);
      } else if (word == ~std::uint32_t{0}) {
        std::copy_n(from, bits, to);
      } else {
        select_bits(from, word, to);
      }
    }
    for (std::size_t i = whole * bits; i < logits.size(); ++i)
      out[i] = has_token(mask, static_cast<token_id>(i)) ? logits[i] : minus_infinity;
  }
};

struct row_max {
  [[gnu::always_inline]] float operator()(std::span<const float> row) const {
    return block_max(row.data(), row.size());
  }
};

struct arg_max {
  [[gnu::always_inline]] token_id operator()(std::span<const float> row) const {
    float best = minus_infinity;
    std::size_t best_begin = 0;
    for (std::size_t begin = 0; begin < row.size(); begin += block) {
      const float max = block_max(row.data() + begin, std::min(block, row.size() - begin));
      if (max > best) {
        best = max;
        best_begin = begin;
      }
    }
    if (best == minus_infinity) return 0;
    return static_cast<token_id>(
        std::find(row.begin() + static_cast<std::ptrdiff_t>(best_begin), row.end(), best) - row.begin());
  }
};

struct weigh {
  [[gnu::always_inline]] void operator()(std::span<const float> logits, float max, float inverse_temperature,
                                         float* weights, std::span<const std::uint32_t> mask) const {
    const float* row = logits.data();
    const std::size_t count = logits.size();
    if (max == std::numeric_limits<float>::infinity()) {
      for (std::size_t i = 0; i < count; ++i) weights[i] = row[i] == max ? 1.0F : 0.0F;
      return;
    }
    const auto weigh_some = [&](std::size_t begin, std::size_t end) __attribute__((always_inline)) {
      for (std::size_t i = begin; i < end; ++i)
        weights[i] = round_to_step(exp_non_positive((row[i] - max) * inverse_temperature));
    };
    const std::size_t whole = std::min(count / mask_bits, mask.size());
    for (std::size_t w = 0; w < whole; ++w) {
      if (mask[w] == 0)
        std::fill_n(weights + w * mask_bits, mask_bits, 0.0F);
      else
        weigh_some(w * mask_bits, (w + 1) * mask_bits);
    }
    weigh_some(whole * mask_bits, count);
  }
};

struct sum_weights {
  [[gnu::always_inline]] double operator()(std::span<const float> weights) const {
    return block_sum(weights.data(), weights.size());
  }
};

struct sum_from {
  [[gnu::always_inline]] double operator()(std::span<const float> weights, float least) const {
    double total = 0.0;
    std::array<float, block> kept;
    for (std::size_t begin = 0; begin < weights.size(); begin += block) {
      const std::size_t count = std::min(block, weights.size() - begin);
      for (std::size_t i = 0; i < count; ++i)
        kept[i] = weights[begin + i] >= least ? weights[begin + i] : 0.0F;
      total += block_sum(kept.data(), count);
    }
    return total;
  }
};

struct gather_from {
  [[gnu::always_inline]] std::size_t operator()(std::span<const float> weights, float least,
                                                float* to) const {
    constexpr std::size_t few = 64;
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < weights.size(); begin += few) {
      const auto some = weights.subspan(begin, std::min(few, weights.size() - begin));
      if (block_max(some.data(), some.size()) < least) continue;
      for (const float weight : some) {
        to[count] = weight;
        count += weight >= least ? 1U : 0U;
      }
    }
    return count;
  }
};

struct clear_below {
  [[gnu::always_inline]] void operator()(std::span<float> weights, float least) const {
    for (float& weight : weights) weight = weight >= least ? weight : 0.0F;
  }
};

struct sum_exponentials {
  [[gnu::always_inline]] double operator()(std::span<const float> logits, float max) const {
    double total = 0.0;
    std::array<float, block> exponentials;
    for (std::size_t begin = 0; begin < logits.size(); begin += block) {
      const std::size_t count = std::min(block, logits.size() - begin);
      for (std::size_t i = 0; i < count; ++i) exponentials[i] = exp_non_positive(logits[begin + i] - max);
      total += block_sum(exponentials.data(), count);
    }
    return total;
  }
};

struct invert_distribution {
  [[gnu::always_inline]] std::size_t operator()(std::span<const float> weights, double u) const {
    const double target = u * block_sum(weights.data(), weights.size());
    double below = 0.0;
    for (std::size_t begin = 0; begin < weights.size(); begin += block) {
      const std::size_t count = std::min(block, weights.size() - begin);
      const double sum = block_sum(weights.data() + begin, count);
      if (below + sum <= target) {
        below += sum;
        continue;
      }
      std::size_t i = begin;
      while (below + static_cast<double>(weights[i]) <= target) below += static_cast<double>(weights[i++]);
      return i;
    }
    return 0;
  }
};

}  // namespace troupe::row_loops
