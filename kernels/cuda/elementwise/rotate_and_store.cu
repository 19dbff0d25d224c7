#include "kernels/cuda/elementwise/rotate_and_store.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int rotate_threads = 128;
constexpr int run = 8;  // neighbouring elements of a lane

template <int lanes>
__device__ void norm_head(float (&x)[run], const float* weight, int first,
                          const rotate_and_store_arguments& a) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < run; i++) squares += x[i] * x[i];
  const float factor = rsqrtf(warp_sum<lanes>(squares) / static_cast<float>(a.kv.head_dim) + a.epsilon);
  if (weight == nullptr) return;
  float w[run];
  load_floats<run>(weight + first, w);
#pragma unroll
  for (int i = 0; i < run; i++) x[i] *= factor * w[i];
}

// Pairs (first + i, first + i + 1), all within the lane.
__device__ __forceinline__ void rotate_interleaved(float (&x)[run], const float* angles, int first) {
  float angle[run];
  load_floats<run>(angles + first, angle);
#pragma unroll
  for (int i = 0; i < run; i += 2) rotate_pair(x[i], x[i + 1], angle[i], angle[i + 1]);
}

// The other element of a pair is another lane's; every lane of the warp must come here.
template <int lanes>
__device__ __forceinline__ void rotate_halves(float (&x)[run], const float* angles, int first, int pairs,
                                              bool rotated) {
  const bool is_first = first < pairs;
  const int partner = rotated ? (is_first ? first + pairs : first - pairs) / run : first / run;
  float other[run];
#pragma unroll
  for (int i = 0; i < run; i++) other[i] = __shfl_sync(~0U, x[i], partner, lanes);
  if (!rotated) return;
  float angle[2 * run];
  load_floats<2 * run>(angles + 2 * (is_first ? first : first - pairs), angle);
#pragma unroll
  for (int i = 0; i < run; i++) {
    const float sine = is_first ? -angle[2 * i + 1] : angle[2 * i + 1];
    x[i] = fmaf(other[i], sine, x[i] * angle[2 * i]);
  }
}

template <class T, int lanes>
__device__ __forceinline__ void store_in_kv(const float (&x)[run], float maximum,
                                            const rotate_and_store_arguments& a, std::int64_t token,
                                            int first) {
  const std::int64_t place = token * a.kv.head_dim + first;
  if (a.kv.element == kv_element::int8) {
    const float factor = maximum < 1e-30F ? 0.0F : 127.0F / maximum;
    packed_elements<std::int8_t, run> codes;
#pragma unroll
    for (int i = 0; i < run; i++) codes.values[i] = static_cast<std::int8_t>(__float2int_rn(x[i] * factor));
    *reinterpret_cast<packed_elements<std::int8_t, run>*>(static_cast<std::int8_t*>(a.kv.data) + place) =
        codes;
    if (first == 0) a.kv.scales[token] = maximum < 1e-30F ? 0.0F : maximum / 127.0F;
  } else if (a.kv.element == kv_element::fp8) {
    packed_elements<__nv_fp8_storage_t, run> codes;
#pragma unroll
    for (int i = 0; i < run; i++) codes.values[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    *reinterpret_cast<packed_elements<__nv_fp8_storage_t, run>*>(static_cast<__nv_fp8_storage_t*>(a.kv.data) +
                                                                 place) = codes;
  } else {
    store_floats<run>(static_cast<T*>(a.kv.data) + place, x);
  }
}

// `lanes` lanes hold a head; lanes beyond the head or the rows only take part in the shuffles.
template <class T, int lanes>
__global__ void __launch_bounds__(rotate_threads) rotate_and_store_kernel(rotate_and_store_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  const int heads = a.num_heads + 2 * a.kv.num_kv_heads;
  const std::int64_t item = (static_cast<std::int64_t>(blockIdx.x) * rotate_threads + threadIdx.x) / lanes;
  const std::int64_t row = item / heads;
  const auto head = static_cast<int>(item % heads);
  const int first = static_cast<int>(threadIdx.x % lanes) * run;
  const bool active = row < a.rows && first < a.kv.head_dim;
  const bool is_query = head < a.num_heads;
  const bool is_value = head >= a.num_heads + a.kv.num_kv_heads;

  T* const place = static_cast<T*>(a.qkv) + row * a.qkv_stride + head * a.kv.head_dim + first;
  float x[run] = {};
  if (active) {
    load_floats<run>(place, x);
    if (a.bias != nullptr) {
      float bias[run];
      load_floats<run>(a.bias + head * a.kv.head_dim + first, bias);
#pragma unroll
      for (int i = 0; i < run; i++) x[i] += bias[i];
    }
  }
  if (a.query_norm != nullptr) {
    norm_head<lanes>(x, !active || is_value ? nullptr : (is_query ? a.query_norm : a.key_norm), first, a);
  }
  const bool rotated = active && !is_value && first < a.rope_dim;
  const float* const angles = a.angles + row * a.rope_dim;
  if (a.pairs == rope_pairs::halves) {
    rotate_halves<lanes>(x, angles, first, a.rope_dim / 2, rotated);
  } else if (rotated) {
    rotate_interleaved(x, angles, first);
  }
  if (!is_query) {
#pragma unroll
    for (int i = 0; i < run; i++) x[i] = kv_value<T>(x[i]);
  }
  float maximum = 0;
  if (a.kv.element == kv_element::int8) {
#pragma unroll
    for (int i = 0; i < run; i++) maximum = fmaxf(maximum, fabsf(x[i]));
    maximum = warp_maximum<lanes>(maximum);
  }
  if (!active) return;
  if (is_query) return store_floats<run>(place, x);
  const std::int32_t slot = a.slots[row];
  if (slot < 0) return;
  const std::int32_t kv_head = (head - a.num_heads) % a.kv.num_kv_heads;
  const std::int64_t token =
      a.kv.token_index(a.layer, slot / a.kv.block_size, is_value ? kv_part::value : kv_part::key, kv_head,
                       slot % a.kv.block_size);
  store_in_kv<T, lanes>(x, maximum, a, token, first);
}

template <class T, int lanes>
void launch_rotate(const rotate_and_store_arguments& a, cudaStream_t stream) {
  const std::int64_t items = static_cast<std::int64_t>(a.rows) * (a.num_heads + 2 * a.kv.num_kv_heads);
  constexpr int items_per_block = rotate_threads / lanes;
  const dim3 grid(static_cast<unsigned>((items + items_per_block - 1) / items_per_block));
  TROUPE_LAUNCH_EARLY((rotate_and_store_kernel<T, lanes>), grid, rotate_threads, 0, stream, a);
}

}  // namespace

void rotate_and_store(const rotate_and_store_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.kv.head_dim <= 64) {
      launch_rotate<type, 8>(arguments, stream);
    } else if (arguments.kv.head_dim <= 128) {
      launch_rotate<type, 16>(arguments, stream);
    } else {
      launch_rotate<type, 32>(arguments, stream);
    }
  });
}

}  // namespace troupe::kernels::cuda
