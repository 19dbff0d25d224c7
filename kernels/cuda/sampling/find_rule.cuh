// Which tokens of a row keep their weight: runtime/sampling/truncation.cpp's rules by thresholds, and how
// much weight each slice keeps.
#pragma once
#include "kernels/cuda/sampling/listed_values.cuh"

namespace troupe::kernels::cuda {

static_assert(max_slices <= search_threads, "a thread for each slice");

// Shared memory of a block that draws.
struct draw_space {
  search_parts search;
  std::uint64_t sums[search_warps];
  std::int32_t first[max_slices + 1];
  std::uint64_t mass[max_slices];
  float values[most_dense_values];
};

class rule_finder {
 public:
  // Asks at once for what the steps need, one after the other, of what earlier kernels wrote.
  __device__ rule_finder(const sampling_call& call, std::int32_t index, std::uint64_t best, draw_space& space)
      : call_(call),
        row_(call.batch.rows[index]),
        index_(index),
        by_key_(has_top_k(row_, call.batch.vocab)),
        space_(space),
        values_(space.values, call.work.listed + slice_at(call, index, 0) * sampling_slice, space.first,
                call.slices) {
    if (lists()) limit_of_list_ = by_key_ ? call_.work.bound[index_] : call_.work.critical_bin[index_];
    if (lists() && !by_key_) {
      all_ = sum_of_slices(of_row(call_.work.mass), call_.slices);
      sure_ = sum_of_slices(of_row(call_.work.sure), call_.slices);
    }
    rule_.weigh = weighing_of(row_, best);
  }

  // Where limits have equals, writes how many there are before each slice. Ends with a barrier.
  __device__ kept_rule find() {
    if (!lists()) return rule_;
    count_listed();
    if (by_key_) limit_keys();
    weigh_listed();
    if (row_.top_p < 1.0F) limit_mass();
    sum_kept();
    return rule_;
  }
  // Behind find(): the steps of what is kept of each slice.
  __device__ const std::uint64_t* kept_mass() const {
    return lists() ? space_.mass : of_row(call_.work.mass);
  }

 private:
  __device__ bool lists() const { return by_key_ || row_.top_p < 1.0F; }
  __device__ const std::uint64_t* of_row(const std::uint64_t* of_slices) const {
    return of_slices + slice_at(call_, index_, 0);
  }

  __device__ void count_listed() {
    if (threadIdx.x < 32) {
      const std::int32_t* const counts = call_.work.num_listed + slice_at(call_, index_, 0);
      const std::int32_t all = sum_before_slices(counts, call_.slices, space_.first);
      if (threadIdx.x == 0) space_.first[call_.slices] = all;
    }
    __syncthreads();
    values_.load();
    __syncthreads();
  }

  // The k greatest, of equal ones the first.
  __device__ void limit_keys() {
    const auto k = static_cast<std::uint32_t>(row_.top_k);
    rule_.key = least_listed_key(limit_of_list_) - 1;
    if (values_.count() <= row_.top_k) return;
    const reached_key limit =
        greatest_reaching(counted_logits{values_}, 0, 32, 0, static_cast<double>(k), space_.search);
    const auto above = static_cast<std::uint32_t>(limit.above);
    if (k - above == limit.equals) {
      rule_.key = limit.key - 1;
      return;
    }
    rule_.key = limit.key;
    rule_.key_equals = static_cast<std::int32_t>(k - above);
    count_before(call_.work.keys_before, [&](float logit) { return ordered_key(logit) == rule_.key; });
  }

  // before[slice]: how many values of the slices before are equal to the limit.
  template <class Equal>
  __device__ void count_before(std::int32_t* before, Equal equal) {
    values_.visit_slices([&](std::int32_t slice, std::int32_t n) {
      const float* values = values_.of_slice(slice);
      std::uint32_t count = 0;
      for (std::int32_t i = threadIdx.x % 32; i < n; i += 32) count += equal(values[i]) ? 1U : 0U;
      count = __reduce_add_sync(all_lanes, count);
      if (threadIdx.x % 32 == 0) before[slice_at(call_, index_, slice)] = static_cast<std::int32_t>(count);
    });
    __syncthreads();
    std::int32_t* const of_row = before + slice_at(call_, index_, 0);
    if (threadIdx.x < 32) sum_before_slices(of_row, call_.slices, of_row);
    __syncthreads();
  }

