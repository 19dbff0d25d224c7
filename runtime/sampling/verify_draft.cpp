#include "runtime/sampling/verify_draft.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/sampling/row_math.hpp"

namespace troupe {

namespace {

__extension__ typedef unsigned __int128 wide;  // NOLINT(modernize-use-using)

// Weights and their sums as multiples of weight_step: at most 2^33 and 2^53.
std::uint64_t in_steps(float weight) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(weight * (1.0F / weight_step)));
}

std::uint64_t total_steps(const token_distribution& distribution) {
  return static_cast<std::uint64_t>(sum_weights(distribution.weights) / static_cast<double>(weight_step));
}

std::uint64_t steps_of(const token_distribution& distribution, token_id token) {
  const auto& [ids, weights] = distribution;
  if (ids.empty()) {
    const auto index = static_cast<std::size_t>(token);
    return token >= 0 && index < weights.size() ? in_steps(weights[index]) : 0;
  }
  const auto found = std::lower_bound(ids.begin(), ids.end(), token);
  if (found == ids.end() || *found != token) return 0;
  return in_steps(weights[static_cast<std::size_t>(found - ids.begin())]);
}

// The same for tokens that are asked for in ascending order.
class ascending_steps {
 public:
  explicit ascending_steps(const token_distribution& distribution) : distribution_(distribution) {}

  std::uint64_t of(token_id token) {
    const auto& [ids, weights] = distribution_;
    if (ids.empty()) {
      const auto index = static_cast<std::size_t>(token);
      return index < weights.size() ? in_steps(weights[index]) : 0;
    }
    while (next_ < ids.size() && ids[next_] < token) ++next_;
    return next_ < ids.size() && ids[next_] == token ? in_steps(weights[next_]) : 0;
  }

 private:
  token_distribution distribution_;
  std::size_t next_ = 0;
};

// The integer part of u * amount, for a multiple u of 2^-53 in [0, 1) and an amount of at most 2^106.
wide share(double u, wide amount) {
  const auto numerator = static_cast<std::uint64_t>(u * 0x1.0p53);
  const wide low = amount & ((wide{1} << 53U) - 1);
  return (amount >> 53U) * numerator + (low * numerator >> 53U);
}

// Target and draft on one scale: every weight times the total of the other's.
class scaled_pair {
 public:
  scaled_pair(const token_distribution& target, const token_distribution& draft)
      : target_(target),
        draft_(draft),
        target_total_(total_steps(target)),
        draft_total_(total_steps(draft)) {}

  wide target_of(token_id token) const { return wide{steps_of(target_, token)} * draft_total_; }
  wide draft_of(token_id token) const { return wide{steps_of(draft_, token)} * target_total_; }

  // Calls visit(token, how much more the target gives it than the draft) by ascending token, where that is
  // more than nothing, until it returns true.
  template <class Visit>
  void visit_residual(Visit visit) const {
    ascending_steps drafted(draft_);
    for (std::size_t i = 0; i < target_.weights.size(); ++i) {
      const token_id token = target_.id(i);
      const wide wanted = wide{in_steps(target_.weights[i])} * draft_total_;
      const wide given = wide{drafted.of(token)} * target_total_;
      if (wanted > given && visit(token, wanted - given)) return;
    }
  }

 private:
  token_distribution target_;
  token_distribution draft_;
  std::uint64_t target_total_;
  std::uint64_t draft_total_;
};

// Nothing where the target gives no token more than the draft does.
std::optional<token_id> draw_residual(const scaled_pair& pair, double u) {
  wide total = 0;
  pair.visit_residual([&](token_id, wide weight) {
    total += weight;
    return false;
  });
  const wide goal = share(u, total);
  wide passed = 0;
  std::optional<token_id> drawn;
  pair.visit_residual([&](token_id token, wide weight) {
    drawn = token;
    passed += weight;
    return passed > goal;
  });
  return drawn;
}

}  // namespace

token_id verify_draft(const token_distribution& target, const drafted_token& draft, double u_accept,
                      double u_residual) {
  const scaled_pair pair(target, draft.distribution);
  // An integer is above u times another exactly where it is above the integer part of that.
  if (pair.target_of(draft.token) > share(u_accept, pair.draft_of(draft.token))) return draft.token;
  const auto residual = draw_residual(pair, u_residual);
  return residual ? *residual : draw_token(target, u_residual);
}

}  // namespace troupe
