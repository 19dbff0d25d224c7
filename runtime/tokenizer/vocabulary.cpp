#include "runtime/tokenizer/vocabulary.hpp"

#include <fmt/format.h>

#include <cmath>

#include "runtime/tokenizer/end_texts.hpp"

namespace troupe {
namespace {

constexpr std::size_t most_tokens = std::size_t{1} << 24U;

tl::unexpected<error> corrupt(std::string message) {
  return fail(error_code::corrupt_file, std::move(message));
}

result<const gguf::array*> read_array(const gguf::file& file, std::string_view key) {
  const auto* value = file.find(key);
  if (value == nullptr) return corrupt(fmt::format("{} is missing", key));
  const auto* array = std::get_if<gguf::array>(value);
  if (array == nullptr) return corrupt(fmt::format("{} is not an array", key));
  return array;
}

result<std::optional<token_id>> read_id(const gguf::file& file, std::string_view key, std::size_t tokens,
                                        std::optional<token_id> fallback) {
  if (file.find(key) == nullptr) {
    if (fallback && static_cast<std::size_t>(*fallback) >= tokens) fallback.reset();
    return fallback;
  }
  const auto id = file.get_int(key);
  if (!id) return tl::unexpected(id.error());
  if (*id < 0 || static_cast<std::uint64_t>(*id) >= tokens) {
    return corrupt(fmt::format("{} is {}, but there are {} tokens", key, *id, tokens));
  }
  return static_cast<token_id>(*id);
}

result<void> read_texts(const gguf::file& file, vocabulary& vocabulary) {
  const auto texts = read_strings(file, "tokenizer.ggml.tokens");
  if (!texts) return tl::unexpected(texts.error());
  if ((*texts)->empty() || (*texts)->size() > most_tokens) {
    return corrupt(fmt::format("tokenizer.ggml.tokens has {} entries", (*texts)->size()));
  }
  vocabulary.texts.assign((*texts)->begin(), (*texts)->end());
  vocabulary.ids.reserve(vocabulary.size());
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.texts[id].empty()) continue;
    const auto [other, added] = vocabulary.ids.try_emplace(vocabulary.texts[id], static_cast<token_id>(id));
    if (!added)
      return corrupt(fmt::format("tokenizer.ggml.tokens: tokens {} and {} are the same", other->second, id));
  }
  return {};
}

result<void> read_types(const gguf::file& file, vocabulary& vocabulary) {
  constexpr std::string_view key = "tokenizer.ggml.token_type";
  vocabulary.types.assign(vocabulary.size(), token_type::normal);
  if (file.find(key) == nullptr) return {};
  const auto array = read_array(file, key);
  if (!array) return tl::unexpected(array.error());
  const auto copy = [&](const auto& numbers) -> result<void> {
    if (numbers.size() != vocabulary.size()) {
      return corrupt(fmt::format("{} has {} entries for {} tokens", key, numbers.size(), vocabulary.size()));
    }
    for (std::size_t id = 0; id < numbers.size(); ++id) {
      const auto number = static_cast<std::uint64_t>(numbers[id]);
      // 0 is ggml's "undefined".
      if (number > 6)
        return corrupt(fmt::format("{}: token {} has the unknown type {}", key, id, numbers[id]));
      if (number != 0) vocabulary.types[id] = static_cast<token_type>(number);
    }
    return {};
  };
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(*array)) return copy(*numbers);
  if (const auto* numbers = std::get_if<std::vector<std::uint64_t>>(*array)) return copy(*numbers);
  return corrupt(fmt::format("{} is not an array of integers", key));
}

// A file without types still has its special tokens: those that the metadata names, and byte tokens by their
// spelling.
void guess_types(vocabulary& vocabulary, const vocabulary_defaults& defaults) {
  for (const auto& id : {vocabulary.bos, vocabulary.eos}) {
    if (id) vocabulary.types[static_cast<std::size_t>(*id)] = token_type::control;
  }
  if (vocabulary.unknown)
    vocabulary.types[static_cast<std::size_t>(*vocabulary.unknown)] = token_type::unknown;
  if (!defaults.byte_tokens) return;
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    if (parse_byte_token(vocabulary.texts[id])) vocabulary.types[id] = token_type::byte;
  }
}

result<void> read_special_ids(const gguf::file& file, const vocabulary_defaults& defaults,
                              vocabulary& vocabulary) {
  const auto read = [&](std::string_view key, std::optional<token_id> fallback, std::optional<token_id>& id) {
    return read_id(file, key, vocabulary.size(), fallback).map([&id](auto found) { id = found; });
  };
  std::optional<token_id> end_of_turn;
  std::optional<token_id> end_of_message;
  auto ok = read("tokenizer.ggml.bos_token_id", defaults.bos, vocabulary.bos);
  if (ok) ok = read("tokenizer.ggml.eos_token_id", defaults.eos, vocabulary.eos);
  if (ok) ok = read("tokenizer.ggml.unknown_token_id", defaults.unknown, vocabulary.unknown);
  if (ok) ok = read("tokenizer.ggml.eot_token_id", {}, end_of_turn);
  if (ok) ok = read("tokenizer.ggml.eom_token_id", {}, end_of_message);
  if (!ok) return ok;
  vocabulary.ends_generation.assign(vocabulary.size(), false);
  for (const auto& id : {vocabulary.eos, end_of_turn, end_of_message}) {
    if (id) vocabulary.ends_generation[static_cast<std::size_t>(*id)] = true;
  }
  return {};
}

