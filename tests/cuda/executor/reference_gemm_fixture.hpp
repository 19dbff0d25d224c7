// Products by a plain loop, run by the emulated device when it comes to them: in place of cuBLASLt.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor_cuda/products/gemm.hpp"
#include "runtime/result.hpp"

namespace troupe::test {

class reference_gemm final : public gemm {
 public:
  // Sums each element in one go, or with `in_parts` in as many parts as there are rows: as kernels that are
  // chosen by the number of rows do.
  explicit reference_gemm(bool in_parts = false) : in_parts_(in_parts) {}
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override;
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t> rows,
               gemm_output, void*) override {
    prepared.insert(prepared.end(), rows.begin(), rows.end());
  }
  std::string name() const override { return "reference"; }

  std::vector<std::int32_t> prepared;  // the row counts that were asked for

  // What a stream or a graph is asked for: graphs run it again and again, so it is kept.
  struct call {
    const void* input;
    device_matrix weight;
    std::int32_t rows;
    gemm_output kind;
    void* out;
    std::int32_t parts;
  };

 private:
  bool in_parts_;
  std::vector<std::unique_ptr<call>> calls_;
};

// Multiplies with another matrix than it is given: wrong.
class wrong_gemm final : public gemm {
 public:
  using change = std::function<void(device_matrix& weight, gemm_output kind)>;
  explicit wrong_gemm(change of_weight) : change_(std::move(of_weight)) {}
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    device_matrix other = weight;
    change_(other, kind);
    right_.multiply(stream, input, other, rows, kind, out);
  }
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {}
  std::string name() const override { return "wrong"; }

 private:
  change change_;
  reference_gemm right_;
};

// cuda_executor_options::open_gemm.
result<std::unique_ptr<gemm>> open_reference_gemm(const gemm_request& request);
// Sums in parts unless that is not allowed.
result<std::unique_ptr<gemm>> open_gemm_in_parts(const gemm_request& request);

}  // namespace troupe::test
