// cuBLASLt's calls as its documentation describes them, for the emulated device: matrices stored by columns,
// D = alpha * op(A) * op(B) + beta * C. What the documentation forbids is refused.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/executor_cuda/cublaslt_library.hpp"

namespace troupe::test {

// A way to compute a product: its number is in the first word of the algorithm.
struct cublaslt_habits {
  std::vector<std::uint64_t> proposed = {0};  // the best first
  // Whether the library computes so many columns of D in this way; it proposes it whatever this says.
  std::function<bool(std::uint64_t number, std::uint64_t columns)> computes = [](auto, auto) { return true; };
  std::vector<std::uint64_t> used;  // by products that were computed, in order
};

// The habits of the library below.
cublaslt_habits& habits();

std::shared_ptr<const cublaslt_library> documented_cublaslt();

}  // namespace troupe::test
