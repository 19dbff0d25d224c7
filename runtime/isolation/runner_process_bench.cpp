// What a step costs more in a process of its own: decode steps of a real model here and there, turn by turn,
// on the same weights.
//
//   runner_process_bench MODEL.gguf [ROUNDS]
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/dispatch.hpp"
#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/isolation/executor_host.hpp"
#include "runtime/isolation/runner_process.hpp"

namespace {

using namespace troupe;
using clock = std::chrono::steady_clock;

constexpr std::int32_t context = 256;
constexpr std::int32_t block_size = 16;
constexpr int steps_in_a_row = 12;
constexpr int steps_to_settle = 4;  // of them, after the others had the cores

executor_setup setup() {
  executor_setup wanted;
  wanted.model_file = 0;
  wanted.packed_weights = 1;
  wanted.options.limits = {
      .max_rows = 64, .max_sequences = 64, .block_size = block_size, .kv_cache_bytes = 512U << 20U};
  return wanted;
}

// One decode step of `batch` sequences; what is stored before does not matter to the time.
device_batch decode_step(std::int32_t batch) {
  constexpr std::int32_t blocks = context / block_size;
  const auto sampling = [] {
    auto params = std::make_shared<sampling_params>();
    params->temperature = 0;
    return params;
  }();
  device_batch step;
  for (std::int32_t i = 0; i < batch; ++i) {
    for (std::int32_t block = 0; block < blocks; ++block) step.block_tables.push_back(i * blocks + block);
    step.sequences.push_back({static_cast<request_id>(i), i, 1, i * blocks, blocks});
    step.tokens.push_back(100 + i);
    step.positions.push_back(context - 1);
    step.slots.push_back((i + 1) * context - 1);
    step.samples.push_back({i, i, context, 1, sampling, 1, {}});
  }
  return step;
}

void run_turn(executor& device, const device_batch& step, std::vector<double>& times) {
  step_result result;
  for (int i = 0; i < steps_in_a_row; ++i) {
    const auto began = clock::now();
    device.forward(step);
    device.sample(step, nullptr, result);
    if (i >= steps_to_settle)
      times.push_back(std::chrono::duration<double, std::micro>(clock::now() - began).count());
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class T>
T require(result<T> made) {
  if (made) return std::move(*made);
  std::fprintf(stderr, "%s\n", made.error().message.c_str());
  std::exit(1);
}

std::unique_ptr<executor> started(std::unique_ptr<executor> device) {
  if (!device->take_kv_cache({})) std::exit(1);
  return device;
}

void measure(executor& here, executor& there, std::int32_t batch, int rounds) {
  const device_batch step = decode_step(batch);
  std::vector<double> ratios;
  std::vector<double> own;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> first;
    std::vector<double> second;
    run_turn(round % 2 == 0 ? here : there, step, round % 2 == 0 ? first : second);
    run_turn(round % 2 == 0 ? there : here, step, round % 2 == 0 ? second : first);
    own.push_back(median(first));
    ratios.push_back(median(second) / median(first));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double share) {
    return ratios[static_cast<std::size_t>(share * static_cast<double>(ratios.size() - 1))];
  };
  fmt::print("{:3} sequences: {:9.1f} us here; there {:.4f} times that (quartiles {:.4f} to {:.4f})\n", batch,
             median(own), at(0.5), at(0.25), at(0.75));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == "runner-process") {
    host_executors(std::atoi(argv[3]), std::atoi(argv[2]), open_cpu_executor);
    return 1;
  }
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.gguf [ROUNDS]\n", argv[0]);
    return 2;
  }
  const model_ptr model = require(load_model(argv[1]));
  const int file = ::open(argv[1], O_RDONLY | O_CLOEXEC);
  packed_model shared = require(pack_model(*model, packed_for::all_processes));
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 41;
  const auto process = require(runner_process::start({}, {{file, shared.memory.descriptor()}}));
  const auto there = started(require(process->open(setup())));
  cpu_executor_options options = setup().options;
  options.weights = std::make_shared<const packed_model>(require(pack_model(*model)));
  const auto here = started(require(load_cpu_executor(model, options)));
  fmt::print("{}, {}\n", kernels::cpu_model(), here->kernel_path());
  for (const std::int32_t batch : {1, 8, 64}) measure(*here, *there, batch, rounds);
}
