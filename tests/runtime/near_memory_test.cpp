#include "runtime/near_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <vector>

namespace troupe {
namespace {

struct piece {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  int mark = 0;

  bool is_whole() const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (data[i] != static_cast<std::byte>(mark)) return false;
    return true;
  }
};

// Sizes on both sides of a chunk's and of a huge page's.
piece random_piece(std::pmr::memory_resource& memory, std::mt19937& random, int mark,
                   std::size_t most_aligned) {
  piece made;
  made.bytes = 1 + random() % (std::size_t{1} << (random() % 23));
  made.alignment = std::min(std::size_t{1} << (random() % 8), most_aligned);
  made.mark = mark % 251;
  made.data = static_cast<std::byte*>(memory.allocate(made.bytes, made.alignment));
  std::memset(made.data, made.mark, made.bytes);
  return made;
}

TEST(lasting_memory, gives_pieces_that_share_no_byte_as_aligned_as_asked) {
  std::mt19937 random(7);
  lasting_memory memory;
  std::vector<piece> pieces;
  for (int i = 0; i < 200; ++i) {
    pieces.push_back(random_piece(memory, random, i, 128));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().data) % pieces.back().alignment, 0U);
  }
  for (const piece& each : pieces) EXPECT_TRUE(each.is_whole()) << each.mark;
}

TEST(lasting_memory, gives_what_is_larger_than_any_chunk_and_goes_on) {
  lasting_memory memory;
  std::vector<piece> pieces;
  for (const std::size_t bytes : {100U, 5U << 20, 100U, 1U << 21, (1U << 21) + 1, 64U << 10}) {
    piece made{static_cast<std::byte*>(memory.allocate(bytes, 64)), bytes, 64,
               static_cast<int>(pieces.size()) + 1};
    std::memset(made.data, made.mark, bytes);
    pieces.push_back(made);
  }
  for (const piece& each : pieces) EXPECT_TRUE(each.is_whole()) << each.mark;
}

TEST(near_memory, uses_again_what_was_given_back) {
  near_memory memory;
  void* const first = memory.passing()->allocate(1000, 8);
  memory.passing()->deallocate(first, 1000, 8);
  EXPECT_EQ(memory.passing()->allocate(1000, 8), first);
}

TEST(near_memory, refuses_what_is_aligned_to_more_than_a_cache_line) {
  near_memory memory;
  EXPECT_THROW(static_cast<void>(memory.passing()->allocate(8, 128)), std::bad_alloc);
}

// Counts what it gives.
class counted_memory final : public std::pmr::memory_resource {
 public:
  std::size_t bytes = 0;

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    bytes += size;
    return memory_.allocate(size, alignment);
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  lasting_memory memory_;
};

// What a piece of this size takes from upstream.
std::size_t taken_for(std::size_t bytes, std::size_t alignment) {
  counted_memory upstream;
  passing_memory memory(&upstream);
  memory.deallocate(memory.allocate(bytes, alignment), bytes, alignment);
  return upstream.bytes;
}

TEST(passing_memory, takes_a_quarter_more_than_is_asked_for_at_the_most) {
  for (std::size_t bytes = 64; bytes < 70'000; bytes += 1 + bytes / 50) {
    EXPECT_GE(taken_for(bytes, 8), bytes);
    EXPECT_LE(taken_for(bytes, 8), bytes + bytes / 4) << bytes;
  }
  EXPECT_EQ(taken_for(1, 1), 64U);
  EXPECT_EQ(taken_for(8, 64), 256U);
}

TEST(passing_memory, takes_no_more_than_was_in_use_at_once) {
  counted_memory upstream;
  passing_memory memory(&upstream);
  std::vector<void*> pieces(100);
  for (int round = 0; round < 10; ++round) {
    for (void*& each : pieces) each = memory.allocate(1000, 8);
    for (void* each : pieces) memory.deallocate(each, 1000, 8);
  }
  EXPECT_EQ(upstream.bytes, 100U * 1024);
}

TEST(near_memory, keeps_pieces_that_come_and_go_apart) {
  std::mt19937 random(11);
  near_memory memory;
  std::vector<piece> pieces;
  for (int i = 0; i < 1000; ++i) {
    pieces.push_back(random_piece(*memory.passing(), random, i, 64));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().data) % pieces.back().alignment, 0U);
    if (pieces.size() < 20) continue;
    const std::size_t which = random() % pieces.size();
    ASSERT_TRUE(pieces[which].is_whole()) << i;
    memory.passing()->deallocate(pieces[which].data, pieces[which].bytes, pieces[which].alignment);
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
  }
  for (const piece& each : pieces) EXPECT_TRUE(each.is_whole()) << each.mark;
}

}  // namespace
}  // namespace troupe
