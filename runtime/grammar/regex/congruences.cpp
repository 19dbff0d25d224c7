#include "runtime/grammar/regex/congruences.hpp"

#include <numeric>
#include <optional>
#include <utility>

namespace troupe::grammar {
namespace {

constexpr std::uint32_t most_digits = 18;  // whose numbers fit
constexpr std::uint64_t max_modulus = std::uint64_t{1} << 59;

__extension__ typedef unsigned __int128 wide_product;  // NOLINT(modernize-use-using)

std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<wide_product>(a) * b % modulus);
}

// first, first + step, first + 2 * step, ...
struct progression {
  std::uint64_t first = 0, step = 1;

  std::uint64_t count_below(std::uint64_t end) const {
    return first < end ? (end - 1 - first) / step + 1 : 0;
  }
};

// x with a * x = 1 for the modulus, where the two have no divisor in common: Euclid's algorithm, extended.
std::uint64_t inverse(std::uint64_t a, std::uint64_t modulus) {
  std::int64_t x = 0, next_x = 1;
  auto r = static_cast<std::int64_t>(modulus), next_r = static_cast<std::int64_t>(a % modulus);
  while (next_r != 0) {
    const std::int64_t q = r / next_r;
    x = std::exchange(next_x, x - q * next_x);
    r = std::exchange(next_r, r - q * next_r);
  }
  return static_cast<std::uint64_t>(x < 0 ? x + static_cast<std::int64_t>(modulus) : x);
}

// The k for which from.first + k * from.step is `value` for the modulus.
std::optional<progression> where(const progression& from, std::uint64_t value, std::uint64_t modulus) {
  const std::uint64_t apart = (value + modulus - from.first % modulus) % modulus;
  const std::uint64_t shared = std::gcd(from.step, modulus);
  if (apart % shared != 0) return std::nullopt;
  const std::uint64_t left = modulus / shared;
  if (left == 1) return progression{0, 1};
  return progression{product(apart / shared, inverse(from.step / shared % left, left), left), left};
}

// What has to be added to a number of this remainder with zeros behind it: for the divisor.
std::uint64_t missing(const congruence& c, std::uint64_t power_of_ten) {
  const std::uint64_t zeros = product(c.remainder, power_of_ten % c.divisor, c.divisor);
  return (c.divisor - zeros) % c.divisor;
}

std::optional<progression> common_to(std::span<const congruence> all_of, std::uint64_t power_of_ten) {
  progression out;
  for (const congruence& each : all_of) {
    const auto fitting = where(out, missing(each, power_of_ten), each.divisor);
    if (!fitting || out.step > max_modulus / fitting->step) return std::nullopt;
    out = {out.first + fitting->first * out.step, out.step * fitting->step};
  }
  return out;
}

bool some_below(std::uint64_t power_of_ten, std::span<const congruence> all_of,
                std::span<const congruence> none_of) {
  const auto fitting = common_to(all_of, power_of_ten);
  const std::uint64_t count = fitting ? fitting->count_below(power_of_ten) : 0;
  std::uint64_t denied = 0;
  for (const congruence& each : none_of) {
    if (denied >= count) return false;
    const auto hits = where(*fitting, missing(each, power_of_ten), each.divisor);
    denied += hits ? hits->count_below(count) : 0;
  }
  return denied < count;
}

}  // namespace

bool some_digits(const digit_counts& counts, std::span<const congruence> all_of,
                 std::span<const congruence> none_of) {
  std::uint64_t power_of_ten = 1;
  for (std::uint32_t n = 0; n <= std::min(counts.most, most_digits); ++n, power_of_ten *= 10)
    if (n >= counts.least && some_below(power_of_ten, all_of, none_of)) return true;
  return false;
}

}  // namespace troupe::grammar
