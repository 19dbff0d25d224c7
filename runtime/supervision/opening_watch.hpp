// Whether a device that opens is slow, which is waited for, or hangs.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/isolation/process_work.hpp"
#include "runtime/request.hpp"

namespace troupe {

// How long who opens a device may get nowhere: as long as a step of the usual size before it hangs, and no
// less than what a slow disk needs.
constexpr std::chrono::nanoseconds patience_for_opening(std::chrono::nanoseconds step_deadline) {
  return std::max<std::chrono::nanoseconds>(2 * step_deadline, std::chrono::minutes(1));
}

// In a row: each takes as long as the first before it is killed.
inline constexpr int most_hung_openings = 2;

// Who reads from a disk gets on, and so does who computes: who has used a hundredth of a core in the time of
// the patience (threads that wait look up now and then). But what is computed counts for five times the
// patience after the last reading, so that who only computes hangs after six of them.
class opening_watch {
 public:
  enum class verdict {
    gets_on,
    is_late,  // it has got nowhere for half the patience
    hangs,    // ... for all of it
  };

  explicit opening_watch(std::chrono::nanoseconds patience, steady_time begun)
      : patience_(patience), moved_(begun), read_(begun) {}

  // `done`: what the process that opens it has done; nothing: nobody knows, and time alone counts.
  verdict look(steady_time now, const std::optional<process_work>& done);
  // When it got on last, as far as was seen.
  steady_time moved_at() const { return moved_; }
  // "the runner process 17, which opens its device, has got nowhere for 31 s".
  std::string describe_idle(const std::string& who, steady_time now) const;

 private:
  void compare(steady_time now, const process_work& done);

  std::chrono::nanoseconds patience_;
  steady_time moved_;
  steady_time read_;                   // when it has read last
  std::optional<process_work> known_;  // of when it got on last
};

// As whoever opens a device in a process of its own is called where it is late.
std::string name_of_opener(std::int32_t process);

}  // namespace troupe
