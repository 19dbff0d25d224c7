#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/cuda/products/few_row_product.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_checks.hpp"
#include "runtime/executor_cuda/kernel_checks/sum_of_terms.hpp"

namespace troupe::checks {
namespace {

std::vector<float> some_numbers(std::int32_t rows, std::int32_t width, std::mt19937& random) {
  return normal_floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(width), 1, random);
}

// A product that the variant can compute.
struct few_row_size {
  few_row_size(bool is_normed, std::int32_t most_inputs, std::mt19937& random) {
    do {
      variant = kernels::cuda::few_row_variants[random() % std::size(kernels::cuda::few_row_variants)];
      rows = random() % 2 == 0 ? pick(random, 1, 4) : pick(random, 5, kernels::cuda::max_few_rows);
      inputs = 8 * pick(random, 1, most_inputs / 8);
      if (variant != kernels::cuda::few_row_variant::lanes) inputs = (inputs + 31) / 32 * 32;
    } while (!kernels::cuda::can_multiply_few_rows(variant, rows, inputs, is_normed));
  }

  kernels::cuda::few_row_variant variant;
  std::int32_t rows;
  std::int32_t inputs;
};

// Rows as they are, or as the norm makes them, and weights.
template <class T>
class few_row_case {
 public:
  few_row_case(bool is_normed, std::int32_t outputs, std::int32_t most_inputs, std::mt19937& random)
      : is_normed_(is_normed),
        size_(is_normed, most_inputs, random),
        outputs_(outputs),
        multiprocessors_(pick(random, 1, 60)),
        input_(floats(rounded<T>(some_numbers(size_.rows, size_.inputs, random)))),
        weight_(floats(rounded<T>(some_numbers(outputs, size_.inputs, random)))),
        norm_(some_numbers(1, size_.inputs, random)) {}

  std::int32_t rows() const { return size_.rows; }

  // What the kernel makes of `there_before`, as many columns as `kind` has.
  template <class Out>
  std::vector<float> run(kernels::cuda::few_row_output kind, std::int32_t columns) const {
    const device_data<T> input(rounded<T>(input_)), weight(rounded<T>(weight_));
    const device_data<float> residual(input_), norm(norm_);
    const auto count = static_cast<std::size_t>(size_.rows * columns);
    const device_data<Out> out(std::vector<Out>(count, Out(there_before)));
    kernels::cuda::multiply_few_rows({.weights = weight.data(),
                                      .input = is_normed_ ? nullptr : input.data(),
                                      .residual = residual.data(),
                                      .norm_weight = norm.data(),
                                      .epsilon = epsilon,
                                      .output = out.data(),
                                      .rows = size_.rows,
                                      .outputs = outputs_,
                                      .inputs = size_.inputs,
                                      .multiprocessors = multiprocessors_,
                                      .kind = kind,
                                      .variant = size_.variant,
                                      .type = type_of<T>},
                                     nullptr);
    return floats(out.read());
  }

  double scale(std::int32_t row) const {
    if (!is_normed_) return 1;
    double squares = 0;
    for (std::int32_t i = 0; i < size_.inputs; ++i) squares += at(row, i) * at(row, i);
    return 1.0 / std::sqrt(squares / size_.inputs + epsilon);
  }
  sum_of_terms sum(std::int32_t row, double scale_of_row, std::int32_t output) const {
    sum_of_terms terms;
    for (std::int32_t i = 0; i < size_.inputs; ++i) {
      const double by_norm = is_normed_ ? scale_of_row * double{norm_[static_cast<std::size_t>(i)]} : 1.0;
      terms.add(weight_[static_cast<std::size_t>(output * size_.inputs + i)], at(row, i) * by_norm);
    }
    return terms;
  }
  double bound(const sum_of_terms& terms) const {
    return terms.bound() + (is_normed_ ? rounding_of<T> * terms.magnitude : 0.0);
  }

  static constexpr float there_before = 1.5F;

 private:
  static constexpr float epsilon = 1e-5F;
  double at(std::int32_t row, std::int32_t i) const {
    return input_[static_cast<std::size_t>(row * size_.inputs + i)];
  }

