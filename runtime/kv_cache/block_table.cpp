#include "runtime/kv_cache/block_table.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

std::size_t table_memory::size_class_of(std::size_t room) {
  return room <= smallest ? 0 : static_cast<std::size_t>(std::bit_width((room - 1) / smallest));
}

block_table table_memory::take(std::size_t room) {
  const std::size_t size_class = size_class_of(room);
  rows& of_size = rows_[size_class];
  if (of_size.free.empty()) grow(size_class);
  block_table table;
  table.blocks_ = of_size.free.back();
  table.room_ = static_cast<std::uint32_t>(smallest << size_class);
  of_size.free.pop_back();
  return table;
}

void table_memory::give_back(block_table& table) {
  if (table.room_ != 0) rows_[size_class_of(table.room_)].free.push_back(table.blocks_);
  table = {};
}

void table_memory::grow(std::size_t size_class) {
  const std::size_t room = smallest << size_class;
  const std::size_t count = std::max<std::size_t>(1, 32 * smallest / room);
  std::int32_t* array =
      std::pmr::polymorphic_allocator<std::int32_t>(memory_.lasting()).allocate(count * room);
  rows& of_size = rows_[size_class];
  of_size.count += count;
  of_size.free.reserve(of_size.count);
  for (std::size_t i = count; i > 0; --i) of_size.free.push_back(array + (i - 1) * room);
}

}  // namespace troupe
