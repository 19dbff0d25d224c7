// Whether the next step waits for drafts, and for how long.
#pragma once
#include <chrono>
#include <cstdint>

namespace troupe {

// An answer is waited for only where the next step could use it, and as long as what comes of drafts pays for
// that: two messages more on the way to the next step cost one of several sequences up to a tenth where every
// core computes, and an accepted token spares one of them a step. Nor is it waited for after one that was too
// late for the step that waited for it, until one comes in time; what comes later is used by a later step.
// What is not waited for is asked only once in a few steps.
class draft_patience {
 public:
  // What a step has given so many sequences: `accepted` tokens of their drafts.
  void committed(std::uint64_t accepted, std::size_t sequences);
  // What was asked is answered. Late: whoever had waited for it would have gone on before.
  void answered(bool is_late) { was_late_ = is_late; }
  // It is asked.
  void asked() { steps_since_asked_ = 0; }
  // It will not be answered: somebody else is asked next.
  void forget() { *this = {}; }

  bool waits() const { return !was_late_ && steps_left_ > 0; }
  // Whether it is time to ask.
  bool asks() const { return waits() || steps_since_asked_ >= steps_between; }
  // For as long as drafts could be worth, a few steps, and no less than it takes a busy machine to give the
  // drafter its turn. The last step may have been a long prompt, which says nothing of the next one; nor may
  // the queue, which does not move meanwhile, be late for want of drafts.
  static std::chrono::nanoseconds for_step_after(std::chrono::nanoseconds last_step,
                                                 std::chrono::nanoseconds deadline);

 private:
  static constexpr std::uint64_t most_steps = 16;
  static constexpr std::uint64_t steps_between = 4;
  std::uint64_t steps_left_ = most_steps;  // that wait
  std::uint64_t steps_since_asked_ = 0;
  bool was_late_ = false;
};

}  // namespace troupe
