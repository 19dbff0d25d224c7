// The values that a row has listed, as the block of 1,024 threads sees them that searches for thresholds:
// behind one another in shared memory where they fit, else where they were listed.
#pragma once
#include "kernels/cuda/sampling/sampling_batch.cuh"
#include "kernels/cuda/sampling/threshold_search.cuh"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t most_dense_values = 8192;

class listed_values {
 public:
  // `first` [slices + 1]: how many values the slices before have; in shared memory, as `dense`.
  __device__ listed_values(float* dense, float* listed, const std::int32_t* first, std::int32_t slices)
      : dense_(dense), listed_(listed), first_(first), slices_(slices) {}

  __device__ std::int32_t count() const { return first_[slices_]; }
  __device__ bool is_dense() const { return count() <= most_dense_values; }

  // Followed by a barrier. Where there are fewer slices than warps, several warps share one.
  __device__ void load() {
    if (!is_dense()) return;
    const std::int32_t sharing = slices_ < search_warps ? search_warps / slices_ : 1;
    for (std::int32_t part = threadIdx.x / 32; part < slices_ * sharing; part += search_warps) {
      const std::int32_t slice = part / sharing;
      const std::int32_t n = first_[slice + 1] - first_[slice];
      const float* const from = listed_ + static_cast<std::size_t>(slice) * sampling_slice;
      float* const to = dense_ + first_[slice];
#pragma unroll 4
      for (std::int32_t i = part % sharing * 32 + lane(); i < n; i += sharing * 32) to[i] = from[i];
    }
  }

  // Each value once, in no order that matters.
  template <class Visit>
  __device__ void visit_values(Visit visit) const {
    if (is_dense()) {
      for (std::int32_t i = threadIdx.x; i < count(); i += search_threads) visit(dense_[i]);
      return;
    }
    visit_slices([&](std::int32_t slice, std::int32_t n) {
      const float* from = of_slice(slice);
      for (std::int32_t i = lane(); i < n; i += 32) visit(from[i]);
    });
  }

  // visit(slice, number of its values) by whole warps.
  template <class Visit>
  __device__ void visit_slices(Visit visit) const {
    for (std::int32_t slice = threadIdx.x / 32; slice < slices_; slice += search_warps)
      visit(slice, first_[slice + 1] - first_[slice]);
  }

  __device__ float* of_slice(std::int32_t slice) const {
    return is_dense() ? dense_ + first_[slice] : listed_ + static_cast<std::size_t>(slice) * sampling_slice;
  }

 private:
  __device__ static std::int32_t lane() { return static_cast<std::int32_t>(threadIdx.x % 32); }

  float* dense_;
  float* listed_;
  const std::int32_t* first_;
  std::int32_t slices_;
};

// What greatest_reaching() visits: logits, each counting 1, and weights by their mass.
struct counted_logits {
  using amount = std::uint32_t;
  const listed_values& values;
  __device__ std::int32_t count() const { return values.count(); }
  template <class Visit>
  __device__ void visit(Visit visit) const {
    values.visit_values([&](float logit) { visit(ordered_key(logit), amount{1}); });
  }
};
struct massed_weights {
  using amount = std::uint64_t;
  const listed_values& values;
  __device__ std::int32_t count() const { return values.count(); }
  template <class Visit>
  __device__ void visit(Visit visit) const {
    values.visit_values([&](float weight) { visit(__float_as_uint(weight), weight_steps(weight)); });
  }
};

}  // namespace troupe::kernels::cuda
