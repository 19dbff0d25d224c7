// What tokens are drawn from, on its way to the host: of a draft model's samples, which its target verifies
// by it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/sampling/sampling.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/sampling/token_distribution.hpp"

namespace troupe {

class kept_rows {
 public:
  // Of so many rows at once at most.
  kept_rows(std::int32_t vocab_size, std::int32_t most);

  // Forgets the rows.
  void clear() { into_.clear(); }
  std::size_t capacity() const { return sizes_.size(); }
  bool is_full() const { return into_.size() == capacity(); }
  // Where the device is to leave the next row's, on the device; not where this is full.
  kernels::cuda::device_distribution place() const;
  // The next row leaves it there, for `into`.
  void add(kept_distribution& into) { into_.push_back(&into); }
  // Gives to each what `stream` has been asked to leave for it, and waits for that. Throws what check_cuda()
  // throws, also where a launch before it has failed.
  void collect(const cuda_stream& stream);

  std::size_t bytes() const { return sizes_.bytes() + ids_.bytes() + weights_.bytes(); }  // on the device

 private:
  std::size_t vocab_size_;
  device_array<std::int32_t> sizes_;  // [most]
  device_array<token_id> ids_;        // [most][vocab_size]
  device_array<float> weights_;       // [most][vocab_size]
  pinned_memory fetched_sizes_;       // [most]
  pinned_memory fetched_ids_;         // [most * vocab_size], one row's behind the other's
  pinned_memory fetched_weights_;     // likewise
  std::vector<kept_distribution*> into_;
};

}  // namespace troupe