  bool is_normed_;
  few_row_size size_;
  std::int32_t outputs_;
  std::int32_t multiprocessors_;
  std::vector<float> input_, weight_, norm_;
};

template <class T, bool is_normed, kernels::cuda::few_row_output kind>
void compare_few_rows(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const std::int32_t outputs = pick(random, 1, 300);
  const few_row_case<T> of(is_normed, outputs, std::min(options.width, 4096), random);
  const std::vector<float> found = of.template run<float>(kind, outputs);
  for (std::int32_t row = 0; row < of.rows(); ++row) {
    const double scale = of.scale(row);
    for (std::int32_t o = 0; o < outputs; ++o) {
      sum_of_terms terms = of.sum(row, scale, o);
      if (kind == kernels::cuda::few_row_output::add_to_f32) terms.add(of.there_before, 1.0);
      compared.add(found[static_cast<std::size_t>(row * outputs + o)], terms.sum, of.bound(terms));
    }
  }
}

double silu(double x) { return x / (1 + std::exp(-x)); }

// SiLU of the first half of a row's sums times the second. Of more inputs some would be beyond fp16.
template <class T, bool is_normed>
void compare_gated(std::mt19937& random, const kernel_check_options& options, comparison& compared) {
  const std::int32_t columns = pick(random, 1, 150);
  const few_row_case<T> of(is_normed, 2 * columns, std::min(options.width, 1024), random);
  const std::vector<float> found = of.template run<T>(kernels::cuda::few_row_output::gated, columns);
  const auto bound_rounded = [&](const sum_of_terms& terms) {
    return of.bound(terms) + rounding_of<T> * std::abs(terms.sum);
  };
  for (std::int32_t row = 0; row < of.rows(); ++row) {
    const double scale = of.scale(row);
    for (std::int32_t i = 0; i < columns; ++i) {
      const sum_of_terms gate = of.sum(row, scale, i), up = of.sum(row, scale, columns + i);
      const double of_gate = bound_rounded(gate), of_up = bound_rounded(up);
      const double gated = silu(gate.sum), expected = gated * up.sum;
      const double of_gated =
          std::max(std::abs(silu(gate.sum - of_gate) - gated), std::abs(silu(gate.sum + of_gate) - gated));
      const double before_rounding = std::abs(gated) * of_up + of_gated * (std::abs(up.sum) + of_up);
      compared.add(found[static_cast<std::size_t>(row * columns + i)], expected,
                   before_rounding + (std::abs(expected) + before_rounding) * rounding_of<T> + 1e-6);
    }
  }
}

// Queries, keys and values of few rows, rotated and stored: by one kernel and by two, which must agree to the
// bit.
struct rotated_rows {
  rotated_rows(std::mt19937& random, const few_row_size& size, kernels::cuda::kv_element element)
      : rows(size.rows),
        inputs(size.inputs),
        num_heads(pick(random, 1, 4)),
        biased(random() % 2 == 0),
        pairs(random() % 2 == 0 ? kernels::cuda::rope_pairs::halves : kernels::cuda::rope_pairs::interleaved),
        kv{.element = element,
           .num_layers = 2,
           .num_blocks = 5,
           .num_kv_heads = pick(random, 1, 2),
           .block_size = 16,
           .head_dim = 16 * pick(random, 1, 8)} {}
  std::int32_t width() const { return (num_heads + 2 * kv.num_kv_heads) * kv.head_dim; }
  // Each row's own, or none.
  std::vector<std::int32_t> slots(std::mt19937& random) const {
    std::vector<std::int32_t> all(static_cast<std::size_t>(kv.num_blocks * kv.block_size));
    std::ranges::generate(all, [next = -1]() mutable { return next++; });
    std::ranges::shuffle(all, random);
    all.resize(static_cast<std::size_t>(rows));
    return all;
  }

