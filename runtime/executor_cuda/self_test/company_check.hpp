// Whether a sequence's bits depend on what shares its steps.
#pragma once
#include <cstdint>

#include "runtime/executor/executor.hpp"

namespace troupe {

struct company_check_options {
  std::int32_t prompt = 256;    // tokens
  std::int32_t sequences = 64;  // of the steps in company
  std::int32_t max_rows = 1024;
  std::int32_t vocab_size = 0;
};

// Computes a prompt and a token after it alone, then again with the prompt in two chunks, each step beside
// rows of other sequences and behind them. True where the log-probabilities of the best tokens have the same
// bits both times. Overwrites the KV cache. Throws what executors throw.
bool keeps_bits_in_company(executor& device, const company_check_options& options);

}  // namespace troupe
