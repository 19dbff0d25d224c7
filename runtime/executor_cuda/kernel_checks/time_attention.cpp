#include <cuda_fp8.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "kernels/cuda/attention/paged_attention.hpp"
#include "kernels/cuda/elementwise/rotate_and_store.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::element_type;
using kernels::cuda::kv_element;

constexpr std::int32_t tokens_of_a_block = 16;

const char* name_of(kv_element element) {
  return element == kv_element::bf16 ? "bf16" : element == kv_element::fp8 ? "fp8" : "int8";
}

// A step of `sequences` with `rows` rows each, every one at the end of `context` tokens in blocks of its own.
class timed_step {
 public:
  timed_step(const timing_options::attention_heads& heads, kv_element element, std::int32_t sequences,
             std::int32_t rows, std::int32_t context)
      : heads_(heads),
        rows_(sequences * rows),
        blocks_((context + tokens_of_a_block - 1) / tokens_of_a_block),
        kv_{.element = element,
            .num_layers = 1,
            .num_blocks = sequences * blocks_,
            .num_kv_heads = heads.kv,
            .block_size = tokens_of_a_block,
            .head_dim = heads.dim},
        memory_(kv_.data_bytes()),
        scales_(std::max<std::size_t>(1, kv_.scale_bytes() / sizeof(float))),
        width_(heads.queries * heads.dim),
        qkv_width_((heads.queries + 2 * heads.kv) * heads.dim),
        qkv_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(qkv_width_)),
        out_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(width_)) {
    fill_memory();
    fill_normal_bf16(qkv_.data(), qkv_.bytes(), 1);
    kernels::cuda::attention_plan plan(heads.queries / heads.kv, 1 << 22, 1 << 16);
    for (std::int32_t i = 0; i < sequences; ++i) plan.add(i * blocks_, rows, context);
    split_.assign(plan.split().begin(), plan.split().end());
    chunks_.assign(plan.chunks().begin(), plan.chunks().end());
    partial_rows_ = std::max(1, plan.partial_rows());
    for (std::int32_t i = 0; i < sequences; ++i)
      for (std::int32_t row = 0; row < rows; ++row) positions_.push_back(context - rows + row);
    tables_.resize(static_cast<std::size_t>(kv_.num_blocks));
    std::iota(tables_.begin(), tables_.end(), 0);
    std::shuffle(tables_.begin(), tables_.end(), std::mt19937(3));
  }

  double time_attention(kernel_timer& timer) const {
    const auto partials = static_cast<std::size_t>(partial_rows_ * heads_.kv);
    const device_array<float> outputs(partials * static_cast<std::size_t>(heads_.dim)), states(partials * 2);
    const device_data<std::int32_t> arrived(std::vector<std::int32_t>(partials, 0));
    const device_data<std::int32_t> positions(positions_), tables(tables_);
    const bool splits = !split_.empty();
    const device_data<kernels::cuda::attention_item> items(splits ? split_ : chunks_);
    const auto count = static_cast<std::int32_t>(items.size());
    const device_data<std::int32_t> number(std::vector<std::int32_t>{count});
    kernels::cuda::attention_arguments arguments;
    arguments.kv = kv();
    arguments.workspace = {outputs.data(), states.data(), arrived.data()};
    arguments.queries = qkv_.data();
    arguments.out = out_.data();
    arguments.query_stride = qkv_width_;
    arguments.out_stride = width_;
    arguments.positions = positions.data();
    arguments.block_tables = tables.data();
    arguments.items = items.data();
    arguments.num_items = number.data();
    arguments.group = heads_.queries / heads_.kv;
    arguments.scale = 1.0F / std::sqrt(static_cast<float>(heads_.dim));
    return timer.time([&](std::int32_t) {
      (splits ? kernels::cuda::attend_split : kernels::cuda::attend_chunks)(arguments, element_type::bf16,
                                                                            count, timer.stream().get());
    });
  }

  double time_rotation(kernel_timer& timer) const {
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(rows_));
    std::iota(numbers.begin(), numbers.end(), 0);
    const device_data<std::int32_t> slots(numbers);
    const device_array<float> angles(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(heads_.dim));
    fill_normal_f32(angles.data(), angles.bytes(), 0.5F);
    kernels::cuda::rotate_and_store_arguments arguments{};
    arguments.qkv = qkv_.data();
    arguments.qkv_stride = qkv_width_;
    arguments.kv = kv();
    arguments.epsilon = 1e-5F;
    arguments.angles = angles.data();
    arguments.slots = slots.data();
    arguments.rows = rows_;
    arguments.num_heads = heads_.queries;
    arguments.rope_dim = heads_.dim;
    arguments.pairs = kernels::cuda::rope_pairs::halves;
    arguments.type = element_type::bf16;
    return timer.time(
        [&](std::int32_t) { kernels::cuda::rotate_and_store(arguments, timer.stream().get()); });
  }

  double kv_bytes() const { return static_cast<double>(kv_.data_bytes() + kv_.scale_bytes()); }
  double query_bytes() const { return 2.0 * rows_ * width_; }
  double stored_bytes() const { return kv_bytes() / kv_.num_blocks / tokens_of_a_block * rows_; }

 private:
  kernels::cuda::paged_kv kv() const {
    kernels::cuda::paged_kv kv = kv_;
    kv.data = memory_.data();
    kv.scales = kv_.element == kv_element::int8 ? scales_.data() : nullptr;
    return kv;
  }

  void fill_memory() {
    if (kv_.element == kv_element::bf16) return fill_normal_bf16(memory_.data(), memory_.size(), 1);
    std::mt19937 random(5);
    std::vector<std::byte> codes;
    for (const float value : normal_floats(1U << 16U, 1, random)) {
      codes.push_back(kv_.element == kv_element::fp8 ? static_cast<std::byte>(__nv_fp8_e4m3(value).__x)
                                                     : static_cast<std::byte>(static_cast<std::int8_t>(
                                                           std::clamp(value * 40, -127.0F, 127.0F))));
    }
    fill_repeating(memory_.data(), memory_.size(), codes);
    const std::vector<float> scales(1U << 12U, 0.025F);
    fill_repeating(scales_.data(), scales_.bytes(), std::as_bytes(std::span(scales)));
  }

  timing_options::attention_heads heads_;
  std::int32_t rows_;
  std::int32_t blocks_;  // of a sequence
  kernels::cuda::paged_kv kv_;
  device_memory memory_;
  device_array<float> scales_;
  std::int32_t width_;
  std::int32_t qkv_width_;
  device_array<__nv_bfloat16> qkv_;
  device_array<__nv_bfloat16> out_;
  std::vector<kernels::cuda::attention_item> split_, chunks_;
  std::int32_t partial_rows_ = 1;
  std::vector<std::int32_t> positions_, tables_;
};

