#include <fmt/format.h>

#include <cassert>

#include "runtime/kv_cache/kv_cache_manager.hpp"

namespace troupe {

std::string kv_cache_manager::check() const {
  std::vector<std::int32_t> holders(static_cast<std::size_t>(num_blocks()), 0);
  const auto hold = [&](const block_table& table) {
    for (const std::int32_t block : table) ++holders[static_cast<std::size_t>(block)];
  };
  for (const auto& [id, who] : sequences_) hold(who->table);
  for (const pending_drop& given : pending_) hold(given.table);
  if (std::string wrong = pool_.check(holders); !wrong.empty()) return wrong;
  for (const auto& [id, who] : sequences_) {
    if (std::string wrong = check_sequence(*who); !wrong.empty())
      return fmt::format("request {}: {}", id, wrong);
  }
  return {};
}

std::string kv_cache_manager::check_sequence(const cached_sequence& who) const {
  if (!who.chain.empty()) {
    const auto counted = who.num_hashed() * block_size_ + static_cast<std::int32_t>(who.tail.size());
    if (counted != who.known) return fmt::format("{} of {} tokens are kept", counted, who.known);
  }
  if (who.published > static_cast<std::int32_t>(who.table.size()))
    return "more blocks are published than held";
  if (who.outdated) return {};
  for (std::int32_t i = 0; i < who.published; ++i) {
    const std::int32_t block = who.table[static_cast<std::size_t>(i)];
    if (pool_.published(block) != who.chain[static_cast<std::size_t>(i) + 1]) {
      return fmt::format("block {}, its {}th, is not found under its hash", block, i);
    }
  }
  return {};
}

void kv_cache_manager::check_when_idle() const {
#ifndef NDEBUG
  if (free_blocks() == num_blocks()) assert(check().empty());
#endif
}

}  // namespace troupe