  // Makes weights of the listed logits: 0 of those that top-k leaves out, or that are not of the bin in which
  // top-p has its limit.
  __device__ void weigh_listed() {
    const unsigned lane = threadIdx.x % 32;
    values_.visit_slices([&](std::int32_t slice, std::int32_t n) {
      float* const values = values_.of_slice(slice);
      std::int32_t rank = rule_.key_equals > 0 ? call_.work.keys_before[slice_at(call_, index_, slice)] : 0;
      for (std::int32_t begin = 0; begin < n; begin += 32) {
        const std::int32_t i = begin + static_cast<std::int32_t>(lane);
        const float logit = i < n ? values[i] : -infinite;
        const std::uint32_t key = ordered_key(logit);
        const unsigned equals = __ballot_sync(all_lanes, i < n && key == rule_.key);
        const std::int32_t own = rank + __popc(equals & ((1U << lane) - 1));
        const float weight = rule_.weigh.weight(logit);
        const bool kept = by_key_ ? key > rule_.key || (key == rule_.key && own < rule_.key_equals)
                                  : mass_bin(weight) == static_cast<std::int32_t>(limit_of_list_);
        if (i < n) values[i] = kept ? weight : 0.0F;
        rank += __popc(equals);
      }
    });
    __syncthreads();
  }

  // The greatest weights whose sum reaches top_p of all; of equal ones the first.
  __device__ void limit_mass() {
    const massed_weights massed{values_};
    std::uint64_t all = all_;
    if (by_key_) {
      massed.visit([&](std::uint32_t, std::uint64_t steps) { all += steps; });
      all = block_sum(all, space_.sums);
    }
    const double target = __dmul_rn(static_cast<double>(row_.top_p), static_cast<double>(all));
    const std::uint32_t prefix = by_key_ ? 0 : first_bits_of_bin(static_cast<std::int32_t>(limit_of_list_));
    const reached_key limit =
        greatest_reaching(massed, prefix, prefix == 0 ? 30 : 20, sure_, target, space_.search);
    const std::uint64_t kept = equals_to_reach(limit.above, weight_steps(__uint_as_float(limit.key)), target);
    if (kept >= limit.equals) {
      rule_.least = __uint_as_float(limit.key - 1);
      return;
    }
    rule_.least = __uint_as_float(limit.key);
    rule_.least_equals = static_cast<std::int32_t>(kept);
    count_before(call_.work.least_before, [&](float weight) { return weight == rule_.least; });
  }

  // The smallest n, at least 1, for which above + n * steps reaches the target.
  __device__ static std::uint64_t equals_to_reach(std::uint64_t above, std::uint64_t steps, double target) {
    const double estimate = (target - static_cast<double>(above)) / static_cast<double>(steps);
    std::uint64_t n = estimate > 2.0 ? static_cast<std::uint64_t>(estimate) - 1 : 1;
    while (static_cast<double>(above + n * steps) < target) ++n;
    return n;
  }

  __device__ void sum_kept() {
    const std::uint64_t equal_steps = weight_steps(rule_.least);
    values_.visit_slices([&](std::int32_t slice, std::int32_t n) {
      const float* values = values_.of_slice(slice);
      std::uint64_t mass = 0;
      std::uint32_t equals = 0;
      for (std::int32_t i = threadIdx.x % 32; i < n; i += 32) {
        mass += values[i] > rule_.least ? weight_steps(values[i]) : 0;
        equals += values[i] == rule_.least ? 1U : 0U;
      }
      mass = warp_sum(mass);
      equals = __reduce_add_sync(all_lanes, equals);
      if (threadIdx.x % 32 != 0) return;
      if (rule_.least_equals > 0) {
        const std::int32_t left =
            rule_.least_equals - call_.work.least_before[slice_at(call_, index_, slice)];
        const std::uint32_t kept = left > 0 ? static_cast<std::uint32_t>(left) : 0;
        mass += (kept < equals ? kept : equals) * equal_steps;
      }
      const std::size_t at = slice_at(call_, index_, slice);
      if (!by_key_) mass += call_.work.sure[at];
      space_.mass[slice] = mass;
      call_.work.mass[at] = mass;
    });
    __syncthreads();
  }

  const sampling_call& call_;
  const sampling_row& row_;
  std::int32_t index_;
  bool by_key_;
  draw_space& space_;
  listed_values values_;
  kept_rule rule_;
  std::uint64_t all_ = 0;            // top-p without top-k: steps of all weights
  std::uint64_t sure_ = 0;           // and of those above the bin of its limit
  std::uint32_t limit_of_list_ = 0;  // the key from which on logits are listed, or the bin of top-p's limit
};

}  // namespace troupe::kernels::cuda
