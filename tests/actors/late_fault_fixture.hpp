// A device whose step's fault is thrown by the next call, as a runner's process tells of it.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/executor/forwarding_executor.hpp"

namespace troupe::test {

enum class step_fault {
  none,
  is_next,    // the next step that is sampled with a grammar will lack memory
  is_untold,  // it has, and no call has thrown that
  is_told     // that step cannot be sampled
};

class late_fault final : public forwarding_executor {
 public:
  late_fault(std::shared_ptr<executor> inner, step_fault& fault)
      : forwarding_executor(std::move(inner)), fault_(fault) {}

  void forward(const device_batch& batch) override {
    throw_if_untold();
    if (fault_ == step_fault::is_told) fault_ = step_fault::none;
    const auto has_grammar = [](const sample_row& row) { return row.sampling->grammar != nullptr; };
    if (fault_ == step_fault::is_next && std::ranges::any_of(batch.samples, has_grammar)) {
      fault_ = step_fault::is_untold;
    } else {
      forwarding_executor::forward(batch);
    }
  }
  std::optional<device_figures> figures() override {
    throw_if_untold();
    return device_figures{"no such bus", 1000, 400, 1};
  }
  bool begin_sample(const device_batch& batch, const step_masks* masks) override {
    require_step();
    return forwarding_executor::begin_sample(batch, masks);
  }
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    require_step();
    forwarding_executor::sample(batch, masks, result);
  }

 private:
  void throw_if_untold() {
    if (fault_ != step_fault::is_untold) return;
    fault_ = step_fault::is_told;
    throw out_of_device_memory("no memory for a step");
  }
  void require_step() {
    throw_if_untold();
    if (fault_ == step_fault::is_told) throw std::runtime_error("a step that has failed cannot be sampled");
  }

  step_fault& fault_;
};

}  // namespace troupe::test