  std::int32_t rows, inputs, num_heads;
  bool biased;
  kernels::cuda::rope_pairs pairs;
  kernels::cuda::paged_kv kv;
};

template <class T>
void compare_rotated(std::mt19937& random, const kernel_check_options&, comparison& compared) {
  using kernels::cuda::kv_element;
  const few_row_size size(true, 1040, random);
  rotated_rows of(random, size, std::is_same_v<T, __half> ? kv_element::fp16 : kv_element::bf16);
  const device_data<T> weights(rounded<T>(some_numbers(of.width(), of.inputs, random)));
  const device_data<float> residual(some_numbers(of.rows, of.inputs, random));
  const device_data<float> norm(some_numbers(1, of.inputs, random)),
      bias(some_numbers(1, of.width(), random));
  const device_data<float> angles(some_numbers(of.rows, of.kv.head_dim, random));
  const device_data<std::int32_t> slots(of.slots(random));
  struct outcome {
    std::vector<float> qkv, kv;
  };
  const auto run = [&](bool at_once) {
    const device_data<T> qkv(static_cast<std::size_t>(of.rows * of.width()));
    const device_data<T> memory(std::vector<T>(of.kv.data_bytes() / sizeof(T), T(7.0F)));
    of.kv.data = memory.data();
    const kernels::cuda::rotate_and_store_arguments rotation{.qkv = qkv.data(),
                                                             .qkv_stride = of.width(),
                                                             .kv = of.kv,
                                                             .bias = of.biased ? bias.data() : nullptr,
                                                             .query_norm = nullptr,
                                                             .key_norm = nullptr,
                                                             .epsilon = 0,
                                                             .angles = angles.data(),
                                                             .slots = slots.data(),
                                                             .rows = of.rows,
                                                             .num_heads = of.num_heads,
                                                             .rope_dim = of.kv.head_dim,
                                                             .pairs = of.pairs,
                                                             .layer = 1,
                                                             .type = type_of<T>};
    using kernels::cuda::few_row_output;
    kernels::cuda::multiply_few_rows({.weights = weights.data(),
                                      .input = nullptr,
                                      .residual = residual.data(),
                                      .norm_weight = norm.data(),
                                      .epsilon = 1e-5F,
                                      .output = qkv.data(),
                                      .rows = of.rows,
                                      .outputs = of.width(),
                                      .inputs = of.inputs,
                                      .multiprocessors = 2,
                                      .kind = at_once ? few_row_output::rotated : few_row_output::rounded,
                                      .variant = size.variant,
                                      .type = type_of<T>,
                                      .rotation = rotation},
                                     nullptr);
    if (!at_once) kernels::cuda::rotate_and_store(rotation, nullptr);
    return outcome{floats(qkv.read()), floats(memory.read())};
  };
  const outcome expected = run(false), found = run(true);
  for (std::size_t i = 0; i < found.kv.size(); ++i) compared.add(found.kv[i], expected.kv[i], 0);
  for (std::int32_t row = 0; row < of.rows; ++row) {
    for (std::int32_t i = 0; i < of.num_heads * of.kv.head_dim; ++i) {
      const auto at = static_cast<std::size_t>(row * of.width() + i);
      compared.add(found.qkv[at], expected.qkv[at], 0);
    }
  }
}

}  // namespace

void check_few_rows(check_list& list) {
  const kernel_check_options& options = list.options();
  const auto add = [&](const char* name, auto compare) {
    list.add(name, [&options, compare](std::mt19937& random, comparison& compared) {
      compare(random, options, compared);
    });
  };
  using kernels::cuda::few_row_output;
  add("few_row_product, bf16", compare_few_rows<__nv_bfloat16, false, few_row_output::f32>);
  add("few_row_product, fp16", compare_few_rows<__half, false, few_row_output::f32>);
  add("few_row_product, normed, bf16", compare_few_rows<__nv_bfloat16, true, few_row_output::f32>);
  add("few_row_product, normed, fp16", compare_few_rows<__half, true, few_row_output::f32>);
  add("few_row_product, added to fp32, bf16",
      compare_few_rows<__nv_bfloat16, false, few_row_output::add_to_f32>);
  add("few_row_product, added to fp32, fp16", compare_few_rows<__half, false, few_row_output::add_to_f32>);
  add("few_row_product, gated, bf16", compare_gated<__nv_bfloat16, false>);
  add("few_row_product, gated, fp16", compare_gated<__half, false>);
  add("few_row_product, normed and gated, bf16", compare_gated<__nv_bfloat16, true>);
  add("few_row_product, normed and gated, fp16", compare_gated<__half, true>);
  add("few_row_product, rotated, bf16", compare_rotated<__nv_bfloat16>);
  add("few_row_product, rotated, fp16", compare_rotated<__half>);
}

}  // namespace troupe::checks
