// Faults on purpose, for tests. Compiled in with -DTROUPE_CHAOS=ON alone, and then asked for by the
// environment:
//   TROUPE_CHAOS=ROLE:FAULT:COUNT[,...]    e.g. model_runner:throw:40,tokenizer:slow:100
// Every COUNT-th message to an actor of that role (its name in troupe_actor_mailbox_size) meets the fault:
//   throw     its handler throws
//   slow      it is handled after 200 ms
//   hang      it is never handled, and its thread never comes back
//   segfault  the process receives SIGSEGV
// And for `runner_process`, with a token for COUNT:
//   poison    each step that reads this token receives SIGSEGV
#pragma once
#include <cstdint>
#include <span>

namespace troupe::chaos {

#ifdef TROUPE_CHAOS
// Before a message to an actor of this role is handled. Throws, and worse.
void meet_message(const char* role);
// Before a step of the runner's process reads these.
void meet_tokens(std::span<const std::int32_t> tokens);
#else
constexpr void meet_message(const char*) {}
constexpr void meet_tokens(std::span<const std::int32_t>) {}
#endif

}  // namespace troupe::chaos
