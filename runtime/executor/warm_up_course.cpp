#include "runtime/executor/warm_up_course.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

auto is_of(warm_up_phase phase) {
  return [phase](const warm_up_item& item) { return item.phase == phase; };
}

}  // namespace

warm_up_course::warm_up_course(std::vector<warm_up_item> items, warm_up_mode mode) {
  if (mode == warm_up_mode::skip) return;
  items_ = std::move(items);
  before_ready_ = items_.size();
  if (mode == warm_up_mode::full) return;
  const auto rest = std::stable_partition(items_.begin(), items_.end(),
                                          [](const warm_up_item& item) { return item.is_first; });
  before_ready_ = static_cast<std::size_t>(rest - items_.begin());
  // Of its two passes the second stays behind what comes between them.
  const auto is_verification = is_of(warm_up_phase::verification);
  auto end_of_first_pass = rest;
  for (auto left = std::count_if(rest, items_.end(), is_verification) / 2; left > 0; ++end_of_first_pass)
    if (is_verification(*end_of_first_pass)) --left;
  std::stable_partition(rest, end_of_first_pass, is_verification);
}

const warm_up_item* warm_up_course::next() const { return finished() ? nullptr : &items_[done_]; }

void warm_up_course::advance() { go_on(true); }
void warm_up_course::skip() { go_on(false); }

void warm_up_course::go_on(bool was_run) {
  was_run_.push_back(was_run);
  ++done_;
  crashes_ = kills_ = 0;
}

void warm_up_course::repeat(warm_up_phase phase) {
  const bool was_ready = ready();
  const auto is_of_phase = is_of(phase);
  std::vector<warm_up_item> again;
  for (std::size_t i = done_; i-- > 0;) {
    if (!was_run_[i] || !is_of_phase(items_[i])) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    again.insert(again.begin(), items_[i]);
    again.front().is_again = true;
    items_.erase(items_.begin() + at);
    was_run_.erase(was_run_.begin() + at);
    --done_;
    if (was_ready && i < before_ready_) --before_ready_;
  }
  const auto where = was_ready ? items_.end() : items_.begin() + static_cast<std::ptrdiff_t>(done_);
  items_.insert(where, again.begin(), again.end());
}

void warm_up_course::skip_graphs() {
  for (std::size_t i = items_.size(); i-- > done_;) {
    if (!items_[i].is_for_graph) continue;
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < before_ready_) --before_ready_;
  }
}

bool warm_up_course::bring_forward(warm_up_phase phase) {
  const auto is_of_phase = is_of(phase);
  const auto left = items_.begin() + static_cast<std::ptrdiff_t>(done_);
  if (left == items_.end()) return false;
  if (is_of_phase(*left)) return true;
  if (std::stable_partition(left, items_.end(), is_of_phase) == left) return false;
  crashes_ = kills_ = 0;
  return true;
}

bool warm_up_course::ended_runner(bool was_killed) {
  constexpr int most_crashes = 2, most_kills = 5;
  ++(was_killed ? kills_ : crashes_);
  return crashes_ >= most_crashes || kills_ >= most_kills;
}

double warm_up_course::share() const {
  if (items_.empty()) return 1.0;
  const auto left = std::count_if(items_.begin() + static_cast<std::ptrdiff_t>(done_), items_.end(),
                                  [](const warm_up_item& item) { return !item.is_again; });
  return 1.0 - static_cast<double>(left) / static_cast<double>(items_.size());
}

}  // namespace troupe
