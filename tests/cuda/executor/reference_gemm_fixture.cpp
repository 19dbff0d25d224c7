#include "tests/cuda/executor/reference_gemm_fixture.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe::test {
namespace {

float value(const void* data, matrix_type type, std::size_t index) {
  switch (type) {
    case matrix_type::f16:
      return __half2float(static_cast<const __half*>(data)[index]);
    case matrix_type::e4m3:
      return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[index]);
    case matrix_type::bf16:
      break;
  }
  return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
}

float sum_of(const reference_gemm::call& of, std::size_t row, std::size_t output) {
  const auto inputs = static_cast<std::size_t>(of.weight.inputs);
  const auto parts = static_cast<std::size_t>(of.parts);
  float sum = 0.0F;
  for (std::size_t part = 0; part < parts; ++part) {
    float of_part = 0.0F;
    for (std::size_t i = part * inputs / parts; i < (part + 1) * inputs / parts; ++i)
      of_part += value(of.input, of.weight.type, row * inputs + i) *
                 value(of.weight.data, of.weight.type, output * inputs + i);
    sum += of_part;
  }
  return sum;
}

void compute(void* data) {
  const auto& of = *static_cast<const reference_gemm::call*>(data);
  const auto outputs = static_cast<std::size_t>(of.weight.outputs);
  for (std::size_t row = 0; row < static_cast<std::size_t>(of.rows); ++row) {
    for (std::size_t output = 0; output < outputs; ++output) {
      const float sum = sum_of(of, row, output);
      const std::size_t at = row * outputs + output;
      switch (of.kind) {
        case gemm_output::rounded:
          if (of.weight.type == matrix_type::f16)
            static_cast<__half*>(of.out)[at] = __float2half(sum);
          else
            static_cast<__nv_bfloat16*>(of.out)[at] = __float2bfloat16(sum);
          break;
        case gemm_output::f32:
          static_cast<float*>(of.out)[at] = sum;
          break;
        case gemm_output::add_to_f32:
          static_cast<float*>(of.out)[at] += sum;
          break;
      }
    }
  }
}

}  // namespace

void reference_gemm::multiply(const cuda_stream& stream, const void* input, const device_matrix& weight,
                              std::int32_t rows, gemm_output kind, void* out) {
  const auto& kept =
      calls_.emplace_back(std::make_unique<call>(call{input, weight, rows, kind, out, in_parts_ ? rows : 1}));
  check_cuda(cudaLaunchHostFunc(stream.get(), compute, kept.get()), "cudaLaunchHostFunc");
}

result<std::unique_ptr<gemm>> open_reference_gemm(const gemm_request&) {
  return std::make_unique<reference_gemm>();
}

result<std::unique_ptr<gemm>> open_gemm_in_parts(const gemm_request& request) {
  return std::make_unique<reference_gemm>(!request.batch_invariant);
}

}  // namespace troupe::test
