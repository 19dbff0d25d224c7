// Lower priority numbers first, with a bound on how long that may keep anybody waiting.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

// Equal priorities in the order of arrival. A request of a lower number takes the place and the blocks of
// running ones of higher numbers. A request that `patience` others have been admitted after it came is
// overdue: it goes before all that are not, the oldest first, and nobody takes its place for a lower number.
// It takes nobody's place by that.
//
// A full queue gives up the youngest of the highest number for a newcomer of a lower one. Neither who is
// overdue gives way nor who has begun, nor the one who is spared: after each that gave way the next whose
// turn it would be keeps its place until it is admitted. So of a kind of request that always gives way one
// runs every `patience` admissions, as long as one finds the queue not full.
class aging_queue final : public waiting_queue {
 public:
  // `patience`: admissions; 0: nobody is ever overdue.
  explicit aging_queue(std::int32_t patience) : patience_(patience) {}

  std::size_t size() const override { return by_priority_.size(); }
  void add(sequence& who) override;
  void remove(sequence& who) override;
  void admitted(const sequence&, std::int32_t) override { ++admissions_; }
  sequence* gives_way_to(std::int32_t priority) override;
  bool preempts(const sequence& waiting, const sequence& runs) const override;
  bool may_pass(const sequence& later, const sequence& first) const override;
  bool shares_with(const sequence& runs, const sequence& waiting) const override;
  bool yields_before(const sequence& a, const sequence& b) const override;

 private:
  struct before {
    bool operator()(const sequence* a, const sequence* b) const {
      return a->details->priority != b->details->priority ? a->details->priority < b->details->priority
                                                          : a->details->ticket < b->details->ticket;
    }
  };
  // From its arrival on: what preempts it again and again makes it no younger.
  bool is_overdue(const sequence& who) const {
    return patience_ > 0 && admissions_ - who.details->queued_at >= static_cast<std::uint64_t>(patience_);
  }
  void order(std::size_t most, std::vector<sequence*>& ordered) const override;

  std::int32_t patience_;
  std::set<sequence*, older> by_age_;
  std::set<sequence*, before> by_priority_;  // the same ones
  std::uint64_t admissions_ = 0;
  sequence* spared_ = nullptr;
  bool spares_next_ = false;  // somebody has given way since one was spared
};

}  // namespace troupe
