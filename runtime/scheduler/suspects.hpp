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

class suspects {
 public:
  // A step with these requests took the device along. Gives the one that is convicted: it was alone in the
  // step, and either has got no token since the last time that it was in such a step, or has been in
  // most_losses of them.
  std::optional<request_id> accuse(std::span<const request_id> in_step);
  // It has got a token: whatever it was, the request gets over it.
  void acquit(request_id id);
  // It is over.
  void forget(request_id id);

  // Nobody is to be tried.
  bool empty() const { return groups_.empty(); }
  // Whether it is among those whose turn it is; everybody is where nobody is to be tried.
  bool may_run(request_id id) const;

  // However often it is acquitted in between.
  static constexpr std::int32_t most_losses = 8;

 private:
  bool remove(request_id id);

  std::deque<std::vector<request_id>> groups_;  // of those to be tried, the first one now
  std::unordered_map<request_id, std::int32_t> losses_;
};

}  // namespace troupe
