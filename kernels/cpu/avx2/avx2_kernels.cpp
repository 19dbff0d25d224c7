#include "kernels/cpu/avx2/avx2_kernels.hpp"

#include "kernels/cpu/avx2/matmul.hpp"
#include "kernels/cpu/avx2/vector.hpp"
#include "kernels/cpu/avx2/wide_dot.hpp"
#include "kernels/cpu/simd/attention.hpp"
#include "kernels/cpu/simd/attention_int8.hpp"
#include "kernels/cpu/simd/elementwise.hpp"

namespace troupe::kernels {

const kernel_table avx2_kernels{
    .name = "avx2",
    .queries_at_once = vector16::queries_at_once,
    .matmul = matmul,
    .quantize_row = quantize_row<vector16>,
    .rms_norm = rms_norm<vector16>,
    .silu_multiply = silu_multiply<vector16>,
    .rotate = rotate<vector16>,
    .f16_kv = {store_kv<vector16>, attend<vector16>},
    .int8_kv = {store_kv_int8<vector16>, attend_int8<vector16, wide_dot>},
    .merge = merge<vector16>,
    .finish = finish<vector16>,
    .arg_max = arg_max<vector16>,
};

}  // namespace troupe::kernels
