// How far what a kernel gave is from what it should have given.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe::checks {

// Remembers the value that comes nearest to what it may be apart from its expectation, or goes furthest
// beyond.
class comparison {
 public:
  // `shift` is added to every expectation: with one other than 0 every comparison must fail, which shows that
  // it compares.
  explicit comparison(double shift = 0) : shift_(shift) {}

  // `bound`: how far apart the two may be; 0: not at all. What is no number is infinitely far apart.
  void add(double found, double expected, double bound) {
    const double apart = std::abs(found - (expected + shift_));
    const double difference = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
    const double share = difference <= bound ? (bound > 0 ? difference / bound : 0.0)
                         : bound > 0         ? difference / bound
                                             : std::numeric_limits<double>::infinity();
    values_ += 1;
    if (values_ > 1 && share <= share_) return;
    share_ = share;
    difference_ = difference;
    bound_ = bound;
  }

  std::int64_t values() const { return values_; }
  double difference() const { return difference_; }
  double bound() const { return bound_; }
  // Something was compared, and all of it is within its bounds.
  bool passed() const { return values_ > 0 && share_ <= 1; }
  double shift() const { return shift_; }

 private:
  double shift_;
  std::int64_t values_ = 0;
  double share_ = 0;  // difference_ / bound_
  double difference_ = 0;
  double bound_ = 0;
};

}  // namespace troupe::checks
