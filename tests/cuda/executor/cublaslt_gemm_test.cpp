#include "runtime/executor_cuda/products/cublaslt_gemm.hpp"

#include <cuda_fp8.h>

#include <set>

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor_cuda/device/cuda_graph.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/cublaslt_fixture.hpp"

namespace troupe {
namespace {

using rows_used = std::vector<std::uint64_t>;

class cublaslt_products : public test::cuda_kernels {
 protected:
  static constexpr std::int32_t inputs = 40;
  static constexpr std::int32_t outputs = 24;
  static constexpr std::int32_t most_rows = 17;

  void SetUp() override { test::habits() = {}; }
  void TearDown() override {
    test::habits() = {};
    cuda_kernels::TearDown();
  }

  static std::vector<float> small(std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    return test::floats(test::rounded<__nv_bfloat16>(test::normal_floats(count, 1.0F, random)));
  }
  void multiply(gemm& by, std::int32_t rows) {
    by.multiply(stream_, input_.data(), matrix_, rows, gemm_output::f32, out_.data());
  }
  void prepare(gemm& by, const std::vector<std::int32_t>& rows) {
    by.prepare(stream_, input_.data(), matrix_, rows, gemm_output::f32, out_.data());
    test::habits().used.clear();
  }

  cuda_stream stream_;
  std::vector<float> weights_ = small(std::size_t{outputs} * inputs, 1);
  std::vector<float> rows_ = small(std::size_t{most_rows} * inputs, 2);
  test::device_array<__nv_bfloat16> weight_{test::rounded<__nv_bfloat16>(weights_)};
  test::device_array<__nv_bfloat16> input_{test::rounded<__nv_bfloat16>(rows_)};
  test::device_array<float> out_{std::vector<float>(std::size_t{most_rows} * outputs, 3.0F)};
  device_matrix matrix_{.data = weight_.data(), .outputs = outputs, .inputs = inputs};
};

TEST_F(cublaslt_products, are_rows_times_weights_whatever_becomes_of_them) {
  cublaslt_gemm by(test::documented_cublaslt(), {8, false});
  EXPECT_EQ(by.name(), "cuBLASLt 13.1.0");
  const test::device_array<__nv_bfloat16> narrow(std::size_t{most_rows} * outputs);
  for (const std::int32_t rows : {1, 3, 17}) {
    const test::device_array<float> sums(std::vector<float>(std::size_t{most_rows} * outputs, 3.0F));
    by.multiply(stream_, input_.data(), matrix_, rows, gemm_output::f32, out_.data());
    by.multiply(stream_, input_.data(), matrix_, rows, gemm_output::add_to_f32, sums.data());
    by.multiply(stream_, input_.data(), matrix_, rows, gemm_output::rounded, narrow.data());
    stream_.synchronize();
    const std::vector<float> plain = out_.read();
    const std::vector<float> added = sums.read();
    const std::vector<float> rounded = test::floats(narrow.read());
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * outputs; ++i) {
      double expected = 0;
      for (std::size_t k = 0; k < inputs; ++k)
        expected += double{rows_[i / outputs * inputs + k]} * double{weights_[i % outputs * inputs + k]};
      ASSERT_NEAR(plain[i], expected, 1e-4) << rows << " rows, " << i;
      ASSERT_NEAR(added[i], expected + 3.0, 1e-4) << rows << " rows, " << i;
      ASSERT_NEAR(rounded[i], expected, 1e-4 + std::abs(expected) / 128) << rows << " rows, " << i;
    }
    EXPECT_EQ(added.back(), rows == most_rows ? added.back() : 3.0F) << "rows that are not there";
  }
}

template <class T>
std::vector<T> of_ones(std::size_t count) {
  return std::vector<T>(count, T(1.0F));
}

// Each with a choice of its own: what is measured for one type is not another's.
TEST_F(cublaslt_products, are_of_the_types_that_matrices_have) {
  constexpr std::int32_t width = 32;
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  const test::device_array<__half> halves(of_ones<__half>(width * width));
  const test::device_array<__nv_fp8_e4m3> codes(of_ones<__nv_fp8_e4m3>(width * width));
  const test::device_array<__half> narrow(std::size_t{width});
  const auto multiply_by = [&](const void* data, matrix_type type, std::uint64_t way, gemm_output kind,
                               void* out) {
    test::habits().proposed = {way};
    test::habits().used.clear();
    by.multiply(stream_, data, {.data = data, .outputs = width, .inputs = width, .type = type}, 1, kind, out);
    stream_.synchronize();
    EXPECT_EQ(test::habits().used, (rows_used{way}));
  };
  multiply_by(halves.data(), matrix_type::f16, 5, gemm_output::f32, out_.data());
  EXPECT_EQ(out_.read()[width - 1], 32.0F);
  multiply_by(halves.data(), matrix_type::f16, 6, gemm_output::rounded, narrow.data());
  EXPECT_EQ(test::floats(narrow.read())[width - 1], 32.0F);
  multiply_by(codes.data(), matrix_type::e4m3, 7, gemm_output::f32, out_.data());
  EXPECT_EQ(out_.read()[0], 32.0F);
  EXPECT_THROW(by.multiply(stream_, codes.data(),
                           {.data = codes.data(), .outputs = 24, .inputs = 24, .type = matrix_type::e4m3}, 1,
                           gemm_output::f32, out_.data()),
               std::runtime_error)
      << "sizes that are no multiples of 16";
}

TEST_F(cublaslt_products, can_be_captured) {
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  const cuda_graph graph = cuda_graph::capture(stream_, [&] {
    by.multiply(stream_, input_.data(), matrix_, 2, gemm_output::add_to_f32, out_.data());
  });
  const float before = out_.read()[0];
  graph.launch(stream_);
  graph.launch(stream_);
  stream_.synchronize();
  const float twice = out_.read()[0] - before;
  multiply(by, 2);
  stream_.synchronize();
  EXPECT_FLOAT_EQ(twice, 2 * out_.read()[0]);
}

TEST_F(cublaslt_products, are_computed_as_was_measured_for_as_many_rows_or_the_next_more) {
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  test::habits().proposed = {5};
  prepare(by, {4});
  test::habits().proposed = {6};
  prepare(by, {8});
  test::habits().proposed = {7};
  for (const std::int32_t rows : {1, 4, 5, 8, 9}) multiply(by, rows);
  EXPECT_EQ(test::habits().used, (rows_used{5, 5, 6, 6, 7})) << "9 rows were not measured";
  // What was measured for more rows need not do for fewer.
  test::habits().computes = [](std::uint64_t number, std::uint64_t rows) { return number != 6 || rows == 8; };
  test::habits().used.clear();
  for (const std::int32_t rows : {6, 8}) multiply(by, rows);
  EXPECT_EQ(test::habits().used, (rows_used{7, 6}));
}

TEST_F(cublaslt_products, are_computed_as_another_has_chosen_and_measured_anew_where_the_library_refuses) {
  cublaslt_gemm first(test::documented_cublaslt(), {most_rows, false});
  for (const auto& [way, rows] : {std::pair(5U, 4), std::pair(6U, 8)}) {
    test::habits().proposed = {way};
    prepare(first, {rows});
  }
  std::vector<gemm_choice> chosen;
  first.tell_choices(chosen);
  ASSERT_EQ(chosen.size(), 2U);

  const auto used_by_the_next = [&] {
    cublaslt_gemm next(test::documented_cublaslt(), {most_rows, false});
    next.use_choices(chosen);
    test::habits().proposed = {7, 8, 9};
    test::habits().used.clear();
    next.prepare(stream_, input_.data(), matrix_, std::vector<std::int32_t>{4, 8}, gemm_output::f32,
                 out_.data());
    const std::set<std::uint64_t> tried(test::habits().used.begin(), test::habits().used.end());
    test::habits().used.clear();
    for (const std::int32_t rows : {2, 4, 8}) multiply(next, rows);
    std::vector<gemm_choice> told;
    next.tell_choices(told);
    EXPECT_EQ(told.size(), 2U);
    return std::pair(tried, test::habits().used);
  };
  EXPECT_EQ(used_by_the_next(), std::pair(std::set<std::uint64_t>({5, 6}), rows_used({5, 5, 6})));
  test::habits().computes = [](std::uint64_t number, std::uint64_t) { return number != 6 && number != 7; };
  const auto [tried, used] = used_by_the_next();
  EXPECT_EQ(tried, std::set<std::uint64_t>({5, 8, 9}));
  EXPECT_EQ(rows_used(used.begin(), used.begin() + 2), rows_used({5, 5}));
  EXPECT_GE(used.back(), 8U);
}

TEST_F(cublaslt_products, pass_over_what_the_library_proposes_and_then_refuses) {
  for (const cublasStatus_t refusal : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_ALLOC_FAILED}) {
    cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
    test::habits().proposed = {1, 2, 3};
    test::habits().refusal = refusal;
    test::habits().computes = [](std::uint64_t number, std::uint64_t) { return number == 2; };
    prepare(by, {4});
    test::habits().used.clear();
    multiply(by, 3);
    EXPECT_EQ(test::habits().used, (rows_used{2})) << refusal;
  }
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  test::habits().computes = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_THROW(prepare(by, {8}), std::runtime_error);
}

