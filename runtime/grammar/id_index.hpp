// The index of a table that holds each equal entry once: from a hash to the number of the entry.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::grammar {

// In one piece while it is small, then in many by hash, each of which grows by itself: nobody's mask pays for
// moving all of it.
class id_index {
 public:
  // The entry of this hash for which equal(id) holds.
  template <class F>
  std::optional<std::uint32_t> find(std::uint64_t hash, F&& equal) const {
    const std::vector<slot>& slots = pieces_[piece_of(hash)].slots;
    const auto mark = mark_of(hash);
    for (std::size_t at = hash & (slots.size() - 1); slots[at].mark != 0; at = (at + 1) & (slots.size() - 1))
      if (slots[at].mark == mark && equal(slots[at].id)) return slots[at].id;
    return std::nullopt;
  }
  void insert(std::uint64_t hash, std::uint32_t id) {
    if (pieces_.size() == 1 && pieces_[0].count == most_in_one_piece) {
      std::vector<piece> old(many);
      old.swap(pieces_);
      for (const slot& s : old[0].slots)
        if (s.mark != 0) add(s);
    }
    add({mark_of(hash), id, hash});
  }
  std::size_t memory_bytes() const {
    std::size_t bytes = pieces_.capacity() * sizeof(piece);
    for (const piece& p : pieces_) bytes += p.slots.capacity() * sizeof(slot);
    return bytes;
  }

 private:
  static constexpr std::size_t many = 64, most_in_one_piece = 2048;
  struct slot {
    std::uint32_t mark = 0;  // 0: free
    std::uint32_t id = 0;
    std::uint64_t hash = 0;
  };
  struct piece {
    std::vector<slot> slots = std::vector<slot>(64);
    std::size_t count = 0;

    void place(const slot& s) {
      std::size_t at = s.hash & (slots.size() - 1);
      while (slots[at].mark != 0) at = (at + 1) & (slots.size() - 1);
      slots[at] = s;
    }
  };
  static std::uint32_t mark_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32) | 1U; }
  std::size_t piece_of(std::uint64_t hash) const { return (hash >> 24) & (pieces_.size() - 1); }
  void add(const slot& s) {
    piece& into = pieces_[piece_of(s.hash)];
    if (++into.count * 2 > into.slots.size()) {
      std::vector<slot> old(into.slots.size() * 2);
      old.swap(into.slots);
      for (const slot& each : old)
        if (each.mark != 0) into.place(each);
    }
    into.place(s);
  }

  std::vector<piece> pieces_ = std::vector<piece>(1);
};

}  // namespace troupe::grammar
