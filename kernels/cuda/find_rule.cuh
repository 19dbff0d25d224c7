// Which tokens of a row keep their weight: runtime/sampling/truncation.cpp's rules by thresholds, and how
// much weight each slice keeps.
#pragma once
#include "kernels/cuda/listed_values.cuh"

namespace troupe::kernels::cuda {

// Shared memory of a block that draws.
struct draw_space {
  search_parts search;
  std::uint64_t sums[search_warps];
  std::int32_t first[max_slices + 1];
  float values[most_dense_values];
};

class rule_finder {
 public:
  __device__ rule_finder(const sampling_call& call, std::int32_t index, std::uint64_t best, draw_space& space)
      : call_(call),
        row_(call.batch.rows[index]),
        index_(index),
        space_(space),
        values_(space.values, call.work.listed + slice_at(call, index, 0) * sampling_slice, space.first,
                call.slices) {
    rule_.weigh = weighing_of(row_, best);
  }

  // Writes the masses of the kept in each slice, and where limits have equals those before each slice. Ends
  // with a barrier.
  __device__ kept_rule find() {
    const bool by_key = has_top_k(row_, call_.batch.vocab);
    if (!by_key && !(row_.top_p < 1.0F)) return rule_;
    count_listed();
    if (by_key) limit_keys();
    weigh_listed();
    if (row_.top_p < 1.0F) limit_mass(by_key);
    sum_kept(by_key);
    return rule_;
  }

 private:
  __device__ std::uint64_t sum(std::uint64_t value) { return block_sum(value, space_.sums); }
  __device__ std::int32_t of_slice() const { return static_cast<std::int32_t>(threadIdx.x); }
  __device__ std::uint64_t slice_value(const std::uint64_t* values) const {
    return of_slice() < call_.slices ? values[slice_at(call_, index_, of_slice())] : 0;
  }

  __device__ void count_listed() {
    const bool is_slice = of_slice() < call_.slices;
    const std::int32_t own = is_slice ? call_.work.num_listed[slice_at(call_, index_, of_slice())] : 0;
    std::uint64_t total = 0;
    const std::uint64_t before = block_exclusive_sum(static_cast<std::uint64_t>(own), space_.sums, total);
    if (is_slice) space_.first[of_slice()] = static_cast<std::int32_t>(before);
    if (threadIdx.x == 0) space_.first[call_.slices] = static_cast<std::int32_t>(total);
    __syncthreads();
    values_.load();
    __syncthreads();
  }

  // The k greatest, of equal ones the first.
  __device__ void limit_keys() {
    const auto k = static_cast<std::uint64_t>(row_.top_k);
    rule_.key = least_listed_key(call_.work.bound[index_]) - 1;
    if (static_cast<std::uint64_t>(values_.count()) <= k) return;
    const counted_logits counted{values_};
    rule_.key = greatest_reaching(counted, 0, 32, 0, 0, static_cast<double>(k), space_.search);
    std::uint64_t above = 0;
    std::uint64_t equals = 0;
    counted.visit([&](std::uint32_t key, std::uint64_t) {
      above += key > rule_.key ? 1 : 0;
      equals += key == rule_.key ? 1 : 0;
    });
    above = sum(above);
    equals = sum(equals);
    rule_.key_equals = static_cast<std::int32_t>(k - above);
    if (k - above == equals) {
      rule_.key -= 1;
      rule_.key_equals = 0;
      return;
    }
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
    const bool is_slice = of_slice() < call_.slices;
    const std::int32_t own = is_slice ? before[slice_at(call_, index_, of_slice())] : 0;
    std::uint64_t total = 0;
    const std::uint64_t sum = block_exclusive_sum(static_cast<std::uint64_t>(own), space_.sums, total);
    if (is_slice) before[slice_at(call_, index_, of_slice())] = static_cast<std::int32_t>(sum);
    __syncthreads();
  }

  // Makes weights of the listed logits, 0 of those that top-k leaves out.
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
        const bool kept = key > rule_.key || (key == rule_.key && own < rule_.key_equals);
        if (i < n) values[i] = kept ? rule_.weigh.weight(logit) : 0.0F;
        rank += __popc(equals);
      }
    });
    __syncthreads();
  }

  // The greatest weights whose sum reaches top_p of all; of equal ones the first.
  __device__ void limit_mass(bool by_key) {
    const massed_weights massed{values_};
    std::uint64_t all = 0;
    if (by_key) massed.visit([&](std::uint32_t, std::uint64_t steps) { all += steps; });
    all = sum(by_key ? all : slice_value(call_.work.mass));
    const double target = __dmul_rn(static_cast<double>(row_.top_p), static_cast<double>(all));
    const std::uint64_t sure = by_key ? 0 : sum(slice_value(call_.work.sure));
    const std::uint32_t prefix = by_key ? 0 : first_bits_of_bin(call_.work.critical_bin[index_]);
    const std::uint32_t limit =
        greatest_reaching(massed, prefix, prefix == 0 ? 30 : 20, 0, sure, target, space_.search);

    std::uint64_t above = 0;
    std::uint64_t equals = 0;
    massed.visit([&](std::uint32_t key, std::uint64_t steps) {
      above += key > limit ? steps : 0;
      equals += key == limit ? 1 : 0;
    });
    above = sure + sum(above);
    equals = sum(equals);
    const std::uint64_t kept = equals_to_reach(above, weight_steps(__uint_as_float(limit)), target);
    if (kept >= equals) {
      rule_.least = __uint_as_float(limit - 1);
      return;
    }
    rule_.least = __uint_as_float(limit);
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

  __device__ void sum_kept(bool by_key) {
    const std::uint64_t equal_steps = weight_steps(rule_.least);
    values_.visit_slices([&](std::int32_t slice, std::int32_t n) {
      const float* values = values_.of_slice(slice);
      const std::size_t at = slice_at(call_, index_, slice);
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
        const std::int32_t left = rule_.least_equals - call_.work.least_before[at];
        const std::uint32_t kept = left > 0 ? static_cast<std::uint32_t>(left) : 0;
        mass += (kept < equals ? kept : equals) * equal_steps;
      }
      call_.work.mass[at] = mass + (by_key ? 0 : call_.work.sure[at]);
    });
    __syncthreads();
  }

  const sampling_call& call_;
  const sampling_row& row_;
  std::int32_t index_;
  draw_space& space_;
  listed_values values_;
  kept_rule rule_;
};

}  // namespace troupe::kernels::cuda
