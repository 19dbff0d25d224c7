#include "runtime/kv_cache/block_table.hpp"

#include <algorithm>
#include <bit>
#include <memory_resource>

namespace troupe {

block_table table_memory::take(std::size_t room) {
  const std::size_t given = std::bit_ceil(std::max(room, smallest));
  block_table table;
  table.blocks_ = std::pmr::polymorphic_allocator<std::int32_t>(memory_.passing()).allocate(given);
  table.room_ = static_cast<std::uint32_t>(given);
  return table;
}

void table_memory::give_back(block_table& table) {
  if (table.room_ != 0)
    std::pmr::polymorphic_allocator<std::int32_t>(memory_.passing()).deallocate(table.blocks_, table.room_);
  table = {};
}

}  // namespace troupe
