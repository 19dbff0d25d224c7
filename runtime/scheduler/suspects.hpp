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

namespace troupe {

// What speaks for it that the step itself has taken the device along.
enum class evidence {
  weak,    // the device was killed from outside, as an operator or the kernel does it
  strong,  // it crashed, threw or hung
};

class suspects {
 public:
  // A step with these requests took the device along. Gives the one that is convicted, if one is: it was
  // alone in the step, and either has got no further since the steps before that took the device along, which
  // say enough together, or has been alone in most_crashes of them.
  std::optional<request_id> accuse(std::span<const request_id> in_step, evidence how);
  // It has got further than ever before: whatever it was, the request gets over it.
  void acquit(request_id id);
  // It is over.
  void forget(request_id id);

  // Nobody is to be tried.
  bool empty() const { return groups_.empty(); }
  // Whether it is among those whose turn it is; everybody is where nobody is to be tried.
  bool may_run(request_id id) const;

  // Without getting further, the last time alone: so many crashes convict, or so many kills.
  static constexpr std::int32_t crashes_that_convict = 2;
  static constexpr std::int32_t kills_that_convict = 64;
  // However far it has got in between.
  static constexpr std::int32_t most_crashes = 8;

 private:
  struct record {
    std::int32_t weight = 0;         // of the losses since it has last got further
    std::int32_t crashes_alone = 0;  // in all
  };
  bool remove(request_id id);
  bool is_guilty(request_id id) const;

  std::deque<std::vector<request_id>> groups_;  // of those to be tried, the first one now
  std::unordered_map<request_id, record> records_;
};

}  // namespace troupe
