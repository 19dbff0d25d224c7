// What activations are stored as. Pointers to them are untyped in these headers, which need no CUDA.
#pragma once
#include <cstdint>

struct CUstream_st;
using cudaStream_t = CUstream_st*;  // as CUDA's own headers have it

namespace troupe::kernels::cuda {

enum class element_type : std::int32_t { bf16, f16 };

}  // namespace troupe::kernels::cuda
