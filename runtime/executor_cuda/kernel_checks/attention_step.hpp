// A step's rows over a paged KV memory with random contents, its attention by the kernels and by a plain
// loop.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "runtime/executor_cuda/kernel_checks/comparison.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"

namespace troupe::checks {

// A sequence's part of a step: its last `rows` tokens of `context`. Steps made with the same seed have the
// same queries and KV for sequences of the same `number`, whatever else they hold.
struct attention_sequence {
  std::int32_t rows = 1;
  std::int32_t context = 1;
  unsigned number = 0;
};

struct attention_shape {
  kernels::cuda::element_type type = kernels::cuda::element_type::bf16;
  kernels::cuda::kv_element stored = kernels::cuda::kv_element::bf16;
  std::int32_t head_dim = 64;
  std::int32_t kv_heads = 2;
  std::int32_t group = 2;
  std::int32_t block_size = 16;
};
std::string to_string(const attention_shape& shape);

// Which kernel computes the step: what the plan chooses, or one of them all of it.
enum class attention_way { planned, split, chunks };

class attention_step {
 public:
  attention_step(const attention_shape& shape, std::vector<attention_sequence> sequences, unsigned seed);

  // [rows][heads][head_dim]; `blocks` as attend_split has it, 0: one for each item. Throws std::logic_error
  // where rows beyond the step's are not left alone or the work space is not left as it was found.
  std::vector<float> run(attention_way way, std::int32_t blocks = 0) const;
  const attention_shape& shape() const { return shape_; }
  // Of one sequence of the step alone.
  std::vector<float> rows_of(const std::vector<float>& all, std::size_t sequence) const;
  // Adds outputs beside a plain loop in double precision; bounds are the roundings that the kernels make: one
  // of each weight and one of each output, and fp32 sums.
  void compare(const std::vector<float>& outputs, comparison& with) const;

 private:
  struct token {
    std::vector<double> key;
    std::vector<double> value;
  };

  template <class T>
  std::vector<float> run_typed(attention_way way, std::int32_t blocks) const;
  void fill_memory(unsigned seed);
  std::vector<double> store(std::int32_t block, kernels::cuda::kv_part part, std::int32_t head,
                            std::int32_t place, const std::vector<float>& values);

  attention_shape shape_;
  std::vector<attention_sequence> sequences_;
  kernels::cuda::paged_kv kv_;
  std::vector<unsigned char> data_;
  std::vector<float> scales_;
  std::vector<std::int32_t> tables_;
  std::vector<std::int32_t> starts_;
  std::vector<std::int32_t> positions_;
  std::vector<float> queries_;                // [rows][heads][head_dim], as rounded to the type
  std::vector<std::vector<token>> contexts_;  // [sequences * kv_heads][context]
  std::int32_t max_blocks_ = 0;
};

}  // namespace troupe::checks