TEST_F(cublaslt_products, say_where_the_library_has_no_room_on_the_device) {
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  test::habits().refusal = CUBLAS_STATUS_ALLOC_FAILED;
  test::habits().computes = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_THROW(multiply(by, 3), out_of_device_memory);
}

// As where a kernel of the library's finds no memory when it is to be loaded.
TEST_F(cublaslt_products, that_fail_on_a_device_without_memory_lack_it) {
  namespace emulation = kernels::cuda::emulation;
  const auto library = test::documented_cublaslt();
  const auto before = emulation::faults();
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_INITIALIZED}) {
    EXPECT_THROW(library->check(status, "a product"), std::runtime_error);
    emulation::faults().device_bytes = 1;
    EXPECT_THROW(library->check(status, "a product"), out_of_device_memory);
    EXPECT_THROW(library->check(CUBLAS_STATUS_NOT_SUPPORTED, "a product"), std::runtime_error);
    emulation::faults() = before;
  }
}

// The capture is over then, and says why.
TEST_F(cublaslt_products, that_are_captured_say_what_the_library_lacks) {
  const auto library = test::documented_cublaslt();
  const cuda_stream stream;
  const auto capture = [&](cublasStatus_t status) {
    cuda_graph::capture(stream, [&] { library->check(status, "a product"); });
  };
  EXPECT_THROW(capture(CUBLAS_STATUS_ALLOC_FAILED), out_of_device_memory);
  try {
    capture(CUBLAS_STATUS_EXECUTION_FAILED);
    FAIL();
  } catch (const std::exception& why) {
    EXPECT_NE(std::string(why.what()).find("a product: "), std::string::npos) << why.what();
  }
  EXPECT_NO_THROW(cuda_graph::capture(stream, [] {}));
}

