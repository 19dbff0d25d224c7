// What the tokens of one draft were drawn from, kept until a step has accepted or rejected them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/sampling/verify_draft.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

struct kept_draft {
  std::uint64_t number = 0;  // draft::number
  std::int32_t after = 0;    // the position of its first token
  std::vector<token_id> tokens = {};
  std::vector<kept_distribution> distributions = {};  // of the tokens; those behind are room for more
};

// The drafts that a step accepts or rejects, and all that they point to.
struct verified_drafts {
  std::vector<drafted_token> tokens = {};             // [samples]
  std::vector<const drafted_token*> of_samples = {};  // [samples], or empty: device_batch::verified
  std::vector<std::shared_ptr<const kept_draft>> keeps = {};

  void clear() {
    tokens.clear();
    of_samples.clear();
    keeps.clear();
  }
};

}  // namespace troupe
