#include "runtime/executor/warm_up/warm_up_course.hpp"

#include <algorithm>
#include <functional>

namespace troupe {

warm_up_course::warm_up_course(std::vector<warm_up_item> items, warm_up_mode mode) {
  if (mode == warm_up_mode::skip) return;
  for (warm_up_item& each : items) steps_.push_back({each});
  before_ready_ = steps_.size();
  if (mode != warm_up_mode::lazy) return;
  const auto rest = std::stable_partition(steps_.begin(), steps_.end(),
                                          [](const step& each) { return each.item.is_first; });
  before_ready_ = static_cast<std::size_t>(rest - steps_.begin());
  // Of its two passes the second stays behind what comes between them.
  const auto is_verification = [](const step& each) {
    return each.item.phase == warm_up_phase::verification;
  };
  auto end_of_first_pass = rest;
  for (auto left = std::count_if(rest, steps_.end(), is_verification) / 2; left > 0; ++end_of_first_pass)
    if (is_verification(*end_of_first_pass)) --left;
  std::stable_partition(rest, end_of_first_pass, is_verification);
}

const warm_up_item* warm_up_course::next() const { return finished() ? nullptr : &steps_[done_].item; }

void warm_up_course::advance() { go_on(true); }
void warm_up_course::skip() { go_on(false); }

void warm_up_course::go_on(bool was_run) {
  steps_[done_].was_run = was_run;
  ++done_;
}

void warm_up_course::repeat(warm_up_phase phase) {
  const bool was_ready = ready();
  const auto is_repeated = [phase](const step& each) { return each.was_run && each.item.phase == phase; };
  const auto begin = steps_.begin();
  const auto left = first_left();
  if (was_ready)
    before_ready_ -= static_cast<std::size_t>(
        std::count_if(begin, begin + static_cast<std::ptrdiff_t>(before_ready_), is_repeated));
  const auto again = std::stable_partition(begin, left, std::not_fn(is_repeated));
  std::for_each(again, left,
                [](step& each) { each = {.item = each.item, .was_run = false, .is_again = true}; });
  done_ = static_cast<std::size_t>(again - begin);
  if (was_ready) std::rotate(again, left, steps_.end());
}

void warm_up_course::skip_graphs() {
  const auto is_for_graph = [](const step& each) { return each.item.is_for_graph; };
  const auto left = first_left();
  if (!ready())
    before_ready_ -= static_cast<std::size_t>(
        std::count_if(left, steps_.begin() + static_cast<std::ptrdiff_t>(before_ready_), is_for_graph));
  steps_.erase(std::remove_if(left, steps_.end(), is_for_graph), steps_.end());
}

bool warm_up_course::bring_forward(warm_up_phase phase) {
  const auto is_of_phase = [phase](const step& each) { return each.item.phase == phase; };
  const auto left = first_left();
  if (left == steps_.end()) return false;
  if (is_of_phase(*left)) return true;
  return std::stable_partition(left, steps_.end(), is_of_phase) != left;
}

bool warm_up_course::ended_runner(bool was_killed) {
  constexpr int most_crashes = 2, most_kills = 5;
  step& in = steps_[done_];
  ++(was_killed ? in.kills : in.crashes);
  return in.crashes >= most_crashes || in.kills >= most_kills;
}

double warm_up_course::share() const {
  if (steps_.empty()) return 1.0;
  const auto left = std::count_if(steps_.begin() + static_cast<std::ptrdiff_t>(done_), steps_.end(),
                                  [](const step& each) { return !each.is_again; });
  return 1.0 - static_cast<double>(left) / static_cast<double>(steps_.size());
}

}  // namespace troupe
