#include "main/measurements/schema_files.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

#include "main/json_dumps.hpp"
#include "runtime/bucketing/text_file.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/json/json.hpp"
#include "runtime/json/json_reader.hpp"
#include "runtime/token_bits.hpp"

namespace troupe::cli {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;
constexpr std::size_t max_file_bytes = 64U << 20U;

double milliseconds_since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

result<std::vector<fs::path>> files_in(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    if (entry->path().extension() == ".json") out.push_back(entry->path());
  if (failed) return fail(error_code::not_found, folder + ": " + failed.message());
  std::sort(out.begin(), out.end());
  return out;
}

class file_measurement {
 public:
  file_measurement(grammar_benchmark& out, const tokenizer& tokenizer, grammar::token_trie_ptr vocabulary,
                   const json_schema::schema_options& options)
      : out_(out),
        tokenizer_(tokenizer),
        vocabulary_(std::move(vocabulary)),
        options_(options),
        mask_((static_cast<std::size_t>(tokenizer.vocab_size()) + 31) / 32) {}

  result<void> run(const fs::path& path) {
    name_ = path.filename().string();
    const auto text = read_text_file(path.string(), max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    const auto file = read_json(*text, {}, {.everywhere = true});
    if (!file || !file->is_object() || !file->contains("schema") || !file->contains("tests") ||
        !(*file)["tests"].is_array())
      return fail(error_code::invalid_argument, path.string() + " is no file of a schema and its tests");
    ++out_.schemas;
    const auto grammar = compile(dump_exactly((*file)["schema"]));
    if (!grammar) return {};
    bool all_right = true;
    accepted_.clear();
    for (const json& test : (*file)["tests"]) {
      if (!test.is_object() || !test.contains("data") || !test.contains("valid") ||
          !test["valid"].is_boolean())
        return fail(error_code::invalid_argument, path.string() + " has a test without data or valid");
      all_right = judge(*grammar, test["data"], test["valid"].get<bool>()) && all_right;
    }
    out_.all_tests_right += all_right ? 1 : 0;
    // Behind all masks, which share what was worked out, as the requests of a service do.
    for (const std::string& instance : accepted_)
      out_.reading_steps.push_back(steps_to_read(**grammar, instance));
    return {};
  }

 private:
  void remark(std::string what) { out_.remarks.emplace_back(name_, std::move(what)); }

  std::optional<grammar::compiled_grammar_ptr> compile(const std::string& schema) {
    const grammar_spec spec = grammar::schema_spec(schema, options_);
    const auto start = clock::now();
    const auto compiled = grammar::compile(spec, vocabulary_, {});
    const double spent = milliseconds_since(start);
    if (!compiled) {
      ++out_.refused_by_name;
      remark("refused: " + compiled.error().message);
      return std::nullopt;
    }
    ++out_.compiled;
    out_.compile_ms.push_back(spent);
    return *compiled;
  }

  // Whether the grammar's verdict on the instance is the given one.
  bool judge(const grammar::compiled_grammar_ptr& grammar, const json& data, bool valid) {
    const std::string text = json_dumps(data, spacing_of(options_));
    const std::size_t accepted = walk(grammar, text);
    const bool is_accepted = accepted > text.size();
    (valid ? out_.valid : out_.invalid) += 1;
    if (is_accepted) accepted_.push_back(text);
    if (is_accepted == valid) return true;
    (valid ? out_.valid_rejected : out_.invalid_accepted) += 1;
    if (valid)
      remark("valid rejected at: " + text.substr(0, accepted) + " <<HERE>> " + text.substr(accepted, 80));
    else
      remark("invalid accepted: " + text);
    return false;
  }

  static double steps_to_read(const grammar::compiled_grammar& grammar, const std::string& text) {
    grammar.let_go();
    std::uint64_t enough = std::numeric_limits<std::uint64_t>::max();
    const auto machine = grammar.use(enough);
    if (const auto start = machine->start()) static_cast<void>(machine->next(*start, text));
    return static_cast<double>(machine->steps());
  }

  // The bytes accepted, one more where the text may end after them.
  std::size_t walk(const grammar::compiled_grammar_ptr& grammar, const std::string& text) {
    grammar::matcher matcher(grammar);
    std::size_t accepted = 0;
    for (const token_id token :
         tokenizer_.encode(text, {.add_special_tokens = false, .parse_special = false})) {
      const auto start = clock::now();
      const auto filled = matcher.fill_mask(mask_);
      out_.mask_us.push_back(milliseconds_since(start) * 1000);
      out_.mask_steps.push_back(static_cast<double>(grammar->count().steps));
      if (!filled) {
        if (filled.error().code == error_code::too_large) remark("mask refused: " + filled.error().message);
        return accepted;
      }
      if (!has_token(mask_, token) || !matcher.accept(token)) return accepted;
      accepted += tokenizer_.piece(token).size();
    }
    return matcher.can_end().value_or(false) ? text.size() + 1 : text.size();
  }

  grammar_benchmark& out_;
  const tokenizer& tokenizer_;
  grammar::token_trie_ptr vocabulary_;
  const json_schema::schema_options& options_;
  std::vector<std::uint32_t> mask_;
  std::string name_;
  std::vector<std::string> accepted_;  // instances of the file at hand
};

}  // namespace

result<grammar_benchmark> measure_schema_files(const std::string& folder, const tokenizer& tokenizer,
                                               const grammar::token_trie_ptr& vocabulary,
                                               const json_schema::schema_options& options) {
  const auto files = files_in(folder);
  if (!files) return tl::unexpected(files.error());
  grammar_benchmark out;
  file_measurement measurement(out, tokenizer, vocabulary, options);
  for (const fs::path& path : *files)
    if (const auto done = measurement.run(path); !done) return tl::unexpected(done.error());
  return out;
}

}  // namespace troupe::cli
