// An executor that passes every call on to another one: the base of those that watch or change a single call.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/executor/executor.hpp"

namespace troupe {

class forwarding_executor : public executor {
 public:
  explicit forwarding_executor(std::shared_ptr<executor> inner) : inner_(std::move(inner)) {}

  kv_layout layout() const override { return inner_->layout(); }
  result<void> reserve_steps(std::int32_t rows, std::int32_t sequences) override {
    return inner_->reserve_steps(rows, sequences);
  }
  result<memory_profile> profile() override { return inner_->profile(); }
  std::string choices() const override { return inner_->choices(); }
  void use_choices(const std::string& choices) override { inner_->use_choices(choices); }
  result<void> take_kv_cache(const kv_cache_claim& claim) override { return inner_->take_kv_cache(claim); }
  void forward(const device_batch& batch) override { inner_->forward(batch); }
  void sample(const device_batch& batch, const step_masks* masks, step_result& result) override {
    inner_->sample(batch, masks, result);
  }
  bool overlaps() const override { return inner_->overlaps(); }
  bool begin_sample(const device_batch& batch, const step_masks* masks) override {
    return inner_->begin_sample(batch, masks);
  }
  bool collect(step_result& result) override { return inner_->collect(result); }
  void load_dummy_hidden_states(std::int32_t rows) override { inner_->load_dummy_hidden_states(rows); }
  step_plans* plans() override { return inner_->plans(); }
  void synchronize() override { inner_->synchronize(); }
  std::optional<device_figures> figures() override { return inner_->figures(); }
  std::string kernel_path() const override { return inner_->kernel_path(); }

 private:
  std::shared_ptr<executor> inner_;
};

}  // namespace troupe
