#include "runtime/executor_cuda/self_test/self_test.hpp"

#include "kernels/cuda/emulation/faults.hpp"
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
    options.checks = {.shapes = 1,
                      .width = 64,
                      .rows = 2,
                      .context = 40,
                      .vocab = 64,
                      .large_vocab = 96,
                      .batches = {1, 3}};
    options.checks.open_gemm = test::open_reference_gemm;
    options.timings = {.rounds = 1, .launches = 2, .rows = 3, .width = 64, .intermediate = 32};
    options.timings.heads = {.queries = 2, .kv = 1, .dim = 16};
    options.timings.batch = 2;
    options.timings.context = 40;
    options.timings.chunk = 70;
    options.timings.sampled_rows = 2;
    options.timings.vocabularies = {100};
    options.timings.product = 8;
    options.timings.copied_bytes = options.timings.cold_bytes = 1U << 14U;
    options.timings.product_rows = {1, 3};
    options.timings.open_gemm = options.timings.open_thorough_gemm = test::open_reference_gemm;
    options.now = [time = 0.0]() mutable { return time += 10.0; };
    return options;
  }
  static model_ptr tiny() {
    return test::load_from_memory(test::tiny_model(
        {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .seed = 5}));
  }
};

// Every kernel beside what the device can do.
void expect_timings(const self_test_report& report) {
  EXPECT_GT(report.times.limits.copy_bandwidth, 0.0);
  EXPECT_GT(report.times.limits.arithmetic, 0.0);
  EXPECT_EQ(report.times.timings.size(), 2U + 1U + 3U + 1U + 2U * 2U + 4U + 2U * 5U * 2U);
  for (const checks::kernel_timing& each : report.times.timings) {
    EXPECT_GT(each.microseconds, 0.0) << each.name;
    EXPECT_GT(each.bytes, 0.0) << each.name;
    EXPECT_GT(each.bandwidth_share, 0.0) << each.name;
    const bool multiplies =
        each.name.find("product") != std::string::npos || each.name.find("prompt") != std::string::npos;
    EXPECT_EQ(each.arithmetic_share > 0, multiplies) << each.name;
    EXPECT_EQ(each.best_microseconds > 0, each.name.starts_with("product")) << each.name;
    EXPECT_EQ(each.invariant_microseconds > 0, each.name.starts_with("product")) << each.name;
  }
}

// Sums that are rounded otherwise, as where another kernel was measured to be the fastest: every third value
// is the next greater one.
class unlike_gemm final : public gemm {
 public:
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    right_.multiply(stream, input, weight, rows, kind, out);
    if (kind != gemm_output::rounded) return;
    const auto& kept = written_.emplace_back(std::make_unique<values>(
        values{static_cast<std::uint16_t*>(out), static_cast<std::size_t>(rows * weight.outputs)}));
    cudaLaunchHostFunc(stream.get(), change, kept.get());
  }
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {}
  std::string name() const override { return "unlike"; }

 private:
  struct values {
    std::uint16_t* first;
    std::size_t count;
  };
  static void change(void* data) {
    const auto& of = *static_cast<const values*>(data);
    for (std::size_t i = 0; i < of.count; i += 3) of.first[i] += 1;
  }
  test::reference_gemm right_;
  std::vector<std::unique_ptr<values>> written_;
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
  EXPECT_EQ(report->decodes[1].context, 32);
  for (const step_time& each :
       {report->decodes[1].as_graph, report->decodes[1].eagerly, report->decodes[1].batch_invariant}) {
    EXPECT_EQ(each.whole, 10.0);
    EXPECT_GT(each.device, 0.0);
    EXPECT_GE(each.gap, 0.0);
  }
  EXPECT_EQ(report->prompt_time, 10.0);
  EXPECT_EQ(report->batch_invariant_prompt_time, 10.0);
  expect_timings(*report);
  self_test_report wrong = *report;
  wrong.kernels[3].passed = false;
  wrong.greedy_compared = 0;
  EXPECT_FALSE(wrong.passed());
  ASSERT_EQ(wrong.failures().size(), 2U);
  EXPECT_EQ(wrong.failures()[0], "the kernel " + wrong.kernels[3].name + " is wrong");
  EXPECT_NE(wrong.failures()[1].find("sure of no token"), std::string::npos);
}

