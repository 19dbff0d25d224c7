// What a device tells of itself, for metrics.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct device_figures {
  std::string bus_id;              // its place on the PCI bus: "0000:65:00.0"
  std::uint64_t memory_total = 0;  // bytes
  std::uint64_t memory_free = 0;   // whoever has the rest
  std::int32_t graphs = 0;         // captured
  // Steps that ran launch by launch: those with prompts, which no graph is for, and decodes beyond every
  // graph.
  std::uint64_t eager_prompts = 0;
  std::uint64_t eager_decodes = 0;
};

}  // namespace troupe
