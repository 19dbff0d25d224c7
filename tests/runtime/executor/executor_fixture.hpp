// Drives an executor step by step as a scheduler would, with every choice left to the test: which rows run
// together, how prompts are cut, which blocks hold what.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/request.hpp"
#include "tests/support/paths.hpp"

namespace troupe::test {

// Writes `bytes` to a temporary file and loads it. The file is gone when this returns; the mapping stays.
model_ptr load_from_memory(const std::string& bytes);

struct driver_sequence {
  std::vector<token_id> tokens;  // prompt, then what was sampled
  std::int32_t prompt_length = 0;
  std::int32_t computed = 0;  // tokens whose K and V are stored
  std::vector<std::int32_t> blocks;
  std::shared_ptr<const sampling_params> sampling;
  std::vector<token_logprobs> logprobs;  // of the sampled tokens, where asked for
};

// Rows of one sequence in one step. A row whose next token is not known yet is sampled.
struct chunk {
  std::size_t sequence = 0;
  std::int32_t rows = 1;
};

class executor_driver {
 public:
  // Blocks are handed out in the order of `block_order` (all of the pool's, first to last, when empty).
  explicit executor_driver(executor& device, std::vector<std::int32_t> block_order = {});

  std::size_t add(std::vector<token_id> prompt, sampling_params sampling);
  void step(const std::vector<chunk>& chunks);
  // The whole prompt in one step, then decode steps until `count` tokens are sampled.
  void generate(std::size_t sequence, std::int32_t count);
  void release(std::size_t sequence);

  const driver_sequence& operator[](std::size_t sequence) const { return sequences_[sequence]; }
  std::vector<token_id> output(std::size_t sequence) const;
  // From now on every step runs what `change` makes of its batch; sequences and samples keep their order.
  void change_batches(std::function<const device_batch&(const device_batch&)> change) {
    change_ = std::move(change);
  }
  // The batch of the given chunks, without running it.
  device_batch build(const std::vector<chunk>& chunks);

 private:
  void add_rows(device_batch& batch, const chunk& part);
  executor& device_;
  std::vector<std::int32_t> free_blocks_;  // taken from the back
  std::vector<driver_sequence> sequences_;
  std::uint64_t step_ = 0;
  std::function<const device_batch&(const device_batch&)> change_ =
      [](const device_batch& batch) -> const device_batch& { return batch; };
};

sampling_params greedy();

}  // namespace troupe::test