// Tokens that are nearly as good as each other are chosen by such roundings.
TEST_F(self_tests, pass_where_graphs_and_eager_steps_round_otherwise) {
  self_test_options options = small();
  options.device.open_gemm =
      [opened = std::make_shared<int>(0)](const gemm_request& request) -> result<std::unique_ptr<gemm>> {
    if (++*opened % 2 == 0) return std::make_unique<unlike_gemm>();
    return test::open_reference_gemm(request);
  };
  const auto report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->graphs_agree, true);
  EXPECT_EQ(report->greedy_different, 0) << "of " << report->greedy_compared;
  EXPECT_LT(report->mean_difference, 0.1);
}

TEST_F(self_tests, fail_where_a_row_has_other_bits_in_company) {
  self_test_options options = small();
  options.device.open_gemm = test::open_gemm_in_parts;
  auto report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->passed()) << "the products that were asked to keep them do";
  options.device.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
    return std::make_unique<test::reference_gemm>(true);
  };
  report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->keeps_bits, false);
  EXPECT_FALSE(report->passed());
}

// The products with codes are there beside those in bf16, and a decode reads less.
TEST_F(self_tests, time_and_try_weights_that_stay_quantised) {
  const model_ptr quantized = test::load_from_memory(test::tiny_model(
      {.weights = gguf::tensor_type::q4_1, .embedding = gguf::tensor_type::q8_0, .seed = 5}));
  self_test_options options = small();
  options.device.weights = weight_form::in_file;
  const auto as_in_file = run_self_test(quantized, options);
  ASSERT_TRUE(as_in_file.has_value()) << as_in_file.error().message;
  EXPECT_TRUE(as_in_file->passed()) << as_in_file->mean_difference;
  EXPECT_LT(as_in_file->weight_bytes, device_weight_bytes(*quantized) / 2);
  std::vector<std::string> timed;
  for (const checks::kernel_timing& each : as_in_file->times.timings)
    if (each.name.starts_with("quantised product")) timed.push_back(each.shape);
  EXPECT_EQ(timed.size(), 5U * 2U);
  EXPECT_EQ(as_in_file->times.timings.size(), 2U + 1U + 3U + 1U + 2U * 2U + 4U + 2U * 5U * 2U + timed.size());
}

TEST_F(self_tests, time_and_try_weights_in_fp8) {
  self_test_options options = small();
  options.device.weights = weight_form::fp8;
  const auto report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->passed()) << report->mean_difference << " " << report->greedy_different << " of "
                                << report->greedy_compared;
  EXPECT_LT(report->weight_bytes, device_weight_bytes(*tiny()));
  EXPECT_EQ(std::ranges::count_if(report->times.timings,
                                  [](const auto& each) { return each.name.starts_with("fp8 product"); }),
            4 * 2);
}

