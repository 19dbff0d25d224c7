// A block whose content another one gets before a step writes either.
#pragma once
#include <cstdint>

namespace troupe {

struct block_copy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

}  // namespace troupe
