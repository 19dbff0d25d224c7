// Faults on purpose, for tests. None of them is in `troupe`: they are linked into `troupe-chaos`, the same
// program otherwise, and there asked for by the environment:
//   TROUPE_CHAOS=ROLE:FAULT:COUNT[,...]    e.g. model_runner:throw:40,tokenizer:slow:100
// Every COUNT-th message to an actor of that role (its name in troupe_actor_mailbox_size) meets the fault,
// but for those that come once a second all the same (take_stock):
//   throw     its handler throws
//   slow      it is handled after 200 ms
//   hang      it is never handled, and its thread never comes back
//   segfault  the process receives SIGSEGV
//   starve    its handler finds no memory on the device
//   lose      it is never handled, and nobody is told; what an actor sends to itself does not count
// And for `runner_process`, which loses nothing, with a token for COUNT:
//   poison    each step that reads this token receives SIGSEGV
// And for `start`, whose messages are the phases of loading the model, with milliseconds for COUNT:
//   hasten    no more than these are waited where it gets nowhere, nor where a device that opens later does
#pragma once
#include <chrono>
#include <cstdint>
#include <span>

namespace troupe::chaos {

// Before a message to an actor of this role is handled; `is_own`: it has sent that to itself. Throws, and
// worse. True: it is lost, which the log of level debug tells.
bool meet_message(const char* role, const char* message, bool is_own = false);
// How long is waited where who opens a device gets nowhere, of a patience.
std::chrono::nanoseconds cut(std::chrono::nanoseconds patience);
// Before a step of the runner's process reads these.
void meet_tokens(std::span<const std::int32_t> tokens);

}  // namespace troupe::chaos
