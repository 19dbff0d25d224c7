// A graph that was captured of a short context, launched for others.
#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::executor_driver;

class cuda_graph_contexts : public test::cuda_kernels {
 protected:
  // Of contexts of 500, 3 and 270 tokens, decoded side by side: several stretches, one, and two.
  static std::vector<std::vector<token_id>> tokens_of(executor& device) {
    executor_driver driver(device);
    std::vector<std::size_t> sequences;
    for (const std::int32_t length : {500, 3, 270}) {
      const auto sequence = driver.add(test::prompt_of(length), test::greedy());
      for (std::int32_t done = 0; done < length; done += 50)
        driver.step({{sequence, std::min(50, length - done)}});
      sequences.push_back(sequence);
    }
    for (int step = 0; step < 4; ++step)
      driver.step({{sequences[0], 1}, {sequences[1], 1}, {sequences[2], 1}});
    std::vector<std::vector<token_id>> tokens;
    for (const auto sequence : sequences) tokens.push_back(driver[sequence].tokens);
    return tokens;
  }
};

TEST_F(cuda_graph_contexts, have_the_tokens_of_eager_steps_whatever_their_lengths) {
  const model_ptr model = test::load_from_memory(
      test::tiny_model({.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16}));
  cuda_executor_options eager = test::small_cuda_options();
  eager.graph_rows.clear();
  const auto expected = tokens_of(*test::start_cuda(model, eager));
  const auto device = test::start_cuda(model, test::small_cuda_options());
  test::capture_graphs(*device);
  EXPECT_EQ(tokens_of(*device), expected);
  EXPECT_EQ(device->figures()->graphs, 3) << "none for the longer contexts";
  EXPECT_EQ(device->figures()->eager_decodes, 0U);
}

}  // namespace
}  // namespace troupe
