// A model file's chat template, and after the first zero byte the messages, as JSON, that it is given.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "runtime/chat_template/chat_template.hpp"
#include "runtime/json/json_reader.hpp"
#include "tests/fuzz/require.hpp"

namespace {

constexpr troupe::template_limits limits{
    .max_steps = 20'000, .max_depth = 64, .max_output = 1U << 18U, .max_source = 1U << 16U};

const char* const conversation =
    R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hi\n"},
        {"role": "assistant", "content": "Yes?", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}],
        "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "tools": null})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view source = input.substr(0, input.find('\0'));
  const auto compiled = chat_template::compile(source, limits);
  if (!compiled) {
    fuzz::require(!compiled.error().message.empty(), "an error says why");
    return 0;
  }
  static const auto usual = read_json(conversation);
  const auto given = read_json(source.size() < size ? input.substr(source.size() + 1) : "");
  const auto text = compiled->render(given ? *given : *usual, std::tm{});
  fuzz::require(!text || text->size() <= limits.max_output, "no more comes out than is allowed");
  return 0;
}
