// A row of logits as the kernels read it: in slices of a fixed length, under a mask. And how their workspace
// is divided.
#pragma once
#include "kernels/cuda/sampling/sampling_math.cuh"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t logit_slice = 4096;
inline std::int32_t num_logit_slices(std::int32_t vocab) { return (vocab + logit_slice - 1) / logit_slice; }

// A row of logits under its mask.
struct masked_row {
  const float* logits;
  const std::uint32_t* mask;
  std::int32_t vocab;

  // Four logits from `id`, a multiple of 4; minus infinity where the mask forbids or the vocabulary ends.
  __device__ float4 load(std::int32_t id) const {
    float4 four = make_float4(-infinite, -infinite, -infinite, -infinite);
    if (id + 3 < vocab) {
      four = *reinterpret_cast<const float4*>(logits + id);
    } else {
      if (id < vocab) four.x = logits[id];
      if (id + 1 < vocab) four.y = logits[id + 1];
      if (id + 2 < vocab) four.z = logits[id + 2];
    }
    if (mask != nullptr && id < vocab) {
      const std::uint32_t bits = mask[id / 32] >> (id % 32);
      four.x = (bits & 1U) != 0 ? four.x : -infinite;
      four.y = (bits & 2U) != 0 ? four.y : -infinite;
      four.z = (bits & 4U) != 0 ? four.z : -infinite;
      four.w = (bits & 8U) != 0 ? four.w : -infinite;
    }
    return four;
  }

  __device__ float at(std::int32_t id) const {
    const bool is_allowed = mask == nullptr || (mask[id / 32] >> (id % 32) & 1U) != 0;
    return is_allowed ? logits[id] : -infinite;
  }
};

// Hands out aligned parts of one allocation.
class carver {
 public:
  explicit carver(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class T>
  T* take(std::size_t count) {
    constexpr std::size_t alignment = 256;
    T* const part = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

}  // namespace troupe::kernels::cuda
