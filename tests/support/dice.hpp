// What a simulation draws, all of it from one seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe {

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_(seed) {}
  std::int32_t pick(std::int32_t least, std::int32_t most) {
    return least + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  // One of a list that is not empty.
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[random_() % list.size()];
  }
  bool chance(std::int32_t percent) { return pick(1, 100) <= percent; }
  std::uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_;
};

}  // namespace troupe