std::string describe(const timing_options::attention_heads& heads) {
  return fmt::format("{} heads of {}, {} KV heads", heads.queries, heads.dim, heads.kv);
}

// Fills in what `measure` is for and adds it, unless it cannot be timed.
void add_timing(kernel_timer& timer, kernel_timing timing,
                const std::function<void(kernel_timing&)>& measure) {
  timer.attempt(fmt::format("{}, {}", timing.name, timing.shape), [&] {
    measure(timing);
    timer.add(std::move(timing));
  });
}

void time_decode(kernel_timer& timer, const timing_options::attention_heads& heads, kv_element element,
                 std::int32_t sequences, std::int32_t context) {
  kernel_timing timing;
  timing.name = fmt::format("paged_attention, decode, {} KV", name_of(element));
  timing.shape = fmt::format("{} x {} tokens, {}", sequences, context, describe(heads));
  add_timing(timer, std::move(timing), [&](kernel_timing& of) {
    const timed_step step(heads, element, sequences, 1, context);
    of.bytes = step.kv_bytes() + 2 * step.query_bytes();
    of.microseconds = step.time_attention(timer);
  });
}

void time_chunk(kernel_timer& timer) {
  const timing_options& options = timer.options();
  const double pairs = 0.5 * options.chunk * (options.chunk + 1.0);  // of a row and a token that it sees
  kernel_timing timing;
  timing.name = "paged_attention, prompt, bf16 KV";
  timing.shape = fmt::format("{} tokens, {}", options.chunk, describe(options.heads));
  timing.operations = 4.0 * pairs * options.heads.queries * options.heads.dim;
  add_timing(timer, std::move(timing), [&](kernel_timing& of) {
    const timed_step step(options.heads, kv_element::bf16, 1, options.chunk, options.chunk);
    of.bytes = step.kv_bytes() + 2 * step.query_bytes();
    of.microseconds = step.time_attention(timer);
  });
}

void time_rotation(kernel_timer& timer, const timing_options::attention_heads& heads, std::int32_t rows) {
  kernel_timing timing;
  timing.name = "rotate_and_store, bf16 KV";
  timing.shape = fmt::format("{} rows, {}", rows, describe(heads));
  add_timing(timer, std::move(timing), [&](kernel_timing& of) {
    const timed_step step(heads, kv_element::bf16, 1, rows, rows);
    // Queries there and back, keys and values read and stored, angles.
    of.bytes = 2 * step.query_bytes() + 2 * step.stored_bytes() + 4.0 * rows * heads.dim;
    of.microseconds = step.time_rotation(timer);
  });
}

}  // namespace

void time_attention(kernel_timer& timer) {
  const timing_options& options = timer.options();
  time_rotation(timer, options.heads, options.rows);
  for (const kv_element element : {kv_element::bf16, kv_element::int8, kv_element::fp8})
    time_decode(timer, options.heads, element, options.batch, options.context);
  time_chunk(timer);
  if (options.model_context == 0) return;
  for (const std::int32_t sequences : options.model_batches) {
    time_rotation(timer, options.model_heads, sequences);
    time_decode(timer, options.model_heads, kv_element::bf16, sequences, options.model_context);
  }
}

}  // namespace troupe::checks
