// Decode steps as graphs: one launch in place of some hundred. A graph is of a number of rows, each of a
// sequence of its own with a context of any length; steps of fewer run in the smallest that holds them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor_cuda/device/cuda_graph.hpp"
#include "runtime/executor_cuda/step/flat_step.hpp"

namespace troupe {

// Why there is none of a step.
struct missing_graph {
  std::string why;
  bool lacked_memory = false;
};

class decode_graphs {
 public:
  // Of so many rows, ascending (graph_sizes()); none: every step runs eagerly.
  explicit decode_graphs(std::vector<std::int32_t> sizes);

  // The shape that a step is padded to so that a graph runs it; nothing where it is no decode or beyond every
  // size. Sizes that could not be captured are none, but where the step `needs` a graph: they are tried
  // again.
  std::optional<flat_step_shape> padded(const flat_step_shape& step, bool needs = false) const;
  // Runs `work`, by the graph of a shape that padded() gave. The first time of a shape it runs as it is,
  // which loads what kernels it needs (none may be loaded during a capture), and is captured for the next
  // time: the warm-up runs each size once. Where it cannot be captured, as where the device has no room: why.
  // It has run then, and its size is left out from now on.
  std::optional<missing_graph> run(const flat_step_shape& shape, const cuda_stream& stream,
                                   const std::function<void()>& work);
  // Forgets all that has been captured or could not be, as is needed where memory has moved.
  void clear();

  std::int32_t count() const { return static_cast<std::int32_t>(graphs_.size()); }  // captured
  const std::vector<std::int32_t>& all_sizes() const { return all_sizes_; }         // ascending

 private:
  std::vector<std::int32_t> all_sizes_;
  std::vector<std::int32_t> sizes_;  // but for those that could not be captured
  std::map<std::int32_t, cuda_graph> graphs_;
};

}  // namespace troupe
