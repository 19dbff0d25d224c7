#include "kernels/cuda/emulation/fiber.hpp"

#include <cstdint>

// The registers that a function must leave as they were; everything else is the caller's to keep. The
// system's own swapcontext also sets the signal mask, by a system call each time.
asm(R"(
.text
.globl troupe_switch_stack
.type troupe_switch_stack, @function
troupe_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size troupe_switch_stack, .-troupe_switch_stack
)");

namespace troupe::kernels::cuda::emulation {

void* new_stack(void* base, std::size_t bytes, void (*entry)()) {
  const auto top = (reinterpret_cast<std::uintptr_t>(base) + bytes) & ~std::uintptr_t{15};
  auto* slot = reinterpret_cast<std::uintptr_t*>(top);
  *--slot = 0;  // no caller
  *--slot = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; saved++) *--slot = 0;
  return slot;
}

}  // namespace troupe::kernels::cuda::emulation
