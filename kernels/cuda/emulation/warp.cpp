#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernels/cuda/emulation/running_block.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

constexpr unsigned bit(unsigned lane) { return 1U << lane; }

block_thread& lane_thread(unsigned warp, unsigned lane) { return running.thread[warp * warp_size + lane]; }

bool is_shuffle(warp_operation operation) {
  return operation >= warp_operation::shuffle && operation <= warp_operation::shuffle_xor;
}

// The lane that a shuffle reads: its own where the source lies beyond its segment (PTX ISA, shfl).
unsigned shuffle_source(const lane_request& request, unsigned lane) {
  const auto me = static_cast<int>(lane);
  const int first = me & ~(request.width - 1);
  const int end = first + request.width;
  int source = me;
  switch (request.operation) {
    case warp_operation::shuffle:
      source = first + (request.lane & (request.width - 1));
      break;
    case warp_operation::shuffle_up:
      source = me - request.lane < first ? me : me - request.lane;
      break;
    case warp_operation::shuffle_down:
      source = me + request.lane >= end ? me : me + request.lane;
      break;
    case warp_operation::shuffle_xor:
      source = (me ^ request.lane) >= end ? me : me ^ request.lane;
      break;
    default:
      break;
  }
  return static_cast<unsigned>(source);
}

std::uint64_t combined(warp_operation operation, std::uint64_t a, std::uint64_t b) {
  const auto x = static_cast<std::uint32_t>(a);
  const auto y = static_cast<std::uint32_t>(b);
  const auto signed_x = static_cast<std::int32_t>(x);
  const auto signed_y = static_cast<std::int32_t>(y);
  switch (operation) {
    case warp_operation::add:
      return x + y;
    case warp_operation::minimum_signed:
      return static_cast<std::uint32_t>(std::min(signed_x, signed_y));
    case warp_operation::maximum_signed:
      return static_cast<std::uint32_t>(std::max(signed_x, signed_y));
    case warp_operation::minimum_unsigned:
      return std::min(x, y);
    case warp_operation::maximum_unsigned:
      return std::max(x, y);
    case warp_operation::bit_and:
      return x & y;
    case warp_operation::bit_or:
      return x | y;
    default:
      return x ^ y;
  }
}

// What lane `lane` gets once the lanes of `mask` have all come.
std::uint64_t lane_result(unsigned warp, unsigned lane, unsigned mask) {
  const lane_request& request = lane_thread(warp, lane).request;
  if (request.operation == warp_operation::barrier || request.operation == warp_operation::multiply) return 0;
  if (is_shuffle(request.operation)) {
    const unsigned source = shuffle_source(request, lane);
    if ((mask & bit(source)) == 0) {
      stop_kernel("shuffle: lane {} of warp {} reads lane {}, which takes no part, at {}:{}", lane, warp,
                  source, request.place.file, request.place.line);
    }
    return lane_thread(warp, source).request.value;
  }
  std::uint64_t result = 0;
  bool first = true;
  for (unsigned other = 0; other < warp_size; other++) {
    if ((mask & bit(other)) == 0) continue;
    const std::uint64_t value = lane_thread(warp, other).request.value;
    if (request.operation == warp_operation::ballot) {
      result |= value != 0 ? bit(other) : 0;
    } else if (request.operation == warp_operation::match_any) {
      result |= value == request.value ? bit(other) : 0;
    } else {
      result = first ? value : combined(request.operation, result, value);
    }
    first = false;
  }
  return result;
}

// Where all lanes of this lane's mask stand at the same operation: gives each its result and lets it go on.
void complete_operation(unsigned warp, unsigned leader) {
  const lane_request& request = lane_thread(warp, leader).request;
  const unsigned taking_part = request.mask & ~running.warps[warp].ended;
  if ((taking_part & ~running.warps[warp].waiting) != 0) return;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if ((taking_part & bit(lane)) == 0) continue;
    const lane_request& other = lane_thread(warp, lane).request;
    if (other.mask != request.mask || other.operation != request.operation ||
        other.place.line != request.place.line) {
      return;
    }
  }
  // A barrier of some lanes alone orders nobody here: rather a race too many than one too few.
  const bool whole = taking_part == ~running.warps[warp].ended;
  if (request.operation == warp_operation::barrier && whole) running.warps[warp].epoch++;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if ((taking_part & bit(lane)) != 0) lane_thread(warp, lane).result = lane_result(warp, lane, taking_part);
  }
  running.warps[warp].waiting &= ~taking_part;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    const unsigned thread = warp * warp_size + lane;
    if ((taking_part & bit(lane)) == 0) continue;
    running.thread[thread].waits = thread_waits::no;
    if (thread != running.current) make_ready(thread);
  }
}

}  // namespace

void begin_warps() {
  for (unsigned warp = 0; warp * warp_size < running.threads; warp++) {
    const unsigned lanes = std::min(warp_size, running.threads - warp * warp_size);
    // Lanes beyond the block count as ended: a full mask may name them.
    running.warps[warp] = {.ended = lanes == warp_size ? 0U : ~0U << lanes};
  }
}

void end_lane(unsigned thread) {
  const unsigned warp = thread / warp_size;
  running.warps[warp].ended |= bit(thread % warp_size);
  for (unsigned lane = 0; lane < warp_size; lane++) {
    if ((running.warps[warp].waiting & bit(lane)) != 0) complete_operation(warp, lane);
  }
}

std::uint64_t meet_warp(const lane_request& request) {
  const unsigned warp = running.current / warp_size;
  const unsigned lane = running.current % warp_size;
  if ((request.mask & bit(lane)) == 0) {
    stop_kernel("warp operation: lane {} is not in its own mask {:08x} at {}:{}", lane, request.mask,
                request.place.file, request.place.line);
  }
  if (request.width > static_cast<int>(warp_size) ||
      !std::has_single_bit(static_cast<unsigned>(request.width))) {
    stop_kernel("shuffle: width {} at {}:{}", request.width, request.place.file, request.place.line);
  }
  block_thread& me = running.thread[running.current];
  me.request = request;
  me.waits = thread_waits::for_warp;
  running.warps[warp].waiting |= bit(lane);
  complete_operation(warp, lane);
  if (me.waits == thread_waits::for_warp) leave_thread();
  return me.result;
}

}  // namespace troupe::kernels::cuda::emulation
