// Products of a step's rows with a weight matrix, behind one call: cuBLASLt on a device, a plain loop where
// the tests emulate one.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/tiled_weights.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/result.hpp"

namespace troupe {

enum class matrix_type : std::int32_t {
  bf16,
  f16,
  e4m3,  // 8-bit floats; an output is to be multiplied by a scale
};

// A weight on the device: [outputs][inputs], as floats or quantised.
struct device_matrix {
  const void* data = nullptr;  // null where it is quantised: then ...
  std::int32_t outputs = 0;
  std::int32_t inputs = 0;
  matrix_type type = matrix_type::bf16;
  const float* scales = nullptr;  // [outputs]: of e4m3
  // ... in these parts, the outputs of one behind those of the other. What is multiplied together may be of
  // different kinds. Outputs beyond the last part are nobody's.
  std::array<kernels::tiled_matrix, 3> parts = {};
  std::int32_t num_parts = 0;

  bool is_quantized() const { return num_parts > 0; }
};

enum class gemm_output {
  rounded,     // to nearest: to f16 where the operands are that, else to bf16
  f32,         // as it was summed
  add_to_f32,  // added to what is there: the residual stream
};

// A way that was chosen for products with matrices of one size.
struct gemm_choice {
  std::int32_t outputs = 0;
  std::int32_t inputs = 0;
  matrix_type type = matrix_type::bf16;
  gemm_output kind = gemm_output::rounded;
  std::int32_t rows = 0;                  // that it was measured with; 0: it is that of all numbers of rows
  std::array<std::uint64_t, 8> way = {};  // as the library describes it
};

struct gemm_request {
  std::int32_t max_rows = 1;  // of the products that are usual
  // Whether a row's bits may depend neither on how many rows are beside it nor on its place among them.
  bool batch_invariant = false;
};

// Nothing that the library has for a product keeps a row's bits.
class no_invariant_product : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class gemm {
 public:
  virtual ~gemm() = default;
  // out[row][output] = sum over i of input[row][i] * weight[output][i], summed in fp32. input:
  // [rows][inputs] of the weight's type; out: [rows][outputs] of what `kind` says. Scales are not looked at
  // (fp8_gemm.hpp does). Only asks the stream for it, so that it can be captured. Throws what check_cuda()
  // throws.
  virtual void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight,
                        std::int32_t rows, gemm_output kind, void* out) = 0;
  // Chooses, by measuring, how products of these numbers of rows (rising) with matrices of this size are
  // computed from then on, and products of fewer rows that have no choice of their own. At the start, never
  // during a capture: it waits for the device and overwrites `out`. Products that nothing was prepared for
  // are computed as well. Throws no_invariant_product besides.
  virtual void prepare(const cuda_stream& stream, const void* input, const device_matrix& weight,
                       std::span<const std::int32_t> rows, gemm_output kind, void* out) = 0;
  // Adds what prepare() has chosen so far.
  virtual void tell_choices(std::vector<gemm_choice>& /*to*/) const {}
  // What another one of the same name() has chosen on such a device: prepare() tries each of these ways and
  // measures others only where the library refuses it.
  virtual void use_choices(std::span<const gemm_choice> /*choices*/) {}
  // For logs: "cuBLASLt 13.1.0".
  virtual std::string name() const = 0;
};

using gemm_opener = std::function<result<std::unique_ptr<gemm>>(const gemm_request&)>;

}  // namespace troupe
