// First come, first served.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

class arrival_queue final : public waiting_queue {
 public:
  std::size_t size() const override { return waiting_.size(); }
  void add(sequence& who) override { waiting_.insert(&who); }
  void remove(sequence& who) override { waiting_.erase(&who); }

 private:
  void order(std::size_t most, std::vector<sequence*>& ordered) const override {
    for (auto each = waiting_.begin(); each != waiting_.end() && ordered.size() < most; ++each)
      ordered.push_back(*each);
  }

  std::set<sequence*, older> waiting_;
};

}  // namespace troupe
