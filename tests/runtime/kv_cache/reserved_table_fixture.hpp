// The block table that a step was granted, as something that can be kept and compared.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kv_cache/kv_cache_manager.hpp"

namespace troupe {

inline std::vector<std::int32_t> table_of(const step_reservation& reservation, std::size_t i) {
  const std::span<const std::int32_t> table = reservation.sequences[i].table;
  return {table.begin(), table.end()};
}

}  // namespace troupe
