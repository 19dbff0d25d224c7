// Objects that lie close together: whoever visits them one after another in every step crosses few pages and
// no allocator's headers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

// Objects have numbers from 0 on and never move. One given back is handed out again as it is.
template <class T>
class object_pool {
 public:
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
  void grow() {
    const std::int32_t first = size();
    chunks_.push_back(std::make_unique<T[]>(chunk));
    free_.reserve(static_cast<std::size_t>(size()));
    for (std::int32_t place = size(); place > first; --place) free_.push_back(place - 1);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::int32_t> free_;  // the one to be handed out next is the last
};

}  // namespace troupe