result<void> read_added(const gguf::file& file, const vocabulary_defaults& defaults, vocabulary& vocabulary) {
  const auto add_bos = file.get_bool_or("tokenizer.ggml.add_bos_token", defaults.add_bos);
  if (!add_bos) return tl::unexpected(add_bos.error());
  const auto add_eos = file.get_bool_or("tokenizer.ggml.add_eos_token", false);
  if (!add_eos) return tl::unexpected(add_eos.error());
  vocabulary.add_bos = *add_bos && vocabulary.bos.has_value();
  vocabulary.add_eos = *add_eos && vocabulary.eos.has_value();
  return {};
}

// A file whose marks are no control tokens has answers run on past their end and shows the marks.
void take_for_control(vocabulary& vocabulary, std::string_view text, std::string& taken) {
  const auto id = vocabulary.find(text);
  if (!id || vocabulary.type(*id) == token_type::control) return;
  vocabulary.types[static_cast<std::size_t>(*id)] = token_type::control;
  if (!taken.empty()) taken += ", ";
  taken += text;
}

void find_ends(vocabulary& vocabulary) {
  const auto is_control = [&vocabulary](std::optional<token_id> id) {
    return id && vocabulary.type(*id) == token_type::control;
  };
  // Where <|return|> ends an answer (OpenAI's Harmony), <|end|> ends but one of its messages.
  const bool has_messages = is_control(vocabulary.find("<|return|>"));
  const auto ends_nothing = [has_messages](std::string_view text) {
    return has_messages && text == "<|end|>";
  };
  std::string taken;
  for (const auto text : unmistakable_end_texts())
    if (!ends_nothing(text)) take_for_control(vocabulary, text, taken);
  if (!taken.empty())
    vocabulary.warnings.push_back(fmt::format(
        "the model file does not call {} control: taken for what ends an answer, and not shown", taken));
  for (const auto texts : {unmistakable_end_texts(), possible_end_texts()}) {
    for (const auto text : texts) {
      const auto id = vocabulary.find(text);
      if (is_control(id) && !ends_nothing(text))
        vocabulary.ends_generation[static_cast<std::size_t>(*id)] = true;
    }
  }
}

}  // namespace

std::optional<token_id> vocabulary::find(std::string_view text) const {
  const auto found = ids.find(text);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

result<vocabulary> read_vocabulary(const gguf::file& file, const vocabulary_defaults& defaults) {
  vocabulary vocabulary;
  auto ok = read_texts(file, vocabulary);
  if (ok) ok = read_types(file, vocabulary);
  if (ok) ok = read_special_ids(file, defaults, vocabulary);
  if (ok) ok = read_added(file, defaults, vocabulary);
  if (!ok) return tl::unexpected(ok.error());
  if (file.find("tokenizer.ggml.token_type") == nullptr) guess_types(vocabulary, defaults);
  find_ends(vocabulary);
  return vocabulary;
}

result<const std::vector<std::string_view>*> read_strings(const gguf::file& file, std::string_view key) {
  const auto array = read_array(file, key);
  if (!array) return tl::unexpected(array.error());
  const auto* strings = std::get_if<std::vector<std::string_view>>(*array);
  if (strings == nullptr) return corrupt(fmt::format("{} is not an array of strings", key));
  return strings;
}

result<std::vector<float>> read_scores(const gguf::file& file, std::size_t tokens) {
  constexpr std::string_view key = "tokenizer.ggml.scores";
  const auto array = read_array(file, key);
  if (!array) return tl::unexpected(array.error());
  const auto* numbers = std::get_if<std::vector<double>>(*array);
  if (numbers == nullptr) return corrupt(fmt::format("{} is not an array of floats", key));
  if (numbers->size() != tokens)
    return corrupt(fmt::format("{} has {} entries for {} tokens", key, numbers->size(), tokens));
  std::vector<float> scores;
  scores.reserve(tokens);
  for (const double number : *numbers) {
    if (std::isnan(number)) return corrupt(fmt::format("{} holds a value that is not a number", key));
    scores.push_back(static_cast<float>(number));
  }
  return scores;
}

std::optional<unsigned char> parse_byte_token(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto high = digits.find(text[3]);
  const auto low = digits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(high << 4U | low);
}

}  // namespace troupe
