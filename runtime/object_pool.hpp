// Objects that lie close together: whoever visits them one after another in every step crosses few pages and
// no allocator's headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <vector>

namespace troupe {

// Objects have numbers from 0 on and never move. One given back is handed out again as it is. They lie in the
// memory that the pool is given, and get it for what they hold where they can be made of it.
template <class T>
class object_pool {
 public:
  explicit object_pool(std::pmr::memory_resource* memory) : memory_(memory) {}
  ~object_pool() {
    for (T* first : chunks_) {
      std::destroy_n(first, chunk);
      memory_->deallocate(first, chunk * sizeof(T), alignof(T));
    }
  }
  object_pool(const object_pool&) = delete;
  object_pool& operator=(const object_pool&) = delete;

  std::int32_t take() {
    if (free_.empty()) grow();
    const std::int32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  // Only one that was taken.
  void give_back(std::int32_t place) { free_.push_back(place); }

  // All that there are, handed out or not.
  std::int32_t size() const { return static_cast<std::int32_t>(chunks_.size() * chunk); }
  // Only for 0 <= place < size().
  T& operator[](std::int32_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return chunks_[at / chunk][at % chunk];
  }

 private:
  static constexpr std::size_t chunk = 64;
  static constexpr bool is_made_of_memory = std::is_constructible_v<T, std::pmr::memory_resource*>;
  static_assert(is_made_of_memory || std::is_nothrow_default_constructible_v<T>);

  void grow() {
    const std::int32_t first = size();
    chunks_.reserve(chunks_.size() + 1);
    free_.reserve(static_cast<std::size_t>(first) + chunk);
    T* const objects = static_cast<T*>(memory_->allocate(chunk * sizeof(T), alignof(T)));
    for (std::size_t i = 0; i < chunk; ++i) {
      if constexpr (is_made_of_memory)
        std::construct_at(objects + i, memory_);
      else
        std::construct_at(objects + i);
    }
    chunks_.push_back(objects);
    for (std::int32_t place = size(); place > first; --place) free_.push_back(place - 1);
  }

  std::pmr::memory_resource* memory_;
  std::vector<T*> chunks_;
  std::vector<std::int32_t> free_;  // the one to be handed out next is the last
};

}  // namespace troupe
