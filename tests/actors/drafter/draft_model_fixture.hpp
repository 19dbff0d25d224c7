// A company with a draft model, both models tiny.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/drafting/draft_model.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {

// Of the tiny model of this seed, with KV memory for so many blocks of 16 tokens.
std::unique_ptr<executor> device_of_tiny(std::uint64_t seed, std::int32_t num_blocks);

enum class draft_fault { throws, lacks_memory, loses_the_device };

struct draft_setup {
  std::uint64_t seed = 1;         // of the draft model; 1 is the target's
  std::int32_t num_blocks = 200;  // of the target
  std::int32_t draft_blocks = 200;
  std::int32_t num_tokens = 4;
  int good_steps = 1 << 30;     // that each draft model runs before it fails ...
  int failing_steps = 1 << 30;  // ... in so many
  draft_fault fault = draft_fault::throws;
  rejection_method method = rejection_method::automatic;
  warm_up_mode warm_up = warm_up_mode::lazy;
  std::size_t dies_after = 0;   // messages, the drafter; 0: never
  std::size_t loses_after = 0;  // messages, the runner its next one; 0: never
  int target_lacks_every = 0;   // steps, memory; 0: never
  // Where not null the target overlaps, and this counts the steps that it was asked for whole.
  std::shared_ptr<int> collected = nullptr;
};

// `drafts`: becomes the draft model that was opened last. Without `with` there is none, and the same target.
company_setup draft_model_setup(const std::optional<draft_setup>& with, std::weak_ptr<draft_model>& drafts);

}  // namespace troupe::test
