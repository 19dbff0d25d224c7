// One product's operands as cuBLASLt describes them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/executor_cuda/products/cublaslt_library.hpp"
#include "runtime/executor_cuda/products/gemm.hpp"

namespace troupe {

// The library stores by columns: it is asked for out^T [outputs x rows] = weight [inputs x outputs]^T *
// input^T [inputs x rows], which are our rows as they lie.
struct cublaslt_product {
  cublaslt_product(const cublaslt_library& library, const void* input_rows, const device_matrix& matrix,
                   std::int32_t count, gemm_output kind, void* result)
      : rows(count),
        row_bytes((kind == gemm_output::rounded ? sizeof(std::uint16_t) : sizeof(float)) *
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
    const cudaDataType operands = type_of(matrix.type);
    const cudaDataType rounded = matrix.type == matrix_type::f16 ? CUDA_R_16F : CUDA_R_16BF;
    describe(weight_layout, operands, matrix.inputs, matrix.outputs);
    describe(input_layout, operands, matrix.inputs, rows);
    describe(out_layout, kind == gemm_output::rounded ? rounded : CUDA_R_32F, matrix.outputs, rows);
  }

  static cudaDataType type_of(matrix_type type) {
    if (type == matrix_type::e4m3) return CUDA_R_8F_E4M3;
    return type == matrix_type::f16 ? CUDA_R_16F : CUDA_R_16BF;
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
