#include "tests/cuda/executor/reference_gemm_fixture.hpp"

#include "runtime/executor_cuda/cuda_error.hpp"

namespace troupe::test {
namespace {

float sum_of(const reference_gemm::call& of, std::size_t row, std::size_t output) {
  const auto inputs = static_cast<std::size_t>(of.weight.inputs);
  float sum = 0.0F;
  for (std::size_t i = 0; i < inputs; ++i)
    sum +=
        __bfloat162float(of.input[row * inputs + i]) * __bfloat162float(of.weight.data[output * inputs + i]);
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
        case gemm_output::bf16:
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

void reference_gemm::multiply(const cuda_stream& stream, const __nv_bfloat16* input,
                              const device_matrix& weight, std::int32_t rows, gemm_output kind, void* out) {
  const auto& kept = calls_.emplace_back(std::make_unique<call>(call{input, weight, rows, kind, out}));
  check_cuda(cudaLaunchHostFunc(stream.get(), compute, kept.get()), "cudaLaunchHostFunc");
}

result<std::unique_ptr<gemm>> open_reference_gemm(std::int32_t) { return std::make_unique<reference_gemm>(); }

}  // namespace troupe::test
