// A draft model that is its target once more, on whatever device.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/executor/executor.hpp"

namespace troupe::test {

// The draws of a real sampler: with the same u, equal models always agree, greedily, by a seed and with
// penalties. Both executors are ready for steps of 64 rows, and `vocab_size` is the model's.
void expect_right_drafts_of_an_equal_model(std::shared_ptr<executor> drafting, executor& target,
                                           std::int32_t vocab_size);

}  // namespace troupe::test
