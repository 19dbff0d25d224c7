#include "runtime/openai/request_status.hpp"

#include <algorithm>
#include <cstdint>

#include "runtime/json/json_writer.hpp"

namespace troupe::openai {
namespace {

enum class stage { waiting, running, finished };

stage stage_of(const choice_status& choice) {
  if (choice.known) return choice.known->phase == request_phase::running ? stage::running : stage::waiting;
  if (choice.ended) return stage::finished;
  return choice.told ? stage::running : stage::waiting;
}

const char* word(stage of) {
  switch (of) {
    case stage::waiting:
      return "waiting";
    case stage::running:
      return "running";
    case stage::finished:
      break;
  }
  return "finished";
}

std::string reason_of(const choice_status& choice) {
  if (choice.known) return choice.known->reason;
  if (choice.ended) return "finished";
  return choice.told ? "running: its end is on its way from the scheduler"
                     : "waiting: on its way to the scheduler, or back from it";
}

request_state numbers_of(const choice_status& choice) {
  if (choice.known) return *choice.known;
  const usage tokens = choice.ended ? *choice.ended : choice.told.value_or(usage{});
  request_state numbers;
  numbers.prompt_tokens = tokens.prompt_tokens;
  numbers.cached_tokens = tokens.cached_tokens;
  numbers.generated_tokens = tokens.completion_tokens;
  return numbers;
}

void write_stage(json_writer& out, const choice_status& choice) {
  out.key("state").string(word(stage_of(choice))).key("reason").string(reason_of(choice));
}

}  // namespace

std::string request_status_answer(std::string_view id, std::string_view model,
                                  const std::vector<choice_status>& choices) {
  const auto least = std::min_element(choices.begin(), choices.end(),
                                      [](const auto& a, const auto& b) { return stage_of(a) < stage_of(b); });
  std::string body;
  json_writer out(body);
  out.begin_object().key("id").string(id).key("object").string("request").key("model").string(model);
  if (least != choices.end()) write_stage(out, *least);
  out.key("choices").begin_array();
  for (std::size_t index = 0; index < choices.size(); ++index) {
    const choice_status& choice = choices[index];
    out.begin_object().key("index").integer(static_cast<std::int64_t>(index));
    write_stage(out, choice);
    const request_state numbers = numbers_of(choice);
    out.key("prompt_tokens").integer(numbers.prompt_tokens);
    out.key("cached_tokens").integer(numbers.cached_tokens);
    out.key("computed_tokens").integer(numbers.computed_tokens);
    out.key("completion_tokens").integer(numbers.generated_tokens);
    out.key("preemptions").integer(numbers.preemptions);
    out.end_object();
  }
  out.end_array().end_object();
  return body;
}

}  // namespace troupe::openai