TEST_F(cublaslt_products, that_have_no_kernel_are_an_error_with_a_name) {
  cublaslt_gemm by(test::documented_cublaslt(), {most_rows, false});
  matrix_.data = weight_.data() + 1;  // no kernel that is proposed reads from there
  EXPECT_THROW(multiply(by, 1), std::runtime_error);
  matrix_.data = weight_.data();
  test::habits().proposed.clear();
  EXPECT_THROW(multiply(by, 2), std::runtime_error);
}

class batch_invariant_products : public cublaslt_products {
 protected:
  std::uint64_t only_used(const std::vector<std::int32_t>& counts) {
    test::habits().used.clear();
    for (const std::int32_t rows : counts) multiply(by_, rows);
    const std::set<std::uint64_t> used(test::habits().used.begin(), test::habits().used.end());
    EXPECT_EQ(used.size(), 1U);
    return *used.begin();
  }
  cublaslt_gemm by_{test::documented_cublaslt(), {most_rows, true}};
};

TEST_F(batch_invariant_products, are_computed_in_one_way_whatever_their_rows) {
  test::habits().proposed = {3, 4, 5, 6};
  test::habits().splitting = {3};
  test::habits().computes = [](std::uint64_t number, std::uint64_t rows) { return number != 4 || rows != 7; };
  // Split by their rows, as nobody says: 5 for all numbers, 6 for none.
  test::habits().parts = [](std::uint64_t number, std::uint64_t rows) { return number == 5 ? rows : 1; };
  prepare(by_, {1, 2, 4, 8, 16});
  EXPECT_EQ(only_used({1, 2, 3, 7, 8, 9, 16, 17}), 6U) << "4 does not compute 7 rows";
  EXPECT_EQ(test::habits().workspace_bytes, 0U) << "through which blocks could share sums";
}

TEST_F(batch_invariant_products, are_computed_in_the_way_that_another_has_chosen) {
  test::habits().proposed = {4};
  prepare(by_, {1, 2, 4, 8, 16});
  std::vector<gemm_choice> chosen;
  by_.tell_choices(chosen);
  ASSERT_EQ(chosen.size(), 1U);
  cublaslt_gemm next(test::documented_cublaslt(), {most_rows, true});
  next.use_choices(chosen);
  test::habits().proposed = {5};
  prepare(next, {1, 2, 4, 8, 16});
  multiply(next, 3);
  EXPECT_EQ(test::habits().used, (rows_used{4}));
  test::habits().computes = [](std::uint64_t number, std::uint64_t rows) { return number != 4 || rows < 8; };
  cublaslt_gemm other(test::documented_cublaslt(), {most_rows, true});
  other.use_choices(chosen);
  prepare(other, {1, 2, 4, 8, 16});
  multiply(other, 3);
  EXPECT_EQ(test::habits().used, (rows_used{5})) << "that way does not compute 8 rows any more";
}

TEST_F(batch_invariant_products, are_looked_at_where_tiles_are_not_full_too) {
  test::habits().parts = [](std::uint64_t number, std::uint64_t rows) {
    return number == 1 && rows == 15 ? 2 : 1;
  };
  test::habits().proposed = {1};
  EXPECT_THROW(prepare(by_, {1, 8, 16}), no_invariant_product) << "not found at 1, 8 and 16 rows";
  test::habits().proposed = {1, 2};
  prepare(by_, {1, 8, 16});
  EXPECT_EQ(only_used({1, 15, 16}), 2U);
}

TEST_F(batch_invariant_products, are_computed_in_one_way_where_nothing_was_prepared) {
  test::habits().proposed = {8};
  multiply(by_, 3);
  test::habits().proposed = {9};
  EXPECT_EQ(only_used({1, 3, 4}), 8U);
}

TEST_F(batch_invariant_products, are_refused_where_no_way_keeps_the_bits) {
  test::habits().parts = [](std::uint64_t, std::uint64_t rows) { return rows; };
  EXPECT_THROW(prepare(by_, {1, 2, 4}), no_invariant_product);
}

}  // namespace
}  // namespace troupe
