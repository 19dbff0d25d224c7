#include "runtime/executor_cuda/products/quantized_gemm.hpp"

#include <algorithm>

#include "kernels/cuda/products/quantized_product.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {
namespace {

using kernels::cuda::product_output;

product_output output_of(gemm_output kind) {
  switch (kind) {
    case gemm_output::rounded:
      return product_output::bf16;
    case gemm_output::f32:
      return product_output::f32;
    case gemm_output::add_to_f32:
      return product_output::add_to_f32;
  }
  return product_output::f32;
}

// A product's element `index` and those behind it.
void* at(void* out, gemm_output kind, std::size_t index) {
  const std::size_t bytes = kind == gemm_output::rounded ? sizeof(__nv_bfloat16) : sizeof(float);
  return static_cast<std::byte*>(out) + bytes * index;
}

// At most max_quantized_rows rows.
void multiply_codes(const cuda_stream& stream, const void* input, const device_matrix& weight,
                    std::int32_t rows, gemm_output kind, void* out) {
  std::size_t column = 0;
  for (std::int32_t i = 0; i < weight.num_parts; ++i) {
    const kernels::tiled_matrix& part = weight.parts[static_cast<std::size_t>(i)];
    kernels::cuda::multiply_quantized({.weights = part,
                                       .input = input,
                                       .input_stride = weight.inputs,
                                       .rows = rows,
                                       .kind = output_of(kind),
                                       .output = at(out, kind, column),
                                       .output_stride = weight.outputs},
                                      stream.get());
    column += static_cast<std::size_t>(part.outputs);
  }
}

}  // namespace

void quantized_gemm::multiply(const cuda_stream& stream, const void* input, const device_matrix& weight,
                              std::int32_t rows, gemm_output kind, void* out) {
  if (!weight.is_quantized()) return other_->multiply(stream, input, weight, rows, kind, out);
  if (rows > kernels::cuda::max_quantized_rows && !batch_invariant_)
    return other_->multiply(stream, input, dequantize(stream, weight), rows, kind, out);
  const auto* const bf16_input = static_cast<const __nv_bfloat16*>(input);
  for (std::int32_t first = 0; first < rows; first += kernels::cuda::max_quantized_rows) {
    const auto row = static_cast<std::size_t>(first);
    multiply_codes(stream, bf16_input + row * static_cast<std::size_t>(weight.inputs), weight,
                   std::min(rows - first, kernels::cuda::max_quantized_rows), kind,
                   at(out, kind, row * static_cast<std::size_t>(weight.outputs)));
  }
}

void quantized_gemm::prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
                             std::span<const std::int32_t> rows, gemm_output kind, void* out) {
  if (!weight.is_quantized()) return other_->prepare(stream, input, weight, rows, kind, out);
  if (batch_invariant_) return;
  const auto few = std::ranges::upper_bound(rows, kernels::cuda::max_quantized_rows) - rows.begin();
  const std::span<const std::int32_t> many = rows.subspan(static_cast<std::size_t>(few));
  if (many.empty()) return;
  const device_matrix widened = dequantize(stream, weight);
  check_launches("dequantize");  // else prepare() takes it for a way that the library refuses
  other_->prepare(stream, input, widened, many, kind, out);
}

// Outputs beyond the last part keep what is there, as nobody reads them.
device_matrix quantized_gemm::dequantize(const cuda_stream& stream, const device_matrix& weight) const {
  std::size_t at = 0;
  for (std::int32_t i = 0; i < weight.num_parts; ++i) {
    const kernels::tiled_matrix& part = weight.parts[static_cast<std::size_t>(i)];
    kernels::cuda::dequantize(part, dequantized_.data() + at, stream.get());
    at += static_cast<std::size_t>(part.outputs) * static_cast<std::size_t>(part.inputs);
  }
  return {.data = dequantized_.data(), .outputs = weight.outputs, .inputs = weight.inputs};
}

}  // namespace troupe
