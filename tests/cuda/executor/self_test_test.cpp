#include "runtime/executor_cuda/self_test.hpp"

#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

class self_tests : public test::cuda_kernels {
 protected:
  static self_test_options small() {
    self_test_options options;
    options.device.limits = {
        .max_rows = 32, .max_sequences = 2, .block_size = 16, .kv_cache_bytes = 1U << 20U};
    options.device.memory_utilization = 0;
    options.device.graph_rows = {1, 2};
    options.device.open_gemm = test::open_reference_gemm;
    options.prompt = 24;
    options.context = 32;
    options.rounds = 1;
    options.copied_bytes = 1U << 16U;
    options.now = [time = 0.0]() mutable { return time += 10.0; };
    return options;
  }
  static model_ptr tiny() {
    return test::load_from_memory(test::tiny_model(
        {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .seed = 5}));
  }
};

// Half of what it multiplies is lost.
class wrong_gemm final : public gemm {
 public:
  void multiply(const cuda_stream& stream, const __nv_bfloat16* input, const device_matrix& weight,
                std::int32_t rows, gemm_output kind, void* out) override {
    device_matrix first = weight;
    if (kind == gemm_output::bf16) first.data += weight.inputs;
    if (kind == gemm_output::bf16) first.outputs -= 1;
    right_.multiply(stream, input, first, rows, kind, out);
  }
  void prepare(const cuda_stream&, const __nv_bfloat16*, const device_matrix&, std::int32_t, gemm_output,
               void*) override {}
  std::string name() const override { return "wrong"; }

 private:
  test::reference_gemm right_;
};

TEST_F(self_tests, pass_where_the_device_computes_what_the_cpu_does) {
  const auto report = run_self_test(tiny(), small());
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->passed()) << report->mean_difference << " " << report->greedy_different << " of "
                                << report->greedy_compared;
  EXPECT_EQ(report->compared, 23);
  EXPECT_EQ(report->products, "reference");
  ASSERT_EQ(report->decodes.size(), 2U);
  EXPECT_EQ(report->decodes[1].sequences, 2);
  EXPECT_EQ(report->decodes[1].as_graph, 10.0);
  EXPECT_EQ(report->decodes[1].eagerly, 10.0);
  EXPECT_EQ(report->prompt_time, 10.0);
}

TEST_F(self_tests, fail_where_products_are_wrong) {
  self_test_options options = small();
  options.device.open_gemm = [](std::int32_t) -> result<std::unique_ptr<gemm>> {
    return std::make_unique<wrong_gemm>();
  };
  const auto report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->passed()) << report->mean_difference;
  EXPECT_TRUE(report->graphs_agree) << "wrong, but the same";
}

}  // namespace
}  // namespace troupe
