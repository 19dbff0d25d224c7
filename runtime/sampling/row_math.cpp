#include "runtime/sampling/row_math.hpp"

#include <cmath>

#include "runtime/sampling/row_loops.hpp"
#include "runtime/sampling/vector_code.hpp"

namespace troupe {

void mask_row(std::span<const float> logits, std::span<const std::uint32_t> mask, float* out) {
  run_on<row_loops::mask_row>(vector_unit_here(), logits, mask, out);
}

float row_max(std::span<const float> row) { return run_on<row_loops::row_max>(vector_unit_here(), row); }

token_id arg_max(std::span<const float> row) { return run_on<row_loops::arg_max>(vector_unit_here(), row); }

void weigh(std::span<const float> logits, float max, float inverse_temperature, float* weights,
           std::span<const std::uint32_t> mask) {
  run_on<row_loops::weigh>(vector_unit_here(), logits, max, inverse_temperature, weights, mask);
}

double sum_weights(std::span<const float> weights) {
  return run_on<row_loops::sum_weights>(vector_unit_here(), weights);
}

double sum_from(std::span<const float> weights, float least) {
  return run_on<row_loops::sum_from>(vector_unit_here(), weights, least);
}

std::span<const float> gather_from(std::span<const float> weights, float least, std::vector<float>& room) {
  room.resize(weights.size());
  const std::size_t count = run_on<row_loops::gather_from>(vector_unit_here(), weights, least, room.data());
  return std::span(room).first(count);
}

void clear_below(std::span<float> weights, float least) {
  run_on<row_loops::clear_below>(vector_unit_here(), weights, least);
}

double log_sum_exp(std::span<const float> logits, float max) {
  return std::log(run_on<row_loops::sum_exponentials>(vector_unit_here(), logits, max));
}

std::size_t invert_distribution(std::span<const float> weights, double u) {
  return run_on<row_loops::invert_distribution>(vector_unit_here(), weights, u);
}

}  // namespace troupe
