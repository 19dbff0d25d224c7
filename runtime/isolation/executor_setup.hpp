// What a runner process needs to know to open an executor.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/cuda_support.hpp"
#include "runtime/isolation/flat_message.hpp"

namespace troupe {

struct executor_setup {
  // Places among the descriptors that the process has inherited, behind those of its call_channel: the
  // model's file, and its packed weights (shared memory; the file once more for a
  // CUDA device, which reads that).
  std::int32_t model_file = 0;
  std::int32_t packed_weights = 0;
  cpu_executor_options options;     // neither weights nor available(): those are the process's own
  std::optional<cuda_choice> cuda;  // nothing: the CPU
};

void write(flat_writer& to, const executor_setup& setup);
void read(flat_reader& from, executor_setup& into);

// What the service is told of an executor that has been opened.
struct opened_executor {
  std::uint32_t device = 0;  // its number, by which it is called
  kv_layout layout;
  std::string kernel_path;
  bool overlaps = false;
  bool has_figures = false;
  bool has_plans = false;
  std::string plan_shape;  // step_plans::shape()
};

void write(flat_writer& to, const opened_executor& opened);
void read(flat_reader& from, opened_executor& into);

}  // namespace troupe
