// Decodes of few sequences whose products an own kernel computes, with the norms and gates beside them.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/executor_cuda/products/kept_choices.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

constexpr float sure_of_the_decode = 0.1F;
constexpr std::int32_t rows_to_measure = 8;  // the emulation's time is what each more would cost

// Counts what is asked of it for fewer rows than prompts have.
class counting_products final : public gemm {
 public:
  explicit counting_products(std::shared_ptr<int> few) : few_(std::move(few)) {}
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    *few_ += rows <= 2 ? 1 : 0;
    right_.multiply(stream, input, weight, rows, kind, out);
  }
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {}
  std::string name() const override { return "counting"; }

 private:
  std::shared_ptr<int> few_;
  test::reference_gemm right_;
};

class few_row_decodes : public test::cuda_kernels {
 protected:
  static model_ptr load(test::tiny_kind kind, gguf::tensor_type type = gguf::tensor_type::bf16) {
    return test::load_from_memory(
        test::tiny_model({.kind = kind, .weights = type, .embedding = type, .num_layers = 2}));
  }
  static std::unique_ptr<executor> start(const model_ptr& model, few_row_products few_rows,
                                         const std::shared_ptr<int>& few, const std::string& dtype = "auto") {
    cuda_executor_options options = test::small_cuda_options();
    options.few_rows = few_rows;
    if (few_rows == few_row_products::measured_once) options.limits.max_rows = rows_to_measure;
    options.dtype = dtype;
    options.open_gemm = [few](const gemm_request&) -> result<std::unique_ptr<gemm>> {
      return std::make_unique<counting_products>(few);
    };
    auto device = test::start_cuda(model, options);
    *few = 0;
    return device;
  }
};

// The emulation reports what is written beyond the logits.
TEST_F(few_row_decodes, are_timed_with_as_many_rows_as_there_is_room_for) {
  cuda_executor_options options = test::small_cuda_options();
  options.few_rows = few_row_products::measured_once;
  options.limits.max_rows = rows_to_measure;
  options.limits.max_sequences = 1;
  const auto device = test::start_cuda(load(test::tiny_kind::llama), options);
  test::executor_driver driver(*device);
  const auto text = driver.add(test::prompt_of(5), test::greedy());
  driver.generate(text, 2);
  EXPECT_EQ(driver[text].tokens.size(), 7U);
}

TEST_F(few_row_decodes, have_the_greedy_tokens_of_the_cpu_without_a_product_of_the_library) {
  for (const test::tiny_kind kind : {test::tiny_kind::llama, test::tiny_kind::qwen2}) {
    SCOPED_TRACE(test::to_string(kind));
    const model_ptr model = load(kind);
    const auto few = std::make_shared<int>(0);
    const auto device = start(model, few_row_products::always, few);
    const auto cpu = test::start_cpu(model);
    std::size_t compared = 0;
    for (const std::int32_t length : {1, 5, 17})
      compared += test::compare_greedy(*device, *cpu, test::prompt_of(length), 4, sure_of_the_decode);
    EXPECT_GE(compared, 4U) << "too little was compared to mean anything";
    EXPECT_EQ(*few, 0) << test::to_string(kind);
  }
}

TEST_F(few_row_decodes, are_what_was_measured_to_be_faster) {
  const auto few = std::make_shared<int>(0);
  const model_ptr model = load(test::tiny_kind::llama);
  const auto device = start(model, few_row_products::measured_once, few);
  test::executor_driver driver(*device);
  const auto one = driver.add(test::prompt_of(5), test::greedy());
  driver.generate(one, 4);
  EXPECT_EQ(driver.output(one).size(), 4U) << "whichever that was";
  const auto never = start(model, few_row_products::never, few);
  test::executor_driver other(*never);
  other.generate(other.add(test::prompt_of(5), test::greedy()), 4);
  EXPECT_GT(*few, 0);
}

// Tells the choices of a library that chooses, and which it was given.
class choosing_products final : public gemm {
 public:
  choosing_products(std::string name, std::shared_ptr<std::vector<std::int32_t>> given)
      : name_(std::move(name)), given_(std::move(given)) {}
  void multiply(const cuda_stream& stream, const void* input, const device_matrix& weight, std::int32_t rows,
                gemm_output kind, void* out) override {
    right_.multiply(stream, input, weight, rows, kind, out);
  }
  void prepare(const cuda_stream&, const void*, const device_matrix&, std::span<const std::int32_t>,
               gemm_output, void*) override {}
  void tell_choices(std::vector<gemm_choice>& to) const override { to.push_back({.rows = 17}); }
  void use_choices(std::span<const gemm_choice> choices) override {
    for (const gemm_choice& each : choices) given_->push_back(each.rows);
  }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  std::shared_ptr<std::vector<std::int32_t>> given_;
  test::reference_gemm right_;
};

TEST_F(few_row_decodes, are_computed_as_another_executor_has_chosen_on_such_a_device) {
  const model_ptr model = load(test::tiny_kind::llama);
  const auto given = std::make_shared<std::vector<std::int32_t>>();
  const auto load_with = [&](few_row_products few_rows, const std::string& library) {
    cuda_executor_options options = test::small_cuda_options();
    options.few_rows = few_rows;
    options.limits.max_rows = rows_to_measure;
    options.open_gemm = [&, library](const gemm_request&) -> result<std::unique_ptr<gemm>> {
      return std::make_unique<choosing_products>(library, given);
    };
    return *load_cuda_executor(model, options);
  };
  const auto own = load_with(few_row_products::always, "13.1");
  ASSERT_TRUE(own->profile());
  const std::string choices = own->choices();
  // What the next one would choose by itself is the library, for all.
  for (const auto& [library, handed, is_taken] :
       {std::tuple("13.1", choices, true), std::tuple("13.2", choices, false),
        std::tuple("13.1", choices.substr(0, choices.size() - 1), false),
        std::tuple("13.1", std::string(), false)}) {
    given->clear();
    const auto next = load_with(few_row_products::never, library);
    next->use_choices(handed);
    ASSERT_TRUE(next->profile());
    const auto told = read_kept_choices(next->choices());
    ASSERT_TRUE(told);
    EXPECT_EQ(told->few_rows.gate_up.of(2).is_own, is_taken) << library;
    EXPECT_EQ(*given, is_taken ? std::vector<std::int32_t>{17} : std::vector<std::int32_t>{}) << library;
  }
}

TEST_F(few_row_decodes, go_with_fp16_too) {
  const auto few = std::make_shared<int>(0);
  const model_ptr model = load(test::tiny_kind::qwen3, gguf::tensor_type::f16);
  const auto device = start(model, few_row_products::always, few, "float16");
  const auto plain = start(model, few_row_products::never, few, "float16");
  *few = 0;
  test::executor_driver there(*device), here(*plain);
  const auto a = there.add(test::prompt_of(9), test::greedy());
  const auto b = here.add(test::prompt_of(9), test::greedy());
  there.generate(a, 4);
  EXPECT_EQ(*few, 0);
  here.generate(b, 4);
  EXPECT_EQ(there.output(a), here.output(b));
}

}  // namespace
}  // namespace troupe
