// Products with e4m3 weights, in front of another gemm, which has all others and the sums of these: rows
// become e4m3 with a scale each, the other one multiplies codes with codes, and the sums are scaled. So a
// row's codes depend on nothing beside it, and the library need not know of scales: which ways of scaling it
// has differs from device to device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/products/fp8_rows.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/model/device_weights.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"

namespace troupe {

class fp8_gemm final : public gemm {
 public:
  struct sizes {
    std::int32_t rows = 1;    // of the largest product
    std::int32_t inputs = 0;  // of the matrix that has the most
    std::int32_t added = 0;   // outputs of what is added to fp32, the most
  };
  // Of a model's matrices, for products of so many rows.
  static sizes sizes_of(const device_weights& weights, std::int32_t rows);

  // Throws what check_cuda() throws.
  fp8_gemm(std::unique_ptr<gemm> other, const sizes& sizes)
      : other_(std::move(other)),
        codes_(count_of(sizes.rows, sizes.inputs)),
        scales_(count_of(sizes.rows, 1)),
        sums_(count_of(sizes.rows, sizes.added)) {}

  // Of e4m3 weights the input is bf16.
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override;
  void prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
               std::span<const std::int32_t> rows, gemm_output kind, void* out) override;
  void tell_choices(std::vector<gemm_choice>& to) const override { other_->tell_choices(to); }
  void use_choices(std::span<const gemm_choice> choices) override { other_->use_choices(choices); }
  std::string name() const override { return other_->name() + ", fp8 weights"; }

 private:
  static std::size_t count_of(std::int32_t rows, std::int32_t width) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width);
  }
  void quantize(const cuda_stream& stream, const void* input, std::int32_t rows, std::int32_t width) const;

  std::unique_ptr<gemm> other_;
  device_array<std::byte> codes_;  // [rows][inputs], for the product that comes next on the stream
  device_array<float> scales_;     // [rows] of these
  device_array<float> sums_;       // [rows][added]
};

}  // namespace troupe
