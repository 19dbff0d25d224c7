#include "runtime/executor_cuda/kernel_checks/logprob_rows.hpp"

#include <algorithm>

#include "kernels/cuda/sampling/log_probabilities.hpp"
#include "runtime/executor_cuda/kernel_checks/device_data.hpp"
#include "runtime/sampling/row_math.hpp"

namespace troupe::checks {
namespace {

using kernels::cuda::logprob_row;

std::vector<token_logprobs> run_logprobs(const std::vector<logprob_row>& rows, std::int32_t vocab,
                                         std::int32_t max_top, const std::vector<token_id>& tokens) {
  const auto count = static_cast<std::int32_t>(rows.size());
  const std::size_t tops = rows.size() * static_cast<std::size_t>(max_top);
  const device_data<logprob_row> device_rows(rows);
  const device_data<std::byte> workspace(kernels::cuda::logprob_workspace_bytes(count, vocab, max_top));
  const device_data<float> logprobs(rows.size());
  const device_data<std::int32_t> ranks(rows.size());
  const device_data<std::int32_t> top_ids(tops + 1);
  const device_data<float> top_logprobs(tops + 1);
  kernels::cuda::compute_log_probabilities({.rows = device_rows.data(),
                                            .num_rows = count,
                                            .vocab = vocab,
                                            .max_top = max_top,
                                            .workspace = workspace.data(),
                                            .logprobs = logprobs.data(),
                                            .ranks = ranks.data(),
                                            .top_ids = top_ids.data(),
                                            .top_logprobs = top_logprobs.data()},
                                           nullptr);
  std::vector<token_logprobs> found(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    found[i].token = tokens[i];
    found[i].logprob = logprobs.read()[i];
    found[i].rank = ranks.read()[i];
    for (std::int32_t n = 0; n < rows[i].top; ++n) {
      const std::size_t at = i * static_cast<std::size_t>(max_top) + static_cast<std::size_t>(n);
      found[i].top.emplace_back(top_ids.read()[at], top_logprobs.read()[at]);
    }
  }
  return found;
}

}  // namespace

token_logprobs logprobs_on_host(const logprob_case& row) {
  std::vector<float> allowed = row.logits;
  if (!row.mask.empty()) mask_row(row.logits, row.mask, allowed.data());
  return log_probabilities(allowed, row.token, row.top);
}

std::vector<token_logprobs> logprobs_on_device(const std::vector<logprob_case>& rows, std::int32_t max_top) {
  const std::size_t vocab = rows.front().logits.size();
  const std::size_t stride = (vocab + 3) / 4 * 4;
  const std::size_t words = (vocab + 31) / 32;
  std::vector<float> logits(rows.size() * stride);
  std::vector<std::uint32_t> masks(rows.size() * words);
  std::vector<token_id> tokens;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::ranges::copy(rows[i].logits, logits.begin() + static_cast<std::ptrdiff_t>(i * stride));
    std::ranges::copy(rows[i].mask, masks.begin() + static_cast<std::ptrdiff_t>(i * words));
    tokens.push_back(rows[i].token);
  }
  const device_data<float> device_logits(logits);
  const device_data<std::uint32_t> device_masks(masks);
  const device_data<token_id> device_tokens(tokens);
  std::vector<logprob_row> device_rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    device_rows.push_back({.logits = device_logits.data() + i * stride,
                           .mask = rows[i].mask.empty() ? nullptr : device_masks.data() + i * words,
                           .token = device_tokens.data() + i,
                           .top = rows[i].top});
  }
  return run_logprobs(device_rows, static_cast<std::int32_t>(vocab), max_top, tokens);
}

}  // namespace troupe::checks
