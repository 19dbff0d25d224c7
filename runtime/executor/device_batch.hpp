// What the device reads: a step's rows with every token known. Of the three shapes of a batch the last one.
#pragma once
#include "runtime/step_batch.hpp"

namespace troupe {

// In place of a block: an entry that no row reads.
inline constexpr std::int32_t no_block = -1;

struct device_batch : batch_rows {
  std::vector<std::int32_t> block_tables;  // of all sequences, one behind another
};

}  // namespace troupe
