// Products with weights that are quantised on the device, in front of another gemm, which has all others. Up
// to kernels::cuda::max_quantized_rows rows by the kernel that reads the codes; for more rows the matrix is
// dequantised first, for each product, and the other one multiplies. Where a row's bits may not depend on its
// company the kernel takes more rows too, so many at a time: it sums in an order of the matrix alone, and
// reads that again for each.
#pragma once
#include <cuda_bf16.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"

namespace troupe {

class quantized_gemm final : public gemm {
 public:
  // `largest`: elements of the largest matrix that is quantised. Throws what check_cuda() throws.
  quantized_gemm(std::unique_ptr<gemm> other, std::size_t largest, bool batch_invariant)
      : other_(std::move(other)),
        batch_invariant_(batch_invariant),
        dequantized_(batch_invariant ? 0 : largest) {}

  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override;
  void prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
               std::span<const std::int32_t> rows, gemm_output kind, void* out) override;
  void tell_choices(std::vector<gemm_choice>& to) const override { other_->tell_choices(to); }
  void use_choices(std::span<const gemm_choice> choices) override { other_->use_choices(choices); }
  std::string name() const override { return other_->name() + ", quantised weights"; }

 private:
  device_matrix dequantize(const cuda_stream& stream, const device_matrix& weight) const;

  std::unique_ptr<gemm> other_;
  bool batch_invariant_;
  device_array<__nv_bfloat16> dequantized_;  // a matrix, for the product that comes next on the stream
};

}  // namespace troupe
