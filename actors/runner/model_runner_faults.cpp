// The model runner's part when a step fails: whose it was, and what becomes of the device.
#include <spdlog/spdlog.h>

#include <exception>
#include <string>
#include <utility>

#include "actors/runner/model_runner.hpp"
#include "runtime/drafting/draft_model.hpp"

namespace troupe {
namespace {

// Of errors.
constexpr caf::atom_value draft_model_category = caf::atom("draftmodel");
constexpr caf::atom_value memory_category = caf::atom("memory");

}  // namespace

caf::error draft_model_fault() {
  return {1, draft_model_category, caf::make_message(std::string("a step of the draft model failed"))};
}

bool is_draft_model_fault(const caf::error& reason) { return reason.category() == draft_model_category; }

caf::error lack_of_memory() {
  return {1, memory_category, caf::make_message(std::string("the device had no memory for a step"))};
}

bool is_lack_of_memory(const caf::error& reason) { return reason.category() == memory_category; }

caf::error lack_of_memory_in_warm_up() {
  return {2, memory_category, caf::make_message(std::string("the device had no memory for the warm-up"))};
}

bool is_lack_of_memory_in_warm_up(const caf::error& reason) { return reason == lack_of_memory_in_warm_up(); }

// Where the step before has come to its end, its requests get its tokens and are not to blame.
void model_runner_state::collect_before_the_end() try {
  if (!held_ || !uncollected_) return;
  device_->synchronize();
  for (int i = 0; i < most_looks_at_the_end && !collect(); ++i) {
  }
} catch (const std::exception& fault) {
  spdlog::debug("nor can the step before be collected: {}", fault.what());
}

std::optional<std::uint64_t> model_runner_state::step_at_work() const {
  if (answering_) return answering_;
  if (uncollected_) return uncollected_->step.batch->step;
  return held_ ? std::optional(held_->batch->step) : std::nullopt;
}

void model_runner_state::fail(const std::exception& fault) {
  collect_before_the_end();
  if (parts_.is_cut_off()) {
    spdlog::debug("what the device did is cut off: {}", fault.what());
    self_->quit();
  } else if (is_lost_by_draft_) {
    spdlog::error("a step of the draft model failed: {}", fault.what());
    self_->quit(draft_model_fault());
  } else if (const auto step = step_at_work()) {
    spdlog::error("step {} failed: {}", *step, fault.what());
    if (leave_device(fault)) return self_->quit(lack_of_memory());
    self_->quit(caf::make_error(caf::sec::runtime_error, "a step failed: its requests are computed again"));
  } else if (leave_device(fault)) {
    spdlog::error("warm-up: {}", fault.what());
    self_->quit(lack_of_memory_in_warm_up());
  } else {
    spdlog::error("the device failed while it computed for no request: {}", fault.what());
    self_->quit(caf::make_error(caf::sec::runtime_error, "the device failed"));
  }
}

// What it stores is not in doubt then; where a step stands among the others is known no longer. The next
// runner's steps write where those that it still computes are read from.
bool model_runner_state::leave_device(const std::exception& fault) try {
  if (!parts_.left_behind || dynamic_cast<const out_of_device_memory*>(&fault) == nullptr) return false;
  device_->synchronize();
  if (draft_) {
    draft_->forget_stored();
    draft_->close_all();  // what it was to hear of its requests may lie in this runner's mailbox
  }
  *parts_.left_behind = {std::move(device_), std::move(draft_)};
  return true;
} catch (const std::exception& another) {
  spdlog::error("nor does the device end what it was asked for: {}", another.what());
  return false;
}

}  // namespace troupe
