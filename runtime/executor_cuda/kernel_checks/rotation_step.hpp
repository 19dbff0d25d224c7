// A step's rows of queries, keys and values with random weights, and what rotate_and_store() makes of them.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/cuda/elementwise/rotate_and_store.hpp"
#include "runtime/executor_cuda/kernel_checks/comparison.hpp"

namespace troupe::checks {

struct rotation_shape {
  int heads = 3;
  int kv_heads = 1;
  int head_dim = 64;
  int rope_dim = 64;
  kernels::cuda::rope_pairs pairs = kernels::cuda::rope_pairs::halves;
  bool biased = false;
  bool normed = false;
  kernels::cuda::kv_element kv = kernels::cuda::kv_element::bf16;
  int block_size = 16;
  int width() const { return (heads + 2 * kv_heads) * head_dim; }
};

// Of a KV memory of 2 layers and 3 blocks; the kernel runs on layer 1.
struct rotation_step {
  rotation_step(const rotation_shape& of, std::vector<std::int32_t> slots_of_rows, std::mt19937& random);

  struct outcome {
    std::vector<float> qkv;
    std::vector<float> kv;  // as stored, int8 times its scale, in the order of the memory; NaN where not
                            // written
  };
  // With activations of T, to which `qkv` is rounded.
  template <class T>
  outcome run();
  // Adds all that the kernel changed, and how many elements of the KV memory it wrote. Bounds: a rounding of
  // T, of the storage or half a code of int8's largest.
  template <class T>
  void compare(const outcome& result, comparison& with) const;

  // A head of a row after bias, norm and rotation, in double precision.
  std::vector<double> head(int row, int number) const;

  rotation_shape s;
  std::vector<std::int32_t> slots;  // one a row; -1: its key and value are not stored
  std::vector<float> qkv, bias, query_norm, key_norm, angles;
};

}  // namespace troupe::checks
