// Stacks that are left and entered again: one for each thread of an emulated block. x86-64 alone.
#pragma once
#include <cstddef>

namespace troupe::kernels::cuda::emulation {

// Leaves the running stack, whose place is kept in *from, and goes on where `to` was left.
extern "C" void troupe_switch_stack(void** from, void* to);

// A stack of `bytes` at `base` that calls `entry` when it is first entered. `entry` must not return.
void* new_stack(void* base, std::size_t bytes, void (*entry)());

}  // namespace troupe::kernels::cuda::emulation
