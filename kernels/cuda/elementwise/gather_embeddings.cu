#include "kernels/cuda/elementwise/gather_embeddings.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int gather_threads = 128;

template <class T, int count>
__global__ void __launch_bounds__(gather_threads) gather_embeddings_kernel(gather_embeddings_arguments a) {
  let_later_kernels_begin();
  const int column = static_cast<int>(blockIdx.y * gather_threads + threadIdx.x) * count;
  if (column >= a.width) return;
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int32_t source = a.sources == nullptr ? -1 : a.sources[row];
  const std::int32_t token = source < 0 ? a.tokens[row] : a.sampled[source];
  if (source >= 0 && column == 0) a.tokens[row] = token;  // which no other thread reads
  float values[count];
  load_floats<count>(static_cast<const T*>(a.table) + static_cast<std::int64_t>(token) * a.width + column,
                     values);
  store_floats<count>(a.residual + row * a.width + column, values);
}

template <class T, int count>
void launch_gather(const gather_embeddings_arguments& a, cudaStream_t stream) {
  constexpr int columns = gather_threads * count;
  const dim3 grid(static_cast<unsigned>(a.rows), static_cast<unsigned>((a.width + columns - 1) / columns));
  // In the ordinary way: so what was launched before a step has ended, and its kernels may read keys, values
  // and the step's own numbers before they wait for each other.
  TROUPE_LAUNCH((gather_embeddings_kernel<T, count>), grid, gather_threads, 0, stream, a);
}

}  // namespace

void gather_embeddings(const gather_embeddings_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.width % 8 == 0) {
      launch_gather<type, 8>(arguments, stream);
    } else {
      launch_gather<type, 1>(arguments, stream);
    }
  });
}

}  // namespace troupe::kernels::cuda
