// cuBLASLt's calls as its documentation describes them, for the emulated device: matrices stored by columns,
// D = alpha * op(A) * op(B) + beta * C. What the documentation forbids is refused.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "runtime/executor_cuda/products/cublaslt_library.hpp"

namespace troupe::test {

// A way to compute a product: its number is in the first word of the algorithm.
struct cublaslt_habits {
  std::vector<std::uint64_t> proposed = {0};  // the best first
  // Whether the library computes so many columns of D in this way; it proposes it whatever this says.
  std::function<bool(std::uint64_t number, std::uint64_t columns)> computes = [](auto, auto) { return true; };
  cublasStatus_t refusal = CUBLAS_STATUS_NOT_SUPPORTED;  // what it answers where it does not
  // Those that sum in parts: proposed only where a reduction scheme is allowed.
  std::set<std::uint64_t> splitting = {};
  // Into how many parts a product of so many columns of D is split by one that says that it does not.
  std::function<std::uint64_t(std::uint64_t number, std::uint64_t columns)> parts = [](auto, auto) {
    return 1;
  };
  std::vector<std::uint64_t> used;    // by products that were computed, in order
  std::uint64_t workspace_bytes = 0;  // that the last preference allows
};

// The habits of the library below.
cublaslt_habits& habits();

std::shared_ptr<const cublaslt_library> documented_cublaslt();

}  // namespace troupe::test
