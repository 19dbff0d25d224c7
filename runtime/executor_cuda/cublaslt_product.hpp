// One product's operands as cuBLASLt describes them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/executor_cuda/cublaslt_library.hpp"
#include "runtime/executor_cuda/gemm.hpp"

namespace troupe {

// The library stores by columns: it is asked for out^T [outputs x rows] = weight [inputs x outputs]^T *
// input^T [inputs x rows], which are our rows as they lie.
struct cublaslt_product {
  cublaslt_product(const cublaslt_library& library, const __nv_bfloat16* input_rows,
                   const device_matrix& matrix, std::int32_t count, gemm_output kind, void* result)
      : rows(count),
        row_bytes((kind == gemm_output::bf16 ? sizeof(__nv_bfloat16) : sizeof(float)) *
                  static_cast<std::size_t>(matrix.outputs)),
        weight(matrix.data),
        input(input_rows),
        out(result),
        add(kind == gemm_output::add_to_f32 ? 1.0F : 0.0F) {
    const auto describe = [&](cublasLtMatrixLayoutOpaque_t& layout, cudaDataType type, std::int32_t height,
                              std::int32_t width) {
      library.check(library.cublasLtMatrixLayoutInit_internal(&layout, sizeof layout, type,
                                                              static_cast<std::uint64_t>(height),
                                                              static_cast<std::uint64_t>(width), height),
                    "cublasLtMatrixLayoutInit");
    };
    describe(weight_layout, CUDA_R_16BF, matrix.inputs, matrix.outputs);
    describe(input_layout, CUDA_R_16BF, matrix.inputs, rows);
    describe(out_layout, kind == gemm_output::bf16 ? CUDA_R_16BF : CUDA_R_32F, matrix.outputs, rows);
  }

  std::int32_t rows;
  std::size_t row_bytes;  // of out
  const void* weight;
  const void* input;
  void* out;
  float multiply = 1.0F;
  float add;
  // The library asks for pointers to what it could change, and changes nothing.
  mutable cublasLtMatrixLayoutOpaque_t weight_layout{};
  mutable cublasLtMatrixLayoutOpaque_t input_layout{};
  mutable cublasLtMatrixLayoutOpaque_t out_layout{};
};

}  // namespace troupe
