// When steps begin and end, by the device's own clock.
#pragma once
#include <functional>
#include <memory>
#include <utility>

#include "runtime/executor_cuda/cuda_event.hpp"

namespace troupe {

class step_clock {
 public:
  void begin(const cuda_stream& stream) {
    begin_.record(stream);
    has_begun_ = true;
  }
  // To be recorded behind a step's last work.
  cuda_event& end() { return *end_; }

  // Of a step that is over: microseconds from its first work to its last, and from the last work of the one
  // before to its first.
  void tell(const std::function<void(double busy, double idle)>& hears) {
    if (!has_begun_) return;
    const double busy = 1000.0 * end_->milliseconds_since(begin_);
    hears(busy, has_previous_ ? 1000.0 * begin_.milliseconds_since(*previous_end_) : 0.0);
    std::swap(end_, previous_end_);
    has_previous_ = true;
    has_begun_ = false;
  }

 private:
  cuda_event begin_{cuda_event::use::timing};
  std::unique_ptr<cuda_event> end_ = std::make_unique<cuda_event>(cuda_event::use::timing);
  std::unique_ptr<cuda_event> previous_end_ = std::make_unique<cuda_event>(cuda_event::use::timing);
  bool has_begun_ = false;
  bool has_previous_ = false;
};

}  // namespace troupe
