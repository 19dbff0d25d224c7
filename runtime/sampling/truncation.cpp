#include "runtime/sampling/truncation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>

#include "runtime/sampling/row_math.hpp"

namespace troupe {

namespace {

// Unsigned integers in the order of the floats; NaN lowest.
inline std::uint32_t ordered_key(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 becomes 0
  const std::uint32_t key = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return value == value ? key : 0U;
}

// The greatest key such that the amounts of all keys >= it reach the target, the amount of the keys above it,
// and its own.
template <class Amount>
struct threshold {
  std::uint32_t key = 0;
  Amount above{};
  Amount at{};
};

template <class Amount>
class histogram {
 public:
  static constexpr std::size_t num_bins = 2048;

  // Four copies, so that neighbours that fall into one bin do not wait for each other.
  void add(std::size_t i, std::uint32_t bin, Amount amount) { amounts_[i & 3U][bin] += amount; }

  // The highest bin where `above` plus the amounts from the top down reach the target; moves `above` up to
  // it.
  std::uint32_t find(Amount target, Amount& above) const {
    std::uint32_t bin = num_bins - 1;
    for (; bin > 0 && above + amount_of(bin) < target; --bin) above += amount_of(bin);
    return bin;
  }
  Amount amount_of(std::uint32_t bin) const {
    return amounts_[0][bin] + amounts_[1][bin] + amounts_[2][bin] + amounts_[3][bin];
  }

 private:
  std::array<std::array<Amount, num_bins>, 4> amounts_{};
};

// The same by sorting, which few values are quicker for.
template <class Amount, class AmountOf>
threshold<Amount> find_threshold_of_few(std::vector<std::uint32_t>& keys, Amount target, AmountOf amount_of) {
  std::ranges::sort(keys, std::greater<>());
  threshold<Amount> found;
  for (auto first = keys.begin(); first != keys.end();) {
    const auto behind = std::find_if(first, keys.end(), [&](std::uint32_t key) { return key != *first; });
    const auto equals = static_cast<Amount>(behind - first) * amount_of(*first);
    if (found.above + equals >= target) {
      found.key = *first;
      found.at = equals;
      break;
    }
    found.above += equals;
    first = behind;
  }
  return found;
}

template <class Amount, class KeyOf, class AmountOf>
threshold<Amount> find_threshold(std::span<const float> values, Amount target, KeyOf key_of,
                                 AmountOf amount_of, std::vector<std::uint32_t>& keys) {
  constexpr std::size_t few = 1024;
  if (values.size() <= few) {
    keys.resize(values.size());
    std::ranges::transform(values, keys.begin(), key_of);
    return find_threshold_of_few(keys, target, amount_of);
  }
  threshold<Amount> found;
  histogram<Amount> high;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t key = key_of(values[i]);
    high.add(i, key >> 21U, amount_of(key));
  }
  const std::uint32_t high_bin = high.find(target, found.above);

  keys.clear();
  histogram<Amount> middle;
  for (const float value : values) {
    const std::uint32_t key = key_of(value);
    if (key >> 21U != high_bin) continue;
    middle.add(keys.size(), (key >> 10U) & 0x7FFU, amount_of(key));
    keys.push_back(key);
  }
  const std::uint32_t middle_bin = middle.find(target, found.above);

  histogram<Amount> low;
  const std::uint32_t prefix = (high_bin << 11U) | middle_bin;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] >> 10U == prefix) low.add(i, keys[i] & 0x3FFU, amount_of(keys[i]));
  }
  const std::uint32_t low_bin = low.find(target, found.above);
  found.key = (prefix << 10U) | low_bin;
  found.at = low.amount_of(low_bin);
  return found;
}

constexpr std::size_t block = 64;

// A value that at least k of the logits reach: the k-th greatest of the blocks' maxima. Minus infinity where
// there are too few blocks to tell. `maxima` is work space.
float lower_bound_of_top_k(std::span<const float> logits, std::size_t k, std::vector<float>& maxima) {
  maxima.clear();
  if (k > logits.size() / block) return -std::numeric_limits<float>::infinity();
  for (std::size_t begin = 0; begin < logits.size(); begin += block) {
    maxima.push_back(row_max(logits.subspan(begin, std::min(block, logits.size() - begin))));
  }
  const auto kth = maxima.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(maxima.begin(), kth, maxima.end(), std::greater<>());
  return *kth;
}

// Those that reach `least`, in id order; all, NaN too, where it is minus infinity.
void gather_candidates(std::span<const float> logits, float least, std::vector<token_id>& ids,
                       std::vector<float>& kept) {
  const bool all = least == -std::numeric_limits<float>::infinity();
  ids.clear();
  kept.clear();
  for (std::size_t begin = 0; begin < logits.size(); begin += block) {
    const auto values = logits.subspan(begin, std::min(block, logits.size() - begin));
    if (!all && row_max(values) < least) continue;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!all && !(values[i] >= least)) continue;
      ids.push_back(static_cast<token_id>(begin + i));
      kept.push_back(values[i]);
    }
  }
}

}  // namespace

void select_top_k(std::span<const float> logits, std::size_t k, std::vector<token_id>& ids,
                  std::vector<float>& kept, std::vector<std::uint32_t>& keys) {
  gather_candidates(logits, lower_bound_of_top_k(logits, k, kept), ids, kept);
  const auto one = [](std::uint32_t) { return 1U; };
  const auto limit =
      find_threshold(std::span<const float>(kept), static_cast<std::uint32_t>(k), ordered_key, one, keys);
  std::size_t equals = k - limit.above;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::uint32_t key = ordered_key(kept[i]);
    const bool equal = key == limit.key && equals > 0;
    ids[count] = ids[i];
    kept[count] = kept[i];
    equals -= equal ? 1U : 0U;
    count += key > limit.key || equal ? 1U : 0U;
  }
  ids.resize(count);
  kept.resize(count);
}

void keep_top_p(std::span<float> weights, double top_p, std::vector<float>& room,
                std::vector<std::uint32_t>& keys) {
  constexpr float small = 0x1.0p-14F;  // beside the greatest, 1: what a model leaves of most of its tokens
  const double target = top_p * sum_weights(weights);
  std::span<const float> candidates = weights;
  if (sum_from(weights, small) >= target) candidates = gather_from(weights, small, room);
  // Weights are never negative: their bits are in their order.
  const auto bits = [](float weight) { return std::bit_cast<std::uint32_t>(weight); };
  const auto weight = [](std::uint32_t key) { return static_cast<double>(std::bit_cast<float>(key)); };
  const auto limit = find_threshold<double>(candidates, target, bits, weight, keys);
  const float least = std::bit_cast<float>(limit.key);
  if (limit.above + limit.at - static_cast<double>(least) < target) return clear_below(weights, least);
  double mass = limit.above;  // of those equal to it the first are enough
  for (float& w : weights) {
    if (w > least) continue;
    if (w == least && mass < target) {
      mass += static_cast<double>(w);
    } else {
      w = 0.0F;
    }
  }
}

}  // namespace troupe
