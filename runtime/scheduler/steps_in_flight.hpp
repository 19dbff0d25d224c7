// The steps between resolve() and commit(), oldest first, in a ring whose places keep their memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/scheduler/schedule_batch.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

struct step_in_flight {
  std::uint64_t step = 0;
  schedule_batch rows;
  std::shared_ptr<step_batch> batch;
  // Blocks that come back when it is committed, as far as one can tell here: shared ones may not.
  std::int32_t returning_blocks = 0;
  bool has_draft_blocks = false;  // one of its rows has
};

class steps_in_flight_ring {
 public:
  explicit steps_in_flight_ring(std::size_t most) : ring_(most) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == ring_.size(); }
  step_in_flight& operator[](std::size_t i) { return ring_[(first_ + i) % ring_.size()]; }
  const step_in_flight& operator[](std::size_t i) const { return ring_[(first_ + i) % ring_.size()]; }
  step_in_flight& front() { return (*this)[0]; }
  // Only while not full.
  step_in_flight& push() { return (*this)[size_++]; }
  void pop() {
    front().rows.clear();
    front().batch.reset();
    front().returning_blocks = 0;
    front().has_draft_blocks = false;
    first_ = (first_ + 1) % ring_.size();
    --size_;
  }

 private:
  std::vector<step_in_flight> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace troupe
