// Whether the next step waits for drafts, and for how long.
#pragma once
#include <chrono>
#include <cstdint>

namespace troupe {

// An answer is waited for only where the next step could use it, and no longer where none has come of it
// lately: two messages more on the way to the next step cost one of several sequences more than a tenth where
// every core computes. Nor after one that was too late for the step that waited for it. What comes later is
// used by a later step, and then, or once one comes in time, the answers are waited for again.
class draft_patience {
 public:
  // A step is planned.
  void planned(bool has_drafts) { steps_without_ = has_drafts ? 0 : steps_without_ + 1; }
  // What was asked is answered. Late: whoever had waited for it would have gone on before.
  void answered(bool is_late) { was_late_ = is_late; }
  // It will not be answered: somebody else is asked next.
  void forget() { was_late_ = false; }

  bool waits() const { return !was_late_ && steps_without_ < most_steps_without; }
  // For as long as drafts could be worth, a few steps, and no less than it takes a busy machine to give the
  // drafter its turn. The last step may have been a long prompt, which says nothing of the next one; nor may
  // the queue, which does not move meanwhile, be late for want of drafts.
  static std::chrono::nanoseconds for_step_after(std::chrono::nanoseconds last_step,
                                                 std::chrono::nanoseconds deadline);

 private:
  static constexpr std::uint64_t most_steps_without = 16;
  std::uint64_t steps_without_ = 0;  // lately
  bool was_late_ = false;
};

}  // namespace troupe
