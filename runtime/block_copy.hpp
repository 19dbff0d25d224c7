// The device copies whole blocks, in the order in which a step names them, before it runs the step's rows.
#pragma once
#include <cstdint>

namespace troupe {

struct block_copy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

}  // namespace troupe
