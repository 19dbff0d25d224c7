// Who is to blame when a step takes the device along? All of its requests are suspects. They are tried again
// in halves, each half with nobody beside it, until whoever did it is alone: that one is convicted, and
// nobody else is the worse for it but for the time.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/request.hpp"
#include "runtime/scheduler/blame.hpp"

namespace troupe {

class suspects {
 public:
  // A step with these requests took the device along, or perhaps did. Gives the one that is convicted, if one
  // is: it was alone in the step, and so many such steps have ended the same way without its getting any
  // further (a crash is not believed of a kill, nor the other way round), or it has been alone in
  // most_crashes with few steps in between.
  std::optional<request_id> accuse(std::span<const request_id> in_step, blame whose);
  // It has got further than ever before: whatever it was, the request gets over it.
  void acquit(request_id id);
  // It is over.
  void forget(request_id id);

  // Nobody is to be tried.
  bool empty() const { return groups_.empty(); }
  // Somebody may be acquitted.
  bool knows_anybody() const { return !records_.empty(); }
  // Whether it is among those whose turn it is; everybody is where nobody is to be tried.
  bool may_run(request_id id) const;

  // Nobody is tried for fewer kills.
  static constexpr std::int32_t kills_that_try = 3;
  // Without getting further, the last time alone: so many crashes convict, or so many kills.
  static constexpr std::int32_t crashes_that_convict = 2;
  static constexpr std::int32_t kills_that_convict = 64;
  // However far it has got in between, unless by so many steps for each further one: who crashes the runner
  // that seldom gets to its end, whatever it is that crashes.
  static constexpr std::int32_t most_crashes = 8;
  static constexpr std::int32_t steps_for_a_crash = 16;

 private:
  struct record {
    std::int32_t crashes = 0;        // since it has last got further, and ...
    std::int32_t kills = 0;          // ... these
    std::int32_t crashes_alone = 0;  // in all, less those that it has made up for by steps ...
    std::int32_t steps = 0;          // ... of which these came since the last one was forgiven
  };
  bool remove(request_id id);
  bool is_guilty(request_id id, blame whose) const;

  std::deque<std::vector<request_id>> groups_;  // of those to be tried, the first one now
  std::unordered_map<request_id, record> records_;
};

}  // namespace troupe
