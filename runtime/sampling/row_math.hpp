// Passes over one row of logits, written so that the compiler makes vector code of them and every machine
// gets the same bits: own exponential, fixed order of additions. NaN is read as minus infinity.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Weights are multiples of 2^-33 and at most 1: a double holds the sum of up to 2^20 of them exactly, so that
// sums of the same weights are equal in any order.
inline constexpr float weight_step = 0x1.0p-33F;

// The greatest value; minus infinity for a row without any.
float row_max(std::span<const float> row);

// Index of the greatest value, the lowest of equal ones; 0 for a row without any.
token_id arg_max(std::span<const float> row);

// out[i] = logits[i] where bit i % 32 of mask[i / 32] is set, else minus infinity; so too past the mask's
// end.
void mask_row(std::span<const float> logits, std::span<const std::uint32_t> mask, float* out);

// weights[i] = exp((logits[i] - max) * inverse_temperature), rounded to a multiple of weight_step.
// Where max is plus infinity, its bearers share all the weight. `mask`: empty, or that of mask_row(), which
// has left minus infinity where no bit is: 32 tokens without one cost nothing.
void weigh(std::span<const float> logits, float max, float inverse_temperature, float* weights,
           std::span<const std::uint32_t> mask = {});

// Exact for what weigh() gives.
double sum_weights(std::span<const float> weights);
// The same of those that reach `least`.
double sum_from(std::span<const float> weights, float least);

// Those that reach `least`, in their order. Quick where whole stretches do not. They lie in `room`, which is
// made as large as the row.
std::span<const float> gather_from(std::span<const float> weights, float least, std::vector<float>& room);

// Sets to 0 what does not reach `least`.
void clear_below(std::span<float> weights, float least);

// The natural logarithm of the sum of exp(logits[i] - max), for a finite max.
double log_sum_exp(std::span<const float> logits, float max);

// The first index whose cumulated weight passes u * total, for u in [0, 1); the weights must not all be 0.
std::size_t invert_distribution(std::span<const float> weights, double u);

}  // namespace troupe
