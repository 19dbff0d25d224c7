#include <fmt/format.h>

#include "kernels/cuda/sampling/sampling.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timer.hpp"

namespace troupe::checks {
namespace {

struct way_to_sample {
  const char* name;
  float temperature;
  float top_p;
  std::int32_t top_k;
};
constexpr way_to_sample ways[] = {{"greedy", 0.0F, 1.0F, 0},
                                  {"all tokens", 1.0F, 1.0F, 0},
                                  {"top-p 0.95", 0.8F, 0.95F, 0},
                                  {"top-k 50, top-p 0.95", 0.8F, 0.95F, 50}};

void time_way(kernel_timer& timer, std::int32_t vocab, const way_to_sample& way) {
  const std::int32_t rows = timer.options().sampled_rows;
  const std::size_t stride = (static_cast<std::size_t>(vocab) + 3) / 4 * 4;
  const device_array<float> logits(static_cast<std::size_t>(rows) * stride);
  fill_normal_f32(logits.data(), logits.bytes(), 3);
  std::vector<kernels::cuda::sampling_row> how;
  for (std::int32_t i = 0; i < rows; ++i) {
    kernels::cuda::sampling_row row;
    row.seed = static_cast<std::uint64_t>(i);
    row.temperature = way.temperature;
    row.top_p = way.top_p;
    row.top_k = way.top_k;
    how.push_back(row);
  }
  const device_data<kernels::cuda::sampling_row> device_rows(how);
  const device_array<std::int32_t> tokens(how.size());
  const device_memory workspace(kernels::cuda::sampling_workspace_bytes(rows, vocab));
  const bool draws_of_all = way.temperature > 0 && way.top_k == 0;
  const kernels::cuda::sampling_needs needs{.processing = false,
                                            .weights = draws_of_all,
                                            .top_k = way.top_k > 0,
                                            .top_p = draws_of_all && way.top_p < 1,
                                            .drafts = false,
                                            .kept = false};
  kernel_timing timing;
  timing.name = fmt::format("sample_tokens, {}", way.name);
  timing.shape = fmt::format("{} x {}", rows, vocab);
  timing.bytes = 4.0 * rows * vocab;
  timing.microseconds = timer.time([&](std::int32_t) {
    kernels::cuda::sample_tokens({.logits = logits.data(),
                                  .stride = stride,
                                  .vocab = vocab,
                                  .num_rows = rows,
                                  .rows = device_rows.data(),
                                  .tokens = tokens.data(),
                                  .workspace = workspace.data()},
                                 needs, timer.stream().get());
  });
  timer.add(std::move(timing));
}

}  // namespace

void time_sampling(kernel_timer& timer) {
  for (const std::int32_t vocab : timer.options().vocabularies)
    for (const way_to_sample& way : ways)
      timer.attempt(fmt::format("sample_tokens, {}, of {} tokens", way.name, vocab),
                    [&] { time_way(timer, vocab, way); });
}

}  // namespace troupe::checks
