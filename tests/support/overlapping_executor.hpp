// An executor whose tokens come late, in place of a device that goes on by itself: the next step is asked for
// before they are collected, and its rows that nobody knows the tokens of are fed with what was drawn.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/executor/forwarding_executor.hpp"

namespace troupe::test {

class overlapping_executor final : public forwarding_executor {
 public:
  // `looks`: how often collect() says that they are not there yet. `on_forward`, `on_collect` hear of each
  // step's number.
  overlapping_executor(
      std::unique_ptr<executor> inner, int looks,
      std::function<void(std::uint64_t)> on_forward = [](std::uint64_t) {},
      std::function<void(std::uint64_t)> on_collect = [](std::uint64_t) {})
      : forwarding_executor(std::move(inner)),
        looks_(looks),
        on_forward_(std::move(on_forward)),
        on_collect_(std::move(on_collect)) {}

  bool overlaps() const override { return true; }

  void forward(const device_batch& batch) override {
    if (!batch.fed.empty() && !has_drawn_) throw std::logic_error("fed with tokens that are known");
    on_forward_(batch.step);
    filled_ = batch;
    for (const drawn_row& fed : batch.fed)
      filled_.tokens[static_cast<std::size_t>(fed.row)] =
          drawn_.tokens.at(static_cast<std::size_t>(fed.sample)).token;
    filled_.fed.clear();
    forwarding_executor::forward(filled_);
  }
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    require_collected();
    forwarding_executor::sample(completed(batch), masks, result);
  }
  bool begin_sample(const device_batch& batch, const step_masks* masks) override {
    require_collected();
    for (const sample_row& each : batch.samples)
      if (each.sampling->logprobs) return false;
    if (!batch.prompt_logprobs.empty()) return false;
    forwarding_executor::sample(completed(batch), masks, drawn_);
    has_drawn_ = true;
    looked_ = 0;
    return true;
  }
  bool collect(step_result& result) override {
    if (!has_drawn_) throw std::logic_error("nothing was asked for");
    if (looked_++ < looks_) return false;
    on_collect_(drawn_.step);
    result = drawn_;
    has_drawn_ = false;
    return true;
  }

 private:
  // With the tokens that forward() was fed, and the histories that are known by now.
  const device_batch& completed(const device_batch& batch) {
    if (batch.fed.empty()) return batch;
    filled_.samples = batch.samples;
    return filled_;
  }
  void require_collected() const {
    if (has_drawn_) throw std::logic_error("the step before has not been collected");
  }

  int looks_;
  std::function<void(std::uint64_t)> on_forward_;
  std::function<void(std::uint64_t)> on_collect_;
  device_batch filled_;
  step_result drawn_;
  bool has_drawn_ = false;
  int looked_ = 0;
};

}  // namespace troupe::test
