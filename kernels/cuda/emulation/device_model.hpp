// What device code sees under g++ in place of nvcc's built-ins (kernels/cuda/device.cuh includes this).
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// What it promises holds for a device's registers alone.
#undef __launch_bounds__
#define __launch_bounds__(...)

#include "kernels/cuda/emulation/atomics.hpp"
#include "kernels/cuda/emulation/checked_copies.hpp"
#include "kernels/cuda/emulation/device_math.hpp"
#include "kernels/cuda/emulation/device_variables.hpp"
#include "kernels/cuda/emulation/early_launch.hpp"
#include "kernels/cuda/emulation/launch.hpp"
#include "kernels/cuda/emulation/shared_memory.hpp"
#include "kernels/cuda/emulation/synchronisation.hpp"
