#include "tests/cuda/executor/cublaslt_fixture.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>

// What the library keeps behind its opaque names.
struct cublasLtContext {};

namespace troupe::test {
namespace {

struct layout {
  cudaDataType type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::int64_t leading;
};
static_assert(sizeof(layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct operation {
  bool transposes_a;
  bool transposes_b;
};
static_assert(sizeof(operation) <= sizeof(cublasLtMatmulDescOpaque_t));

template <class To, class From>
To read_as(const From& from) {
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

struct matrix {
  const void* data;
  layout of;

  float at(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t index = column * static_cast<std::uint64_t>(of.leading) + row;
    switch (of.type) {
      case CUDA_R_32F:
        return static_cast<const float*>(data)[index];
      case CUDA_R_16F:
        return __half2float(static_cast<const __half*>(data)[index]);
      case CUDA_R_8F_E4M3:
        return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[index]);
      default:
        return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    }
  }
};

struct product {
  operation op;
  float alpha;
  float beta;
  matrix a;
  matrix b;
  matrix c;
  matrix d;
  std::uint64_t parts;

  std::uint64_t inner() const { return op.transposes_a ? a.of.rows : a.of.columns; }
  bool fits() const {
    const std::uint64_t rows = op.transposes_a ? a.of.columns : a.of.rows;
    const std::uint64_t columns = op.transposes_b ? b.of.rows : b.of.columns;
    const std::uint64_t inner_of_b = op.transposes_b ? b.of.columns : b.of.rows;
    return rows == d.of.rows && columns == d.of.columns && inner() == inner_of_b && c.of.rows == d.of.rows &&
           c.of.columns == d.of.columns;
  }
  float sum(std::uint64_t row, std::uint64_t column) const {
    float sum = 0.0F;
    for (std::uint64_t part = 0; part < parts; ++part) {
      float of_part = 0.0F;
      for (std::uint64_t i = part * inner() / parts; i < (part + 1) * inner() / parts; ++i)
        of_part += (op.transposes_a ? a.at(i, row) : a.at(row, i)) *
                   (op.transposes_b ? b.at(column, i) : b.at(i, column));
      sum += of_part;
    }
    return sum;
  }
};

void compute_columns(void* data) {
  const auto& of = *static_cast<const product*>(data);
  for (std::uint64_t column = 0; column < of.d.of.columns; ++column) {
    for (std::uint64_t row = 0; row < of.d.of.rows; ++row) {
      float value = of.alpha * of.sum(row, column);
      if (of.beta != 0.0F) value += of.beta * of.c.at(row, column);
      const std::uint64_t index = column * static_cast<std::uint64_t>(of.d.of.leading) + row;
      auto* const out = const_cast<void*>(of.d.data);
      if (of.d.of.type == CUDA_R_32F) static_cast<float*>(out)[index] = value;
      if (of.d.of.type == CUDA_R_16F) static_cast<__half*>(out)[index] = __float2half(value);
      if (of.d.of.type == CUDA_R_16BF) static_cast<__nv_bfloat16*>(out)[index] = __float2bfloat16(value);
    }
  }
}

// Graphs run a call again and again.
std::vector<std::unique_ptr<product>> asked;

// What the library keeps of a preference.
struct preference {
  std::uint64_t workspace_bytes;
  std::uint32_t reductions;  // a mask of cublasLtReductionScheme_t
};
static_assert(sizeof(preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

cublasStatus_t create_preference(cublasLtMatmulPreference_t* made) {
  *made = new cublasLtMatmulPreferenceOpaque_t{};
  const preference usual{0, CUBLASLT_REDUCTION_SCHEME_MASK};
  std::memcpy(*made, &usual, sizeof usual);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t set_preference(cublasLtMatmulPreference_t to, cublasLtMatmulPreferenceAttributes_t attribute,
                              const void* value, std::size_t bytes) {
  auto kept = read_as<preference>(*to);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof kept.workspace_bytes)
    std::memcpy(&kept.workspace_bytes, value, bytes);
  else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof kept.reductions)
    std::memcpy(&kept.reductions, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, &kept, sizeof kept);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t propose(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t by,
                       int most, cublasLtMatmulHeuristicResult_t* results, int* count) {
  const auto wanted = read_as<preference>(*by);
  habits().workspace_bytes = wanted.workspace_bytes;
  *count = 0;
  for (const std::uint64_t number : habits().proposed) {
    if (*count == most) break;
    if (wanted.reductions == CUBLASLT_REDUCTION_SCHEME_NONE && habits().splitting.contains(number)) continue;
    cublasLtMatmulHeuristicResult_t& next = results[(*count)++];
    next = {};
    next.algo.data[0] = number;
    next.state = CUBLAS_STATUS_SUCCESS;
  }
  return *count > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

// On devices of compute capability 8.9 and 9.0: the first matrix transposed and the second one not, sizes at
// multiples of 16 bytes.
bool is_fp8_sound(const product& of) {
  return of.op.transposes_a && !of.op.transposes_b && of.inner() % 16 == 0 && of.d.of.rows % 16 == 0;
}

// The types that are supported together, and what every kernel that is proposed relies on: 256 bytes are the
// preference's alignment where nobody says another one.
bool is_documented(const product& of, const void* workspace) {
  const auto is_of = [](const matrix& m, cudaDataType type) { return m.of.type == type; };
  const auto is_sound = [](const matrix& m) {
    return reinterpret_cast<std::uintptr_t>(m.data) % 256 == 0 &&
           m.of.leading >= static_cast<std::int64_t>(m.of.rows);
  };
  const auto are_of = [&](cudaDataType operands, cudaDataType rounded) {
    return is_of(of.a, operands) && is_of(of.b, operands) &&
           (is_of(of.d, rounded) || is_of(of.d, CUDA_R_32F));
  };
  const bool is_fp8 = are_of(CUDA_R_8F_E4M3, CUDA_R_16BF) && is_fp8_sound(of);
  return of.fits() && (are_of(CUDA_R_16BF, CUDA_R_16BF) || are_of(CUDA_R_16F, CUDA_R_16F) || is_fp8) &&
         of.c.of.type == of.d.of.type && is_sound(of.a) && is_sound(of.b) && is_sound(of.c) &&
         is_sound(of.d) && reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0;
}

cublasStatus_t multiply(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                        cublasLtMatrixLayout_t of_a, const void* b, cublasLtMatrixLayout_t of_b,
                        const void* beta, const void* c, cublasLtMatrixLayout_t of_c, void* d,
                        cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                        std::size_t, cudaStream_t stream) {
  const product of{
      read_as<operation>(*description), *static_cast<const float*>(alpha),
      *static_cast<const float*>(beta), {a, read_as<layout>(*of_a)},
      {b, read_as<layout>(*of_b)},      {c, read_as<layout>(*of_c)},
      {d, read_as<layout>(*of_d)},      habits().parts(algorithm->data[0], read_as<layout>(*of_d).columns)};
  if (!is_documented(of, workspace)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!habits().computes(algorithm->data[0], of.d.of.columns)) return habits().refusal;
  habits().used.push_back(algorithm->data[0]);
  return cudaLaunchHostFunc(stream, compute_columns,
                            asked.emplace_back(std::make_unique<product>(of)).get()) == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

template <class T>
cublasStatus_t create(T** made) {
  *made = new T{};
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroy(T* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

cublaslt_calls documented_calls() {
  cublaslt_calls calls;
  calls.cublasLtCreate = create<cublasLtContext>;
  calls.cublasLtDestroy = destroy<cublasLtContext>;
  calls.cublasLtGetVersion = [] { return std::size_t{130100}; };
  calls.cublasLtGetStatusString = [](cublasStatus_t) { return "a status"; };
  calls.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* made, cublasComputeType_t type,
                                      cudaDataType scale) {
    return type == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? create(made) : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  calls.cublasLtMatmulDescDestroy = destroy<cublasLtMatmulDescOpaque_t>;
  calls.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t to, cublasLtMatmulDescAttributes_t attribute,
                                            const void* value, std::size_t bytes) {
    if (bytes != sizeof(cublasOperation_t)) return CUBLAS_STATUS_INVALID_VALUE;
    auto op = read_as<operation>(*to);
    const bool transposes = *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) op.transposes_a = transposes;
    if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) op.transposes_b = transposes;
    std::memcpy(to, &op, sizeof op);
    return CUBLAS_STATUS_SUCCESS;
  };
  calls.cublasLtMatrixLayoutInit_internal = [](cublasLtMatrixLayout_t to, std::size_t, cudaDataType type,
                                               std::uint64_t rows, std::uint64_t columns,
                                               std::int64_t leading) {
    const layout of{type, rows, columns, leading};
    std::memcpy(to, &of, sizeof of);
    return CUBLAS_STATUS_SUCCESS;
  };
  calls.cublasLtMatmulPreferenceCreate = create_preference;
  calls.cublasLtMatmulPreferenceDestroy = destroy<cublasLtMatmulPreferenceOpaque_t>;
  calls.cublasLtMatmulPreferenceSetAttribute = set_preference;
  calls.cublasLtMatmulAlgoGetHeuristic = propose;
  calls.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                     cublasLtMatrixLayout_t of_d, const cublasLtMatmulAlgo_t* algorithm,
                                     cublasLtMatmulHeuristicResult_t* result) {
    *result = {};
    return habits().computes(algorithm->data[0], read_as<layout>(*of_d).columns)
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  calls.cublasLtMatmul = multiply;
  return calls;
}

}  // namespace

cublaslt_habits& habits() {
  static cublaslt_habits the_habits;
  return the_habits;
}

std::shared_ptr<const cublaslt_library> documented_cublaslt() {
  return std::make_shared<const cublaslt_library>(documented_calls());
}

}  // namespace troupe::test
