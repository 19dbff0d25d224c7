// By which of two exact ways a request's drafts are verified, where it leaves that open.
#pragma once
#include <array>
#include <cstdint>

#include "runtime/drafting/speculative_config.hpp"

namespace troupe {

enum class draft_verification : std::uint8_t {
  same_draw,  // drafted and verified by the request's own u: right where both models draw the same token
  rejection,  // verify_draft.hpp
};

// Whichever has had more of its drafted tokens accepted lately; now and then the other, so that what is known
// of it does not grow old.
class verification_choice {
 public:
  explicit verification_choice(rejection_method method) : method_(method) {}

  // For a request that begins.
  draft_verification next();
  // A drafted token behind right ones was accepted or not.
  void observe(draft_verification how, bool is_accepted);
  // The share that was accepted, the newest counting most.
  double rate(draft_verification how) const;

 private:
  struct observations {
    double accepted = 0.0;
    double all = 0.0;
  };
  static constexpr std::size_t index_of(draft_verification how) { return static_cast<std::size_t>(how); }

  rejection_method method_;
  std::array<observations, 2> seen_ = {};
  std::uint64_t num_chosen_ = 0;
};

}  // namespace troupe
