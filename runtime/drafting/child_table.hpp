// Which child of a suffix tree's node begins with a token: one hash table for all nodes of a tree.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Open addressing with linear probing; a removed entry leaves no trace. It consists of parts that grow one by
// one, so that no single insertion moves all entries.
class child_table {
 public:
  // Strangers choose the tokens; who does not know the seed cannot make them collide.
  explicit child_table(std::uint64_t seed) : seed_(seed) {}

  // Number of the child node; 0 where there is none (the root is nobody's child).
  std::int32_t find(std::int32_t parent, token_id token) const;
  // Only for a pair that is not there, and a child other than 0.
  void insert(std::int32_t parent, token_id token, std::int32_t child);
  // Only for a pair that is there.
  void replace(std::int32_t parent, token_id token, std::int32_t child);
  void erase(std::int32_t parent, token_id token);

  std::size_t size() const;
  std::size_t bytes() const;

 private:
  struct slot {
    std::int32_t parent = 0;
    token_id token = 0;
    std::int32_t child = 0;  // 0: free
  };
  struct part {
    std::vector<slot> slots;  // a power of two, at most three quarters in use
    std::size_t used = 0;
  };
  static constexpr std::size_t num_parts = 16;

  std::uint64_t hash(std::int32_t parent, token_id token) const;
  const part& part_of(std::uint64_t hash) const { return parts_[hash >> 60U]; }
  // Where the pair is, or the free slot where it would be. Only in a part that has slots.
  static std::size_t probe(const part& in, std::uint64_t hash, std::int32_t parent, token_id token);
  void grow(part& in);

  std::uint64_t seed_;
  std::array<part, num_parts> parts_;
};

}  // namespace troupe
