// How cublaslt_gemm chooses one kernel for products of all numbers of rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/products/cublaslt_gemm.hpp"

namespace troupe {

std::vector<cublasLtMatmulAlgo_t> cublaslt_gemm::proposals_for_all(const products& all) const {
  std::vector<cublasLtMatmulAlgo_t> found;
  for (const cublaslt_product& of : all)
    for (const cublasLtMatmulHeuristicResult_t& each : proposals(of, most_proposals_))
      if (std::ranges::none_of(found, [&](const cublasLtMatmulAlgo_t& known) {
            return std::memcmp(&known, &each.algo, sizeof known) == 0;
          }))
        found.push_back(each.algo);
  return found;
}

std::vector<cublaslt_gemm::candidate> cublaslt_gemm::time_candidates(const cuda_stream& stream,
                                                                     const products& all) {
  std::vector<candidate> candidates;
  std::vector<float> fastest(all.size(), std::numeric_limits<float>::infinity());
  for (const cublasLtMatmulAlgo_t& algorithm : proposals_for_all(all)) {
    candidate tried{algorithm, {}, 0};
    for (const cublaslt_product& of : all) {
      const std::optional<float> took = try_to_time(stream, of, algorithm);
      if (!took) break;
      tried.took.push_back(*took);
    }
    if (tried.took.size() < all.size()) continue;
    std::ranges::transform(fastest, tried.took, fastest.begin(),
                           [](float a, float b) { return std::min(a, b); });
    candidates.push_back(std::move(tried));
  }
  for (candidate& each : candidates)
    for (std::size_t i = 0; i < all.size(); ++i) each.slowness += std::log(each.took[i] / fastest[i]);
  return candidates;
}

cublasLtMatmulAlgo_t cublaslt_gemm::choose_only(const cuda_stream& stream, const products& all) {
  std::vector<candidate> candidates = time_candidates(stream, all);
  std::ranges::stable_sort(candidates, {}, &candidate::slowness);
  const auto found = std::ranges::find_if(
      candidates, [&](const candidate& each) { return keeps_bits(stream, all, each.algorithm); });
  if (found != candidates.end()) return found->algorithm;
  throw no_invariant_product(
      "cuBLASLt has no kernel that keeps the bits of a product's rows whatever is beside them");
}

// The first row and the last of each product are those of the largest one.
bool cublaslt_gemm::keeps_bits(const cuda_stream& stream, const products& all,
                               const cublasLtMatmulAlgo_t& algorithm) const {
  return std::ranges::all_of(all, [&](const cublaslt_product& each) {
    const std::array<std::int32_t, 2> rows = {0, each.rows - 1};
    return bits_of_rows(stream, each, algorithm, rows) == bits_of_rows(stream, all.back(), algorithm, rows);
  });
}

std::vector<std::byte> cublaslt_gemm::bits_of_rows(const cuda_stream& stream, const cublaslt_product& of,
                                                   const cublasLtMatmulAlgo_t& algorithm,
                                                   std::span<const std::int32_t> rows) const {
  stream.fill(of.out, 0, static_cast<std::size_t>(of.rows) * of.row_bytes);
  run(stream, of, algorithm);
  stream.synchronize();
  std::vector<std::byte> bits(rows.size() * of.row_bytes);
  for (std::size_t i = 0; i < rows.size(); ++i)
    check_cuda(
        cudaMemcpy(bits.data() + i * of.row_bytes,
                   static_cast<const std::byte*>(of.out) + static_cast<std::size_t>(rows[i]) * of.row_bytes,
                   of.row_bytes, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  return bits;
}

}  // namespace troupe
