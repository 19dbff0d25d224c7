#include "main/dialogue/answer_options.hpp"

#include <CLI/CLI.hpp>
#include <limits>
#include <random>

#include "config/values.hpp"

namespace troupe::cli {

std::string fault_of_seed(const std::string& text) {
  if (config::parse_integer(text).value_or(-1) >= 0) return {};
  return "expected a number from 0 to " + std::to_string(std::numeric_limits<std::int64_t>::max()) +
         ", got " + text;
}

void add_answer_flags(CLI::App& command, answer_options& options) {
  const auto add = [&](const char* flag, auto& value, const char* help) {
    command.add_option(flag, value, help)->capture_default_str()->group("Answer");
  };
  add("--system", options.system, "System message before the conversation");
  add("--max-tokens", options.max_tokens, "Longest answer; shorter where the context is full");
  add("--temperature", options.temperature, "0: always the most probable token");
  add("--top-p", options.top_p, "Sample from the most probable tokens of this total probability");
  add("--top-k", options.top_k, "Sample from this many of the most probable tokens; 0: all");
  add("--min-p", options.min_p, "Sample from tokens of at least this share of the best one's probability");
  add("--repetition-penalty", options.repetition_penalty, "Above 1: fewer repetitions");
  command
      .add_option("--seed", options.seed, "The same seed gives the same answer; default: another every time")
      ->check(CLI::Validator(fault_of_seed, ""))
      ->group("Answer");
}

sampling_params to_sampling(const answer_options& options) {
  sampling_params out;
  out.max_tokens = options.max_tokens;
  out.temperature = options.temperature;
  out.top_p = options.top_p;
  out.top_k = options.top_k;
  out.min_p = options.min_p;
  out.repetition_penalty = options.repetition_penalty;
  out.is_seeded = options.seed.has_value();
  if (options.seed) {
    out.seed = *options.seed;
  } else {
    std::random_device device;
    out.seed = std::uint64_t{device()} << 32U | device();
  }
  return out;
}

}  // namespace troupe::cli
