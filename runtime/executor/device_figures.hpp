// What a device tells of itself, for metrics.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct device_figures {
  std::string bus_id;              // its place on the PCI bus: "0000:65:00.0"
  std::uint64_t memory_total = 0;  // bytes
  std::uint64_t memory_free = 0;   // whoever has the rest
  std::int32_t graphs = 0;         // captured, of this executor
  // Steps that ran launch by launch, the warm-up's among them; and of these the decodes: one row a sequence.
  std::uint64_t eager_steps = 0;
  std::uint64_t eager_decodes = 0;
};

}  // namespace troupe
