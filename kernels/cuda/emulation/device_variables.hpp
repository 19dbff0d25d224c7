// CUDA's built-in variables. Plain globals: one emulated thread runs at a time.
#pragma once
#include <vector_types.h>

inline uint3 threadIdx;
inline uint3 blockIdx;
inline dim3 blockDim;
inline dim3 gridDim;
inline constexpr int warpSize = 32;
