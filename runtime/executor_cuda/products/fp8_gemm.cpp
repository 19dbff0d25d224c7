#include "runtime/executor_cuda/products/fp8_gemm.hpp"

#include <algorithm>

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

using kernels::cuda::fp8_sums;

fp8_gemm::sizes fp8_gemm::sizes_of(const device_weights& weights, std::int32_t rows) {
  sizes out{.rows = rows};
  for (const device_layer& layer : weights.layers) {
    for (const device_matrix* each : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down})
      out.inputs = std::max(out.inputs, each->inputs);
    for (const device_matrix* each : {&layer.output, &layer.down})
      out.added = std::max(out.added, each->outputs);
  }
  return out;
}

void fp8_gemm::multiply(const cuda_stream& stream, const void* input, const device_matrix& weight,
                        std::int32_t rows, gemm_output kind, void* out) {
  if (weight.type != matrix_type::e4m3) return other_->multiply(stream, input, weight, rows, kind, out);
  const bool adds = kind == gemm_output::add_to_f32;
  void* const sums = adds ? sums_.data() : out;
  quantize(stream, input, rows, weight.inputs);
  other_->multiply(stream, codes_.data(), weight, rows, adds ? gemm_output::f32 : kind, sums);
  kernels::cuda::scale_fp8_sums({.sums = sums,
                                 .row_scales = scales_.data(),
                                 .output_scales = weight.scales,
                                 .output = adds ? static_cast<float*>(out) : nullptr,
                                 .rows = rows,
                                 .width = weight.outputs,
                                 .kind = adds                           ? fp8_sums::add_to_f32
                                         : kind == gemm_output::rounded ? fp8_sums::bf16
                                                                        : fp8_sums::f32},
                                stream.get());
}

void fp8_gemm::prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
                       std::span<const std::int32_t> rows, gemm_output kind, void* out) {
  if (weight.type != matrix_type::e4m3) return other_->prepare(stream, input, weight, rows, kind, out);
  if (rows.empty()) return;
  quantize(stream, input, rows.back(), weight.inputs);
  check_launches("quantize_to_fp8");  // else prepare() takes it for a way that the library refuses
  const bool adds = kind == gemm_output::add_to_f32;
  other_->prepare(stream, codes_.data(), weight, rows, adds ? gemm_output::f32 : kind,
                  adds ? sums_.data() : out);
}

void fp8_gemm::quantize(const cuda_stream& stream, const void* input, std::int32_t rows,
                        std::int32_t width) const {
  kernels::cuda::quantize_to_fp8({.input = input,
                                  .output = codes_.data(),
                                  .scales = scales_.data(),
                                  .rows = rows,
                                  .width = width,
                                  .type = kernels::cuda::element_type::bf16},
                                 stream.get());
}

}  // namespace troupe
