// The model runner's part with a draft model: it runs between the model's steps, and no fault of it is
// anybody's.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "actors/model_runner.hpp"
#include "runtime/drafting/draft_model.hpp"

namespace troupe {
namespace {

// In a row, each after a rest of twice as many questions: then it drafts no more, which gives its memory
// back.
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
  if (std::exchange(draft_rest_, std::max(draft_rest_ - 1, 0)) > 0) return nullptr;
  auto drafts = std::make_shared<std::vector<draft>>();
  bool is_resting = true;
  with_draft(draft_shortage::costs_drafts, [&] {
    std::vector<request_id> ids;
    for (const draft_news::output& each : work.news.outputs) ids.push_back(each.id);
    *drafts = draft_->propose(ids);
    is_resting = draft_->is_resting();
  });
  return is_resting ? nullptr : drafts;
} catch (const std::exception& fault) {
  fail(fault);
  return nullptr;
}

void model_runner_state::with_draft(draft_shortage shortage, const std::function<void()>& work) try {
  if (!draft_) return;
  if (draft_shortages_ > 0) draft_->forget_stored();
  work();
  draft_shortages_ = 0;
} catch (const device_lost&) {
  is_lost_by_draft_ = true;
  throw;
} catch (const out_of_device_memory& fault) {
  if (shortage == draft_shortage::shrinks_the_cache) throw;
  if (++draft_shortages_ == most_draft_shortages) return give_up_draft(fault);
  draft_rest_ = (1 << draft_shortages_) - 2;
  spdlog::warn(
      "the draft model finds no memory on the device: it drafts later, and computes anew what it has stored: "
      "{}",
      fault.what());
} catch (const std::exception& fault) {
  give_up_draft(fault);
}

void model_runner_state::give_up_draft(const std::exception& fault) {
  spdlog::error("the draft model failed and drafts no more: {}", fault.what());
  draft_.reset();
  overlaps_ = device_->overlaps();
}

}  // namespace troupe
