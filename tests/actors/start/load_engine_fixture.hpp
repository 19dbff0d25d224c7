// Engines of a tiny model's file, on the CPU or on what stands in for a CUDA device.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "actors/start/load_engine.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {

struct load_engine_test : testing::Test {
  engine_options options() const {
    engine_options out;
    out.model_path = file.path();
    out.max_num_seqs = 4;
    out.max_num_batched_tokens = 64;
    out.kv_cache_bytes = std::size_t{4} << 20U;
    out.threads = 1;
    return out;
  }
  // Whole KV memory for `tokens` tokens.
  std::size_t bytes_for(std::int32_t tokens) const {
    const auto loaded = load_engine(options());
    const kv_layout layout = loaded->device->layout();
    return static_cast<std::size_t>(tokens / layout.block_size) * layout.bytes_per_block;
  }

  temporary_file file{tiny_model()};
};

struct load_engine_on_cuda_test : load_engine_test {
  // The CPU in its place; `asked` is what was asked for.
  struct request {
    cpu_executor_options options;
    cuda_choice choice;
    int times = 0;
  };
  engine_options on_cuda() {
    engine_options out = options();
    out.kernel_path = "no such path";  // of the CPU: not looked at
    out.cuda = cuda_choice{.device_id = 2, .memory_utilization = 0.5};
    out.cuda_devices.find = [](std::int32_t id) -> result<std::string> {
      if (id != 2) return fail(error_code::unavailable, "no such device", "device_id");
      return std::string("a device");
    };
    out.cuda_devices.open = [this](const model_ptr& model, const cpu_executor_options& options,
                                   const cuda_choice& choice) {
      asked = {options, choice, asked.times + 1};
      cpu_executor_options cpu = options;
      cpu.kernel_path = cpu.dtype = cpu.kv_cache_dtype = "auto";
      cpu.memory_utilization = 0;
      cpu.limits.kv_cache_bytes = std::size_t{4} << 20U;
      return load_cpu_executor(model, cpu);
    };
    return out;
  }
  request asked;
};

}  // namespace troupe::test
