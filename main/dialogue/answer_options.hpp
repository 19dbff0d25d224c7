// The sampling flags of `troupe run` and `troupe chat`.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/request.hpp"

namespace CLI {
class App;
}

namespace troupe::cli {

struct answer_options {
  std::string system;
  std::int32_t max_tokens = 512;
  float temperature = 0.0F;
  float top_p = 1.0F;
  std::int32_t top_k = 0;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;
  std::optional<std::uint64_t> seed;
};

// Adds a flag for each; they show the defaults that `options` holds.
void add_answer_flags(CLI::App& command, answer_options& options);

// What is wrong with a --seed, from 0 to 2^63 - 1 as the service has it; empty: nothing. (CLI11 would take a
// negative number for a large one.)
std::string fault_of_seed(const std::string& text);

// Ranges are checked where the request is validated. Without a seed every call draws another.
sampling_params to_sampling(const answer_options& options);

}  // namespace troupe::cli
