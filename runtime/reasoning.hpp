// What some models write before their answer: <think> what they think </think>, as Qwen 3, DeepSeek-R1, QwQ
// and SmolLM3 do. The prompt may have begun it, where the chat template opens the answer with the first mark.
#pragma once
#include <cstdint>
#include <string_view>

namespace troupe {

// Of an answer that has not begun: whether it reasons first.
enum class reasoning_start : std::uint8_t {
  none,      // all of it is the answer
  possible,  // where it begins with the opening mark
  begun,     // the opening mark stands at the prompt's end
};

struct reasoning_marks {
  static constexpr std::string_view opening = "<think>";
  static constexpr std::string_view closing = "</think>";
};

}  // namespace troupe
