// A seeded run of a whole company: requests of every kind at random moments, every actor's messages in random
// order, in virtual time, with full pools, slow and failing steps, grammars, aborts and deadlines.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tests/actors/letter_device_fixture.hpp"
#include "tests/actors/stream_ledger_fixture.hpp"

namespace troupe::test {

struct company_simulation_options {
  std::uint64_t seed = 0;
  std::size_t num_requests = 24;  // fewer give a shorter story of the same kind
};

struct company_story {
  std::optional<std::string> fault;  // the first promise that was broken
  std::string told;                  // who was told what, and when
  device_log device;
  stream_counts streams;
  std::uint64_t preemptions = 0;
  std::uint64_t draft_tokens = 0;        // that steps verified
  std::uint64_t accepted_tokens = 0;     // of these
  std::uint64_t verified_by_chance = 0;  // of a draft model's
  std::uint64_t accepted_by_chance = 0;
  std::uint64_t failed_draft_models = 0;
  std::uint64_t draft_shortages = 0;  // steps of a draft model that found no memory
  std::uint64_t withheld_rows = 0;
  std::uint64_t refused_drafts = 0;  // their tokens that grammars refused before a step had rows for them
  std::uint64_t refused = 0;         // that could never run
  std::uint64_t deaths = 0;          // of actors
  std::uint64_t losses = 0;          // of messages, which were among the causes
  std::uint64_t stalls = 0;          // of the device, with everybody else up to date
  std::uint64_t left_waiting = 0;    // aborted while they waited for a compiler
  std::uint64_t late_waiting = 0;    // whose deadline passed meanwhile
};

company_story simulate_company(const company_simulation_options& options);

}  // namespace troupe::test
