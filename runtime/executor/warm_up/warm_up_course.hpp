// In which order warm-up goes on, and when the engine may serve: a plain state machine that the supervisor
// steps through.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/executor/warm_up/warm_up.hpp"

namespace troupe {

// What comes before the first request. skip: nothing. full: a step of every bucket and graph. rows: of every
// number of rows and every graph. lazy: one prefill and one decode; what `rows` has besides comes later, what
// drafts cost first.
enum class warm_up_mode { skip, full, rows, lazy };

class warm_up_course {
 public:
  warm_up_course() = default;  // nothing to do
  warm_up_course(std::vector<warm_up_item> items, warm_up_mode mode);

  // The item to run next; nullptr where all are done.
  const warm_up_item* next() const;
  // The item that next() gave has been run ...
  void advance();
  // ... or is left out.
  void skip();
  // What has been run of this phase is run again: next where requests are not served yet, else behind all
  // that is left.
  void repeat(warm_up_phase phase);
  // Leaves out what is left for graphs alone.
  void skip_graphs();
  // What is left of this phase comes next, in its order. Whether anything is.
  bool bring_forward(warm_up_phase phase);
  // The runner has ended in the item that next() gives: by itself, or killed from outside. Whether it has so
  // often that the item is to be left out.
  bool ended_runner(bool was_killed);

  // Whether requests may be served: nothing is left that comes before them.
  bool ready() const { return done_ >= before_ready_; }
  bool finished() const { return done_ >= steps_.size(); }

  std::int32_t done() const { return static_cast<std::int32_t>(done_); }
  std::int32_t total() const { return static_cast<std::int32_t>(steps_.size()); }
  // Of those that come before the first request.
  std::int32_t needed() const { return static_cast<std::int32_t>(before_ready_); }
  double share() const;  // 0..1 of what is run at first; 1 where there is nothing to do

 private:
  struct step {
    warm_up_item item;
    bool was_run = false;   // not where it was left out
    bool is_again = false;  // has been run before
    int crashes = 0;        // of the runner in it
    int kills = 0;
  };
  void go_on(bool was_run);
  std::vector<step>::iterator first_left() { return steps_.begin() + static_cast<std::ptrdiff_t>(done_); }

  std::vector<step> steps_;  // in the order in which they are run
  std::size_t before_ready_ = 0;
  std::size_t done_ = 0;
};

}  // namespace troupe
