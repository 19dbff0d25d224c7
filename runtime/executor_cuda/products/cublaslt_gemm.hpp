// Matrix products by cuBLASLt. Which of its kernels computes a product is chosen by timing those that it
// proposes for a number of rows, each with a cold L2 cache, as a weight is found in the midst of a step.
//
// Where a row's bits may not depend on its company, one kernel with one configuration computes all products
// with matrices of a size, whatever their rows: of those that sum without a break (no reduction scheme, no
// work space through which blocks could share a sum) the one that is the least slower than the fastest for
// each number of rows, as a geometric mean. NVIDIA promises equal bits for equal calls alone; so what was
// chosen has shown before that rows keep their bits from one number of rows to the next, and the self-test
// looks again.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/products/cold_timer.hpp"
#include "runtime/executor_cuda/products/cublaslt_library.hpp"
#include "runtime/executor_cuda/products/cublaslt_product.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"

namespace troupe {

class cublaslt_gemm final : public gemm {
 public:
  // On the device that is current; of each product at most so many of the library's proposals are timed.
  // Takes room at once for what it will choose for usual products. Throws what check_cuda() and
  // cublaslt_library::check() throw.
  static constexpr int usual_proposals = 12;
  cublaslt_gemm(std::shared_ptr<const cublaslt_library> library, const gemm_request& request,
                int most_proposals = usual_proposals);

  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override;
  void prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
               std::span<const std::int32_t> rows, gemm_output kind, void* out) override;
  void tell_choices(std::vector<gemm_choice>& to) const override;
  void use_choices(std::span<const gemm_choice> choices) override;
  std::string name() const override { return "cuBLASLt " + library_->version(); }

 private:
  // The ways to multiply with matrices of one size.
  struct choices {
    std::map<std::int32_t, cublasLtMatmulAlgo_t> measured;     // by the rows it was measured with
    std::vector<std::optional<cublasLtMatmulAlgo_t>> by_rows;  // as used
    std::optional<cublasLtMatmulAlgo_t> only;                  // where it is the same for all rows
  };
  using products = std::vector<cublaslt_product>;  // with the same matrix, of rising numbers of rows
  // A kernel that may compute all products with matrices of one size.
  struct candidate {
    cublasLtMatmulAlgo_t algorithm;
    std::vector<float> took;  // milliseconds, by each number of rows
    double slowness;          // the sum of the logarithms of how much more that is than the fastest
  };
  choices& choices_of(const device_matrix& weight, gemm_output kind, std::int32_t rows);
  void set_preference(cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                      std::size_t bytes) const;
  const cublasLtMatmulAlgo_t& choose(choices& among, const cublaslt_product& of, std::int32_t rows) const;
  void choose_fastest(const cuda_stream& stream, const cublaslt_product& of, choices& among);

  cublasLtMatmulAlgo_t choose_only(const cuda_stream& stream, const products& all);
  std::vector<candidate> time_candidates(const cuda_stream& stream, const products& all);
  std::vector<cublasLtMatmulAlgo_t> proposals_for_all(const products& all) const;
  bool keeps_bits(const cuda_stream& stream, const products& all,
                  const cublasLtMatmulAlgo_t& algorithm) const;
  std::vector<std::byte> bits_of_rows(const cuda_stream& stream, const cublaslt_product& of,
                                      const cublasLtMatmulAlgo_t& algorithm,
                                      std::span<const std::int32_t> rows) const;

  std::vector<cublasLtMatmulHeuristicResult_t> proposals(const cublaslt_product& of, int most) const;
  void run(const cuda_stream& stream, const cublaslt_product& of,
           const cublasLtMatmulAlgo_t& algorithm) const;
  std::optional<float> try_to_time(const cuda_stream& stream, const cublaslt_product& of,
                                   const cublasLtMatmulAlgo_t& algorithm);

  std::shared_ptr<const cublaslt_library> library_;
  gemm_request request_;
  int most_proposals_;
  std::unique_ptr<cublasLtContext, decltype(&::cublasLtDestroy)> handle_;
  std::unique_ptr<cublasLtMatmulDescOpaque_t, decltype(&::cublasLtMatmulDescDestroy)> operation_;
  std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(&::cublasLtMatmulPreferenceDestroy)> preference_;
  device_memory workspace_;
  std::optional<cold_timer> timer_;  // while something is measured
  std::map<std::tuple<std::int32_t, std::int32_t, matrix_type, gemm_output>, choices> choices_;
};

}  // namespace troupe
