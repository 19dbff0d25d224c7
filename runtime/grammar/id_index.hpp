// The index of a table that holds each equal entry once: from a hash to the number of the entry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::grammar {

class id_index {
 public:
  // The entry of this hash for which equal(id) holds.
  template <class F>
  std::optional<std::uint32_t> find(std::uint64_t hash, F&& equal) const {
    const auto mark = mark_of(hash);
    for (std::size_t at = hash & (slots_.size() - 1); slots_[at].mark != 0;
         at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].mark == mark && equal(slots_[at].id)) return slots_[at].id;
    return std::nullopt;
  }
  void insert(std::uint64_t hash, std::uint32_t id) {
    if (++count_ * 2 > slots_.size()) {
      std::vector<slot> old(slots_.size() * 2);
      old.swap(slots_);
      for (const slot& s : old)
        if (s.mark != 0) place(s);
    }
    place({mark_of(hash), id, hash});
  }
  std::size_t memory_bytes() const { return slots_.capacity() * sizeof(slot); }

 private:
  struct slot {
    std::uint32_t mark = 0;  // 0: free
    std::uint32_t id = 0;
    std::uint64_t hash = 0;
  };
  static std::uint32_t mark_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) | 1U; }
  void place(const slot& s) {
    std::size_t at = s.hash & (slots_.size() - 1);
    while (slots_[at].mark != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = s;
  }

  std::vector<slot> slots_ = std::vector<slot>(64);
  std::size_t count_ = 0;
};

}  // namespace troupe::grammar
