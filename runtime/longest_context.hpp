// How a request is told that it does not fit into the context.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace troupe {

// OpenAI's words, and vLLM's: clients that try another model know a full context by them (LiteLLM).
inline std::string longest_context(std::int64_t tokens) {
  return fmt::format("This model's maximum context length is {} tokens", tokens);
}

}  // namespace troupe
