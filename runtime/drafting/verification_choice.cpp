#include "runtime/drafting/verification_choice.hpp"

namespace troupe {
namespace {

constexpr double memory = 4096.0;     // observations that count
constexpr double enough = 128.0;      // of each way, before one is preferred
constexpr std::uint64_t rarely = 16;  // requests of which one goes the other way

draft_verification other(draft_verification how) {
  return how == draft_verification::rejection ? draft_verification::same_draw : draft_verification::rejection;
}

}  // namespace

draft_verification verification_choice::next() {
  if (method_ == rejection_method::strict) return draft_verification::same_draw;
  if (method_ == rejection_method::probabilistic) return draft_verification::rejection;
  const std::uint64_t number = num_chosen_++;
  if (seen_[0].all < enough || seen_[1].all < enough)
    return number % 2 == 0 ? draft_verification::rejection : draft_verification::same_draw;
  const bool rejects = rate(draft_verification::rejection) >= rate(draft_verification::same_draw);
  const draft_verification better = rejects ? draft_verification::rejection : draft_verification::same_draw;
  return number % rarely == 0 ? other(better) : better;
}

void verification_choice::observe(draft_verification how, bool is_accepted) {
  observations& seen = seen_[index_of(how)];
  seen.accepted += (is_accepted ? 1.0 : 0.0) - seen.accepted / memory;
  seen.all += 1.0 - seen.all / memory;
}

double verification_choice::rate(draft_verification how) const {
  const observations& seen = seen_[index_of(how)];
  return (seen.accepted + 1.0) / (seen.all + 2.0);
}

}  // namespace troupe
