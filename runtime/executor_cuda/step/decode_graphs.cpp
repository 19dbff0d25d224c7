#include "runtime/executor_cuda/step/decode_graphs.hpp"

#include <algorithm>
#include <utility>

#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

decode_graphs::decode_graphs(std::vector<std::int32_t> sizes)
    : all_sizes_(std::move(sizes)), sizes_(all_sizes_) {}

std::optional<flat_step_shape> decode_graphs::padded(const flat_step_shape& step, bool needs) const {
  if (step.rows == 0 || step.rows != step.sequences || step.chunk_items > 0) return std::nullopt;
  const std::vector<std::int32_t>& sizes = needs ? all_sizes_ : sizes_;
  const auto found = std::ranges::lower_bound(sizes, step.rows);
  if (found == sizes.end()) return std::nullopt;
  flat_step_shape shape = step;
  shape.rows = *found;
  shape.sequences = *found;
  return shape;
}

std::optional<missing_graph> decode_graphs::run(const flat_step_shape& shape, const cuda_stream& stream,
                                                const std::function<void()>& work) {
  const std::int32_t size = shape.rows;
  if (const auto found = graphs_.find(size); found != graphs_.end()) {
    found->second.launch(stream);
    return std::nullopt;
  }
  work();
  check_launches("a decode step");
  try {
    graphs_.emplace(size, cuda_graph::capture(stream, work));
    if (const auto at = std::ranges::lower_bound(sizes_, size); at == sizes_.end() || *at != size)
      sizes_.insert(at, size);
    return std::nullopt;
  } catch (const device_lost&) {
    throw;
  } catch (const std::exception& why) {
    std::erase(sizes_, size);
    return missing_graph{why.what(), dynamic_cast<const out_of_device_memory*>(&why) != nullptr};
  }
}

void decode_graphs::clear() {
  graphs_.clear();
  sizes_ = all_sizes_;
}

}  // namespace troupe
