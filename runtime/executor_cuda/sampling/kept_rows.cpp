#include "runtime/executor_cuda/sampling/kept_rows.hpp"

#include <span>

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

kept_rows::kept_rows(std::int32_t vocab_size, std::int32_t most)
    : vocab_size_(static_cast<std::size_t>(vocab_size)),
      sizes_(static_cast<std::size_t>(most)),
      ids_(sizes_.size() * vocab_size_),
      weights_(sizes_.size() * vocab_size_),
      fetched_sizes_(sizes_.bytes()),
      fetched_ids_(ids_.bytes()),
      fetched_weights_(weights_.bytes()) {
  into_.reserve(sizes_.size());
}

kernels::cuda::device_distribution kept_rows::place() const {
  const std::size_t row = into_.size();
  return {sizes_.data() + row, ids_.data() + row * vocab_size_, weights_.data() + row * vocab_size_};
}

// Most are short, so their lengths come first.
void kept_rows::collect(const cuda_stream& stream) {
  if (into_.empty()) return;
  stream.copy_to_host(fetched_sizes_.data(), sizes_.data(), into_.size() * sizeof(std::int32_t));
  stream.synchronize();
  check_launches("the sampler's kernels");  // else these may be anything
  const auto sizes = fetched_sizes_.as<const std::int32_t>().first(into_.size());
  const std::span<token_id> ids = fetched_ids_.as<token_id>();
  const std::span<float> weights = fetched_weights_.as<float>();
  std::size_t begin = 0;
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    const auto size = static_cast<std::size_t>(sizes[row]);
    stream.copy_to_host(&ids[begin], ids_.data() + row * vocab_size_, size * sizeof(token_id));
    stream.copy_to_host(&weights[begin], weights_.data() + row * vocab_size_, size * sizeof(float));
    begin += size;
  }
  stream.synchronize();
  begin = 0;
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    const auto size = static_cast<std::size_t>(sizes[row]);
    const auto of_row = [&](auto all) { return all.subspan(begin, size); };
    into_[row]->ids.assign(of_row(ids).begin(), of_row(ids).end());
    into_[row]->weights.assign(of_row(weights).begin(), of_row(weights).end());
    begin += size;
  }
}

}  // namespace troupe
