#include "runtime/scheduler/waiting_queue.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "runtime/scheduler/aging_queue.hpp"
#include "runtime/scheduler/fair_queue.hpp"
#include "runtime/scheduler/lpm_queue.hpp"

namespace troupe {

namespace {

class arrival_queue final : public waiting_queue {
 public:
  std::size_t size() const override { return waiting_.size(); }
  void add(sequence& who) override { waiting_.insert(&who); }
  void remove(sequence& who) override { waiting_.erase(&who); }
  void admitted(const sequence&, std::int32_t) override {}
  void finished(const sequence&) override {}
  void want_prefixes(std::vector<request_id>&) const override {}

  const std::vector<sequence*>& next(std::size_t most) override {
    next_.clear();
    for (auto each = waiting_.begin(); each != waiting_.end() && next_.size() < most; ++each)
      next_.push_back(*each);
    return next_;
  }

  std::size_t ahead_of(const sequence& who) const override {
    const auto found = waiting_.find(const_cast<sequence*>(&who));
    return static_cast<std::size_t>(std::distance(waiting_.begin(), found));
  }

  bool preempts(const sequence&, const sequence&) const override { return false; }
  bool yields_before(const sequence&, const sequence&) const override { return false; }

 private:
  struct older {
    bool operator()(const sequence* a, const sequence* b) const { return a->ticket < b->ticket; }
  };
  std::set<sequence*, older> waiting_;
  std::vector<sequence*> next_;
};

}  // namespace

std::optional<scheduling_policy> parse_policy(std::string_view word) {
  if (word == "fcfs") return scheduling_policy::fcfs;
  if (word == "priority") return scheduling_policy::priority;
  if (word == "lpm") return scheduling_policy::lpm;
  if (word == "drr") return scheduling_policy::drr;
  return std::nullopt;
}

std::unique_ptr<waiting_queue> make_waiting_queue(scheduling_policy policy, std::int32_t quantum,
                                                  std::int32_t patience) {
  if (policy == scheduling_policy::lpm) return std::make_unique<lpm_queue>();
  if (policy == scheduling_policy::drr) return std::make_unique<fair_queue>(std::max(quantum, 1));
  if (policy == scheduling_policy::priority) return std::make_unique<aging_queue>(patience);
  return std::make_unique<arrival_queue>();
}

}  // namespace troupe
