// Memory for many small things that every step visits in disorder: a sequence's output, names of blocks,
// tables. Each visit to a page that the processor does not know costs a walk through the page tables, on a
// virtual machine through two of them; so they lie close together, and in 2 MiB pages where there is enough
// of them and the system has any.
#pragma once
#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

namespace troupe {

// Gives one piece behind another and takes none back before its own end. Throws std::bad_alloc.
class lasting_memory final : public std::pmr::memory_resource {
 public:
  lasting_memory() = default;
  ~lasting_memory() override;
  lasting_memory(const lasting_memory&) = delete;
  lasting_memory& operator=(const lasting_memory&) = delete;

 private:
  struct chunk {
    std::byte* data = nullptr;
    std::size_t alignment = 0;
  };
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  void add_chunk(std::size_t at_least);

  std::vector<chunk> chunks_;  // the first one is small: who needs little takes little
  void* next_ = nullptr;       // in the last one
  std::size_t left_ = 0;
};

// Gives pieces in sizes four to a doubling, and what was given back last in a size before anything new: both
// in constant time, however many there are. (The pools of the standard library look through all that they
// have for a free piece.) A piece takes a quarter more than is asked for at the most, but 64 bytes at least,
// and 256 where it is aligned to more than std::max_align_t; it serves for its size again and for no other.
// Throws std::bad_alloc, also where more than a cache line's alignment is asked for.
class passing_memory final : public std::pmr::memory_resource {
 public:
  // New pieces come from `upstream`, which outlives them: none is given back to it.
  explicit passing_memory(std::pmr::memory_resource* upstream) : upstream_(upstream) {}

 private:
  struct free_piece {
    free_piece* next = nullptr;
  };
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* piece, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* upstream_;
  std::array<free_piece*, 4 * 64> free_ = {};  // of each size, the one given back last first
};

// For one thread at a time. What is given back is used again, and the system gets all of it at the end: it
// takes as much as was ever in use at once in each size.
class near_memory {
 public:
  near_memory() = default;
  near_memory(const near_memory&) = delete;
  near_memory& operator=(const near_memory&) = delete;

  // For what grows, comes and goes.
  std::pmr::memory_resource* passing() { return &passing_; }
  // For what is as large as it ever becomes, and stays.
  std::pmr::memory_resource* lasting() { return &lasting_; }

 private:
  lasting_memory lasting_;
  passing_memory passing_{&lasting_};
};

}  // namespace troupe
