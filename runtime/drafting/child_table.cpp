#include "runtime/drafting/child_table.hpp"

#include <utility>

namespace troupe {

std::int32_t child_table::find(std::int32_t parent, token_id token) const {
  const std::uint64_t key = hash(parent, token);
  const part& in = part_of(key);
  return in.slots.empty() ? 0 : in.slots[probe(in, key, parent, token)].child;
}

void child_table::insert(std::int32_t parent, token_id token, std::int32_t child) {
  const std::uint64_t key = hash(parent, token);
  part& in = parts_[key >> 60U];
  if (4 * (in.used + 1) > 3 * in.slots.size()) grow(in);
  in.slots[probe(in, key, parent, token)] = {parent, token, child};
  ++in.used;
}

void child_table::replace(std::int32_t parent, token_id token, std::int32_t child) {
  const std::uint64_t key = hash(parent, token);
  part& in = parts_[key >> 60U];
  in.slots[probe(in, key, parent, token)].child = child;
}

// Entries behind the hole that could have stood in it move up.
void child_table::erase(std::int32_t parent, token_id token) {
  const std::uint64_t key = hash(parent, token);
  part& in = parts_[key >> 60U];
  const std::size_t mask = in.slots.size() - 1;
  std::size_t hole = probe(in, key, parent, token);
  for (std::size_t at = (hole + 1) & mask; in.slots[at].child != 0; at = (at + 1) & mask) {
    const std::size_t home = hash(in.slots[at].parent, in.slots[at].token) & mask;
    if (((at - home) & mask) < ((at - hole) & mask)) continue;
    in.slots[hole] = in.slots[at];
    hole = at;
  }
  in.slots[hole] = {};
  --in.used;
}

std::size_t child_table::size() const {
  std::size_t sum = 0;
  for (const part& each : parts_) sum += each.used;
  return sum;
}

std::size_t child_table::bytes() const {
  std::size_t sum = 0;
  for (const part& each : parts_) sum += each.slots.size() * sizeof(slot);
  return sum;
}

// The finalizer of MurmurHash3, over pair and seed.
std::uint64_t child_table::hash(std::int32_t parent, token_id token) const {
  std::uint64_t bits =
      (std::uint64_t{static_cast<std::uint32_t>(parent)} << 32U) | static_cast<std::uint32_t>(token);
  bits ^= seed_;
  bits = (bits ^ (bits >> 33U)) * 0xff51afd7ed558ccdU;
  bits = (bits ^ (bits >> 33U)) * 0xc4ceb9fe1a85ec53U;
  return bits ^ (bits >> 33U);
}

std::size_t child_table::probe(const part& in, std::uint64_t hash, std::int32_t parent, token_id token) {
  const std::size_t mask = in.slots.size() - 1;
  std::size_t at = hash & mask;
  while (in.slots[at].child != 0 && (in.slots[at].parent != parent || in.slots[at].token != token))
    at = (at + 1) & mask;
  return at;
}

void child_table::grow(part& in) {
  std::vector<slot> before =
      std::exchange(in.slots, std::vector<slot>(in.slots.empty() ? 8 : 2 * in.slots.size()));
  for (const slot& each : before) {
    if (each.child == 0) continue;
    in.slots[probe(in, hash(each.parent, each.token), each.parent, each.token)] = each;
  }
}

}  // namespace troupe
