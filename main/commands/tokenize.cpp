// troupe tokenize: the tokens of a text.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/setup/default_model.hpp"
#include "runtime/json/json.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/utf8.hpp"

namespace troupe::cli {
namespace {

struct tokenize_options {
  config::setting_sources sources;
  std::string text = "-";
  bool json = false;
  bool no_special = false;
  bool plain = false;
};

std::string all_of_stdin() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

// A piece on one line: control characters and bytes beyond ASCII that form no character as \xNN.
std::string quoted_piece(std::string_view piece) {
  json text = std::string(piece);
  try {
    return text.dump();
  } catch (const json::type_error&) {
    std::string out = "\"";
    for (const char c : piece) {
      static constexpr const char* digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      out += byte >= 0x20 && byte < 0x7f ? std::string(1, c)
                                         : std::string("\\x") + digits[byte >> 4U] + digits[byte & 15U];
    }
    return out + "\"";
  }
}

void print_json(const tokenizer& vocabulary, const std::vector<token_id>& tokens) {
  json out;
  out["count"] = tokens.size();
  out["tokens"] = tokens;
  auto& pieces = out["pieces"] = json::array();
  for (const token_id id : tokens) pieces.push_back(std::string(vocabulary.piece(id)));
  // A piece may be part of a character; JSON cannot hold that, so it becomes U+FFFD.
  std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

int tokenize(const tokenize_options& options) {
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  const auto vocabulary = load_vocabulary(loaded->values.model);
  if (!vocabulary) return report(vocabulary.error());

  const std::string given = options.text == "-" ? all_of_stdin() : options.text;
  const std::string text = replace_invalid_utf8(given);
  if (text != given) warn("the text is not UTF-8: what is not became U+FFFD");
  const auto tokens =
      (*vocabulary)
          ->encode(text, {.add_special_tokens = !options.no_special, .parse_special = !options.plain});
  if (options.json) {
    print_json(**vocabulary, tokens);
  } else {
    for (const token_id id : tokens)
      std::cout << id << '\t' << quoted_piece((*vocabulary)->piece(id)) << '\n';
  }
  return exit_ok;
}

}  // namespace

void add_tokenize(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<tokenize_options>();
  CLI::App* command = app.add_subcommand("tokenize", "Print the tokens of a text: ids and pieces");
  command->add_option("text", options->text, "The text; - or nothing: read the standard input")
      ->type_name("TEXT");
  command->add_flag("--json", options->json, "One line of JSON: count, tokens, pieces");
  command->add_flag("--no-special-tokens", options->no_special, "Do not add begin-of-text and end-of-text");
  command->add_flag("--plain", options->plain, "Read <|...|> in the text as plain characters");
  config::add_flags(*command, {config::option_group::model}, options->sources);
  command->footer(
      "\nExamples:\n"
      "  troupe tokenize \"Hello, world\"\n"
      "  troupe tokenize --json < book.txt");
  command->callback([options, &chosen] { chosen = [options] { return tokenize(*options); }; });
}

}  // namespace troupe::cli
