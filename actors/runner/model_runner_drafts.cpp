// The model runner's part with a draft model, which runs between the model's steps: no fault of its own ends
// a request.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "actors/runner/model_runner.hpp"
#include "runtime/drafting/draft_model.hpp"

namespace troupe {
namespace {

// Of proposals, with no draft between them. The next one after the first is tried at once, after each further
// one 2, 6, 14, ... are skipped.
constexpr int most_draft_shortages = 8;

}  // namespace

void model_runner_state::observe(const draft_work& work) {
  if (!draft_) return;
  if (work.is_first) draft_->close_all();
  for (const engine_request_ptr& request : work.opened)
    draft_->open(request->id, request->prompt, *request->sampling);
  work.news.tell(*draft_);
}

drafts_ptr model_runner_state::propose(const draft_work& work) try {
  observe(work);
  if (proposals_to_skip_ > 0) {
    --proposals_to_skip_;
    return nullptr;
  }
  auto drafts = std::make_shared<std::vector<draft>>();
  bool is_resting = true;
  const bool has_memory = with_draft(on_lack_of_memory::drop_drafts, [&] {
    std::vector<request_id> ids;
    for (const draft_news::output& each : work.news.outputs) ids.push_back(each.id);
    *drafts = draft_->propose(ids);
    is_resting = draft_->is_resting();
  });
  if (!has_memory) skip_proposals();
  if (!drafts->empty()) draft_shortages_ = 0;
  return is_resting ? nullptr : drafts;
} catch (const std::exception& fault) {
  fail(fault);
  return nullptr;
}

void model_runner_state::skip_proposals() {
  ++draft_shortages_;
  if (draft_shortages_ == most_draft_shortages)
    return give_up_draft(out_of_device_memory("it has found no memory again and again"));
  proposals_to_skip_ = (1 << draft_shortages_) - 2;
}

bool model_runner_state::with_draft(on_lack_of_memory policy, const std::function<void()>& work) try {
  if (!draft_) return true;
  if (std::exchange(draft_forgets_, false)) draft_->forget_stored();
  work();
  return true;
} catch (const device_lost&) {
  is_lost_by_draft_ = true;
  throw;
} catch (const out_of_device_memory& fault) {
  if (policy == on_lack_of_memory::shrink_kv_cache) throw;
  draft_forgets_ = true;
  draft_log_.warn(
      self_->clock().now(),
      fmt::format("the draft model finds no memory on the device: it computes anew what it has stored: {}",
                  fault.what()));
  return false;
} catch (const std::exception& fault) {
  give_up_draft(fault);
  return true;
}

void model_runner_state::give_up_draft(const std::exception& fault) {
  spdlog::error("the draft model failed and drafts no more: {}", fault.what());
  draft_.reset();
  overlaps_ = device_->overlaps();
}

}  // namespace troupe