TEST_F(self_tests, fail_where_products_are_wrong) {
  self_test_options options = small();
  options.device.open_gemm = [](const gemm_request&) -> result<std::unique_ptr<gemm>> {
    return std::make_unique<test::wrong_gemm>([](device_matrix& weight, gemm_output kind) {
      if (kind != gemm_output::rounded) return;
      weight.data = static_cast<const __nv_bfloat16*>(weight.data) + weight.inputs;
      weight.outputs -= 1;
    });
  };
  const auto report = run_self_test(tiny(), options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_FALSE(report->passed()) << report->mean_difference;
  EXPECT_EQ(report->graphs_agree, true) << "wrong, but the same";
}

bool fails_for(const self_test_report& report, const std::string& words) {
  return std::ranges::any_of(report.failures(),
                             [&](const std::string& each) { return each.find(words) != std::string::npos; });
}

// As cuBLASLt where no kernel of it keeps a row's bits: that shows only when it is to choose one.
class no_invariant_gemm final : public gemm {
 public:
  void multiply(const cuda_stream&, const void*, const device_matrix&, std::int32_t, gemm_output,
                void*) override {}
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {
    throw no_invariant_product("no such kernel");
  }
  std::string name() const override { return "none"; }
};

TEST_F(self_tests, go_on_where_no_product_keeps_a_rows_bits_and_name_what_was_not_timed) {
  for (const bool opens : {false, true}) {
    self_test_options options = small();
    options.device.open_gemm = [opens](const gemm_request& request) -> result<std::unique_ptr<gemm>> {
      if (!request.batch_invariant) return test::open_reference_gemm(request);
      if (opens) return std::make_unique<no_invariant_gemm>();
      return fail(error_code::unsupported, "no such kernel");
    };
    options.timings.open_gemm = options.device.open_gemm;
    const auto report = run_self_test(tiny(), options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_TRUE(report->kernels_passed());
    EXPECT_TRUE(fails_for(*report, opens ? "batch-invariant product, downs could not be timed: no such kernel"
                                         : "batch-invariant products could not be timed: no such kernel"));
    EXPECT_TRUE(fails_for(*report, "the model on the device, batch-invariant: "));
    EXPECT_EQ(report->failures().size(), opens ? 5U + 1U : 1U + 1U);
    ASSERT_EQ(report->times.timings.size(), 2U + 1U + 3U + 1U + 2U * 2U + 4U + 2U * 5U * 2U);
    EXPECT_EQ(report->times.timings.back().invariant_microseconds, 0.0);
    EXPECT_EQ(report->graphs_agree, true);
    EXPECT_EQ(report->keeps_bits, std::nullopt);
    EXPECT_EQ(report->compared, 23);
  }
}

class lost_devices : public self_tests {
 protected:
  // The device is lost once the line that has these words was told.
  static self_test_options losing_after(const std::string& words) {
    self_test_options options = small();
    options.progress = [words](const std::string& line) {
      if (line.find(words) == std::string::npos) return;
      kernels::cuda::emulation::faults().error = cudaErrorIllegalAddress;
      kernels::cuda::emulation::faults().failing_call = 1;
    };
    return options;
  }
  void TearDown() override {
    kernels::cuda::emulation::faults() = {};
    cudaDeviceReset();
    self_tests::TearDown();
  }
};

TEST_F(lost_devices, leave_a_report_of_what_was_done_before) {
  const auto report = run_self_test(tiny(), losing_after("silu_multiply, 3 x 32"));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(report->kernels_passed());
  ASSERT_EQ(report->times.timings.size(), 2U);
  EXPECT_EQ(report->times.timings.back().name, "silu_multiply");
  ASSERT_EQ(report->failures().size(), 1U);
  EXPECT_TRUE(report->failures().front().starts_with("the device was lost: "));
}

TEST_F(lost_devices, leave_the_checks_that_were_done_and_the_one_that_met_it) {
  const auto report = run_self_test(tiny(), losing_after("silu_multiply, bf16"));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_GT(report->kernels.size(), 1U);
  EXPECT_TRUE(report->kernels.front().passed);
  EXPECT_FALSE(report->kernels.back().passed);
  EXPECT_FALSE(report->kernels.back().failure.empty());
  EXPECT_EQ(report->failures().size(), 2U) << "that check and the device";
  EXPECT_TRUE(report->times.timings.empty());
}

TEST_F(lost_devices, leave_what_the_model_did_before) {
  const auto report = run_self_test(tiny(), losing_after("batch-invariant, its times"));
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->graphs_agree, true);
  EXPECT_EQ(report->keeps_bits, std::nullopt);
  EXPECT_GT(report->decodes.back().bandwidth_share, 0.0);
  ASSERT_EQ(report->failures().size(), 1U);
  EXPECT_TRUE(report->failures().front().starts_with("the device was lost: "));
}

TEST_F(self_tests, refuse_a_prompt_beyond_the_models_context_before_anything_runs) {
  self_test_options options = small();
  options.prompt = 512 - 14;
  options.progress = [](const std::string& line) { ADD_FAILURE() << line; };
  const auto report = run_self_test(tiny(), options);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, error_code::invalid_argument);
  EXPECT_EQ(report.error().message.substr(0, 18), "--prompt is 498, b");
}

}  // namespace
}  // namespace troupe
