// A grid on the host: its blocks one after another, the threads of a block as fibers that leave each other
// the processor at barriers and warp operations.
#pragma once
#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe::kernels::cuda::emulation {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned max_block_threads = 1024;

// A kernel call as a stream or a graph keeps it, its arguments copied as CUDA copies them.
struct kernel_call {
  std::string name;
  const void* function = nullptr;
  dim3 grid;
  dim3 block;
  std::size_t dynamic_bytes = 0;
  std::size_t most_shared_bytes = 0;  // static and dynamic together
  std::shared_ptr<void> arguments;
  std::size_t argument_bytes = 0;
  bool early = false;  // may begin before what is ahead of it has ended: early_launch.hpp
  void (*invoke)(const void* function, const void* arguments) = nullptr;
};

// Runs all blocks. False where a detector stopped it; what it found is then in reports().
bool execute(const kernel_call& call);

// Where a barrier or warp operation stands in the kernel's source.
struct source_place {
  const char* file;
  int line;
};

enum class block_barrier { plain, count, all_of, any_of };
int wait_for_block(block_barrier kind, int predicate, source_place place);

enum class warp_operation {
  barrier,
  multiply,  // on tensor cores: lanes meet, and nothing of memory is ordered
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  ballot,
  match_any,
  add,
  minimum_signed,
  maximum_signed,
  minimum_unsigned,
  maximum_unsigned,
  bit_and,
  bit_or,
  bit_xor
};

// What one lane brings to a warp operation, and what it gets.
struct lane_request {
  warp_operation operation;
  unsigned mask;
  std::uint64_t value = 0;
  int lane = 0;  // a shuffle's source, distance or mask
  int width = static_cast<int>(warp_size);
  source_place place{};
};
std::uint64_t meet_warp(const lane_request& request);

}  // namespace troupe::kernels::cuda::emulation
