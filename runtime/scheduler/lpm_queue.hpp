// Longest cached prefix first (SGLang's lpm): what is computed already is used before it is evicted.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

// Among the oldest `most_compared` requests, those of the longer cached prefix first, equal ones in the order
// of arrival; the others behind them. A request that `patience` others have been admitted beside since it
// came goes before all that is younger, whatever is cached, also when it comes back after a preemption:
// nobody waits for ever.
class lpm_queue final : public waiting_queue {
 public:
  static constexpr std::size_t most_compared = 128;  // as in SGLang: looking costs time in every step
  // Whose prefixes a plan asks for, in turn: each takes a look-up a block.
  static constexpr std::size_t most_asked = 16;
  static constexpr std::uint64_t patience = 64;

  std::size_t size() const override { return waiting_.size(); }
  void add(sequence& who) override;
  void remove(sequence& who) override { waiting_.erase(&who); }
  void admitted(const sequence&, std::int32_t) override { ++admissions_; }
  bool may_pass(const sequence& later, const sequence& first) const override {
    return is_overdue(later) || !is_overdue(first);
  }
  void want_prefixes(std::vector<request_id>& ids) const override;

 private:
  bool is_overdue(const sequence& who) const { return admissions_ - who.details->queued_at >= patience; }
  void order(std::size_t most, std::vector<sequence*>& ordered) const override;

  std::set<sequence*, older> waiting_;
  std::uint64_t admissions_ = 0;
  mutable std::uint64_t asked_ = 0;  // the ticket at which the last question ended
};

}  // namespace troupe
