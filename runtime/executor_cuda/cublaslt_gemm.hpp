// Matrix products by cuBLASLt. Which of its kernels computes a product is chosen by timing those that it
// proposes for a number of rows, each with a cold L2 cache, as a weight is found in the midst of a step.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/executor_cuda/cublaslt_library.hpp"
#include "runtime/executor_cuda/device_memory.hpp"
#include "runtime/executor_cuda/gemm.hpp"

namespace troupe {

class cublaslt_gemm final : public gemm {
 public:
  // On the device that is current; of each product at most so many of the library's proposals are timed.
  // Takes room at once for what it will choose for up to `usual_rows` rows. Throws what check_cuda() and
  // cublaslt_library::check() throw.
  static constexpr int usual_proposals = 12;
  cublaslt_gemm(std::shared_ptr<const cublaslt_library> library, std::int32_t usual_rows,
                int most_proposals = usual_proposals);

  void multiply(const cuda_stream& stream, const __nv_bfloat16* input, const device_matrix& weight,
                std::int32_t rows, gemm_output kind, void* out) override;
  void prepare(const cuda_stream& stream, const __nv_bfloat16* input, const device_matrix& weight,
               std::int32_t rows, gemm_output kind, void* out) override;
  std::string name() const override { return "cuBLASLt " + library_->version(); }

 private:
  struct product;  // one call's operands as the library describes them
  // The ways to multiply with matrices of one size.
  struct choices {
    std::map<std::int32_t, cublasLtMatmulAlgo_t> measured;     // by the rows it was measured with
    std::vector<std::optional<cublasLtMatmulAlgo_t>> by_rows;  // as used
  };
  choices& choices_of(const device_matrix& weight, gemm_output kind, std::int32_t rows);
  const cublasLtMatmulAlgo_t& choose(choices& among, const product& of, std::int32_t rows) const;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals(const product& of, int most) const;
  void run(const cuda_stream& stream, const product& of, const cublasLtMatmulAlgo_t& algorithm) const;
  float time(const cuda_stream& stream, const product& of, const cublasLtMatmulAlgo_t& algorithm);
  std::optional<float> try_to_time(const cuda_stream& stream, const product& of,
                                   const cublasLtMatmulAlgo_t& algorithm);

  std::shared_ptr<const cublaslt_library> library_;
  std::int32_t usual_rows_;
  int most_proposals_;
  std::unique_ptr<cublasLtContext, decltype(&::cublasLtDestroy)> handle_;
  std::unique_ptr<cublasLtMatmulDescOpaque_t, decltype(&::cublasLtMatmulDescDestroy)> operation_;
  std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(&::cublasLtMatmulPreferenceDestroy)> preference_;
  device_memory workspace_;
  std::size_t l2_bytes_ = 0;
  std::optional<device_memory> flushed_;  // while something is measured
  std::map<std::tuple<std::int32_t, std::int32_t, gemm_output>, choices> choices_;
};

}  // namespace troupe
