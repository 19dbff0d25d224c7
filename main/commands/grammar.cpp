// troupe grammar: what a JSON Schema lets through, and what that costs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/json_dumps.hpp"
#include "main/load.hpp"
#include "main/measurements/schema_checker.hpp"
#include "main/measurements/schema_files.hpp"
#include "main/setup/default_model.hpp"
#include "main/setup/machine.hpp"
#include "runtime/bucketing/text_file.hpp"
#include "runtime/grammar/json_schema/document/unknown_words.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/json/json.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe::cli {
namespace {

constexpr std::size_t max_file_bytes = 64U << 20U;

struct grammar_options {
  config::setting_sources sources;
  json_schema::schema_options grammar;
  std::string schema;
  std::string instance;
  std::string batch;
  bool as_text = false;
  std::string folder;
  bool json = false;
  bool verbose = false;
};

void print(const json& out) { std::cout << out.dump(-1, ' ', false, json::error_handler_t::replace) << '\n'; }

result<std::string> instance_text(const grammar_options& options) {
  auto text = read_text_file(options.instance, max_file_bytes);
  if (!text || options.as_text) return text;
  const auto value = read_json(*text, {}, {.everywhere = true}, "the instance");
  if (!value) return fail(error_code::invalid_argument, options.instance + ": " + value.error().message);
  return json_dumps(*value, spacing_of(options.grammar));
}

// The first bytes behind those that were accepted.
std::string rest_behind(const std::string& text, std::size_t bytes) {
  constexpr std::size_t shown = 20;
  if (bytes >= text.size()) return "the text ends there";
  return "what follows is " +
         json(text.substr(bytes, shown)).dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const std::vector<json_schema::unknown_word>& words) {
  json out = json::array();
  for (const json_schema::unknown_word& each : words) {
    out.push_back({{"pointer", each.pointer}});
    if (!each.meant.empty()) out.back()["meant"] = each.meant;
    if (!each.wanted.empty()) out.back()["wanted"] = each.wanted;
  }
  return out;
}

void warn_of(const std::vector<json_schema::unknown_word>& words) {
  for (const json_schema::unknown_word& each : words) warn(json_schema::describe(each));
}

int check(const grammar_options& options) {
  const auto schema = read_text_file(options.schema, max_file_bytes);
  if (!schema) return report(schema.error());
  const auto unknown = json_schema::unknown_words_in_text(*schema);
  const auto print_answer = [&](json answer) {
    if (!unknown.empty()) answer["unknown_words"] = to_json(unknown);
    print(answer);
  };
  warn_of(unknown);
  const auto text = instance_text(options);
  if (!text) return report(text.error());
  const auto checker = schema_checker::make(*schema, options.grammar);
  if (!checker) {
    if (options.json) print_answer({{"refused", checker.error().message}, {"param", checker.error().param}});
    complain(checker.error().message);
    return exit_configuration;
  }
  const auto verdict = checker->check(*text);
  if (!verdict) return report(verdict.error());
  if (options.json)
    print_answer({{"accepted", verdict->accepted}, {"bytes", verdict->bytes}});
  else if (verdict->accepted)
    fmt::print("accepted\n");
  else
    fmt::print("rejected after {} bytes: {}\n{}\n", verdict->bytes, text->substr(0, verdict->bytes),
               rest_behind(*text, verdict->bytes));
  return verdict->accepted ? exit_ok : exit_failure;
}

// What is wrong with a line of a batch, in words; nothing where it can be checked.
std::optional<std::string> fault_of_line(const json& line) {
  if (!line.is_object() || !line.contains("schema")) return "not an object with a schema";
  for (const auto& [name, value] : line.items()) {
    if (name == "schema") continue;
    if (name != "instances" && name != "texts") return fmt::format("an unknown member '{}'", name);
    if (!value.is_array()) return fmt::format("{} is not a list", name);
    if (name == "texts" && !std::ranges::all_of(value, [](const auto& text) { return text.is_string(); }))
      return "texts is not a list of strings";
  }
  return std::nullopt;
}

json check_line(const json& line, const json_schema::schema_options& options) {
  const auto checker = schema_checker::make(dump_exactly(line["schema"]), options);
  if (!checker) return {{"refused", checker.error().message}, {"param", checker.error().param}};
  json accepted = json::array();
  const auto add = [&](const std::string& text) {
    const auto verdict = checker->check(text);
    if (verdict)
      accepted.push_back(verdict->accepted);
    else
      accepted.push_back(verdict.error().message);
  };
  for (const json& value : line.value("instances", json::array()))
    add(json_dumps(value, spacing_of(options)));
  for (const json& text : line.value("texts", json::array())) add(text.get<std::string>());
  return {{"accepted", accepted}};
}

json answer_to(const json& line, const json_schema::schema_options& options) {
  json answer = check_line(line, options);
  const auto unknown = json_schema::unknown_words(line["schema"]);
  if (!unknown.empty()) answer["unknown_words"] = to_json(unknown);
  return answer;
}

int check_batch(const grammar_options& options) {
  const auto text = read_text_file(options.batch, max_file_bytes);
  if (!text) return report(text.error());
  std::size_t start = 0;
  for (std::size_t number = 1; start < text->size(); ++number) {
    const std::size_t end = std::min(text->find('\n', start), text->size());
    const auto line = read_json(std::string_view(*text).substr(start, end - start), {.max_depth = 512},
                                {.everywhere = true}, "the line");
    const auto wrong = [&](std::string_view why) {
      print({{"error", fmt::format("{}, line {}: {}", options.batch, number, why)}});
    };
    if (!line)
      wrong(line.error().message);
    else if (const auto fault = fault_of_line(*line))
      wrong(*fault);
    else
      print(answer_to(*line, options.grammar));
    start = end + 1;
  }
  return exit_ok;
}

// p50, p90, p99 and the largest.
std::vector<double> percentiles(std::vector<double> values) {
  if (values.empty()) return {0, 0, 0, 0};
  std::sort(values.begin(), values.end());
  std::vector<double> out;
  for (const double share : {0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    out.push_back(std::round(values[std::max<std::size_t>(rank, 1) - 1] * 1000) / 1000);
  }
  return out;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return std::round(sum / static_cast<double>(values.size()) * 1000) / 1000;
}

void print_table(const grammar_benchmark& measured) {
  const auto compile = percentiles(measured.compile_ms);
  const auto mask = percentiles(measured.mask_us);
  fmt::print("schemas          {}, {} compiled, {} refused by name\n", measured.schemas, measured.compiled,
             measured.refused_by_name);
  fmt::print("all tests right  {} schemas\n", measured.all_tests_right);
  fmt::print("valid rejected   {} of {}\n", measured.valid_rejected, measured.valid);
  fmt::print("invalid accepted {} of {}\n", measured.invalid_accepted, measured.invalid);
  fmt::print("compile ms       p50 {}, p90 {}, p99 {}, max {}\n", compile[0], compile[1], compile[2],
             compile[3]);
  const auto steps = percentiles(measured.mask_steps);
  const auto reading = percentiles(measured.reading_steps);
  fmt::print("mask us          p50 {}, p90 {}, p99 {}, max {}, mean {}\n", mask[0], mask[1], mask[2], mask[3],
             mean(measured.mask_us));
  fmt::print("steps of a mask  p50 {}, p90 {}, p99 {}, max {}\n", steps[0], steps[1], steps[2], steps[3]);
  fmt::print("of a whole text  p50 {}, p90 {}, p99 {}, max {}\n", reading[0], reading[1], reading[2],
             reading[3]);
}

int bench(const grammar_options& options) {
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  const auto vocabulary = load_vocabulary(loaded->values.model);
  if (!vocabulary) return report(vocabulary.error());
  const auto measured = measure_schema_files(options.folder, **vocabulary,
                                             grammar::make_token_trie(**vocabulary), options.grammar);
  if (!measured) return report(measured.error());
  if (options.verbose)
    for (const auto& [name, remark] : measured->remarks) complain(name + ": " + remark);
  if (!options.json) {
    print_table(*measured);
    return exit_ok;
  }
  print({{"schemas", measured->schemas},
         {"compiled", measured->compiled},
         {"refused_by_name", measured->refused_by_name},
         {"all_tests_right", measured->all_tests_right},
         {"valid", measured->valid},
         {"valid_rejected", measured->valid_rejected},
         {"invalid", measured->invalid},
         {"invalid_accepted", measured->invalid_accepted},
         {"compile_ms", percentiles(measured->compile_ms)},
         {"mask_us", percentiles(measured->mask_us)},
         {"mask_us_avg", mean(measured->mask_us)},
         {"mask_steps", percentiles(measured->mask_steps)},
         {"reading_steps", percentiles(measured->reading_steps)},
         {"tokens", measured->mask_us.size()},
         {"vocabulary", (*vocabulary)->vocab_size()},
         {"cpu", cpu_name()},
         {"version", TROUPE_VERSION}});
  return exit_ok;
}

void add_grammar_flags(CLI::App& command, grammar_options& options) {
  command
      .add_option("--max-white-space", options.grammar.max_white_space,
                  "White space before any lexeme, in characters; 0: none at all")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  command.add_flag("--fixed-order", options.grammar.fixed_order,
                   "Members of objects in the order of the schema");
  command.add_flag("--plain-integers", options.grammar.plain_integers,
                   "Whole numbers, where no others may stand, without point and exponent");
  command.add_flag("--json", options.json, "One line of JSON");
}

void add_check(CLI::App& grammar, command_body& chosen) {
  const auto options = std::make_shared<grammar_options>();
  CLI::App* command = grammar.add_subcommand(
      "check", "Whether a JSON value satisfies a JSON Schema, by the grammar that generation is held to");
  auto* schema =
      command->add_option("--schema", options->schema, "File of the JSON Schema")->type_name("FILE");
  auto* instance =
      command
          ->add_option("--instance", options->instance,
                       "File of the value; written as Python's json.dumps does (without spaces where "
                       "--max-white-space is 0), then checked")
          ->type_name("FILE");
  auto* batch =
      command
          ->add_option("--batch", options->batch,
                       "File with a line {\"schema\": ..., \"instances\": [values], \"texts\": [strings]} "
                       "for each schema; one line of JSON for each, with an \"error\" where the line is none")
          ->type_name("FILE");
  schema->needs(instance);
  instance->needs(schema);
  batch->excludes(schema)->excludes(instance);
  command->add_flag("--text", options->as_text, "Check the file of the instance byte by byte, as it is");
  add_grammar_flags(*command, *options);
  command->footer(
      "\nExit code 0: accepted; 1: rejected, or a limit was passed before that could be told, which the "
      "message says;\n"
      "78: the schema is refused, the message has the JSON pointer, or the instance is no JSON.\n"
      "A word that JSON Schema does not have is passed over, with a warning on standard error.\n"
      "\nExamples:\n"
      "  troupe grammar check --schema person.schema.json --instance ada.json");
  command->callback([options, &chosen, batch, instance] {
    if (batch->empty() && instance->empty()) throw CLI::RequiredError("--schema and --instance, or --batch");
    chosen = [options] { return options->batch.empty() ? check(*options) : check_batch(*options); };
  });
}

void add_bench_grammar(CLI::App& grammar, command_body& chosen) {
  const auto options = std::make_shared<grammar_options>();
  CLI::App* command = grammar.add_subcommand(
      "bench", "Compile every schema of a folder and fill a mask for every token of its instances");
  command
      ->add_option("folder", options->folder, "Files of MaskBench's form: schema, tests with data and valid")
      ->type_name("DIR")
      ->required();
  command->add_flag("--verbose", options->verbose,
                    "Say which schemas were refused and which verdicts are wrong");
  add_grammar_flags(*command, *options);
  config::add_flags(*command, {config::option_group::model}, options->sources);
  command->footer(
      "\nExamples:\n"
      "  troupe grammar bench maskbench/data --model my.gguf --json");
  command->callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

}  // namespace

void add_grammar(CLI::App& app, command_body& chosen) {
  CLI::App* grammar =
      app.add_subcommand("grammar", "Check values against JSON Schemas, and measure grammars");
  grammar->require_subcommand(1);
  add_check(*grammar, chosen);
  add_bench_grammar(*grammar, chosen);
}

}  // namespace troupe::cli
