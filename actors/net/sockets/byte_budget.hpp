// One bound for the bytes that all clients of a server make it hold: what has arrived and is kept, not what
// was announced. Lives on the io_context thread.
#pragma once
#include <cstddef>

namespace troupe::net {

class byte_budget {
 public:
  explicit byte_budget(std::size_t limit) : limit_(limit) {}

  // One client's part of the budget, given back at the end of its life.
  class share {
   public:
    explicit share(byte_budget& budget) : budget_(budget) {}
    ~share() { release(); }
    share(const share&) = delete;
    share& operator=(const share&) = delete;

    // Holds `bytes` from now on, if more than before. False, and nothing changes, where the budget is spent.
    bool hold(std::size_t bytes) {
      if (bytes <= held_) return true;
      if (bytes - held_ > budget_.limit_ - budget_.used_) return false;
      budget_.used_ += bytes - held_;
      held_ = bytes;
      return true;
    }
    void release() {
      budget_.used_ -= held_;
      held_ = 0;
    }

   private:
    byte_budget& budget_;
    std::size_t held_ = 0;
  };

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
};

}  // namespace troupe::net
