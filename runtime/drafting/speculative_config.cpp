#include "runtime/drafting/speculative_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/drafting/draft.hpp"
#include "runtime/json/json.hpp"

namespace troupe {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 10U;
constexpr std::array supported_fields = {
    "method",
    "model",
    "num_speculative_tokens",
    "prompt_lookup_min",
    "prompt_lookup_max",
    "suffix_decoding_max_tree_depth",
    "suffix_decoding_max_cached_requests",
    "suffix_decoding_max_spec_factor",
    "suffix_decoding_min_token_prob",
    "disable_by_batch_size",
    "adaptive",
    "rejection_sample_method",
};

struct owned_field {
  const char* name;
  speculative_method owner;
};
constexpr std::array owned_fields = {
    owned_field{"prompt_lookup_min", speculative_method::ngram},
    owned_field{"prompt_lookup_max", speculative_method::ngram},
    owned_field{"suffix_decoding_max_tree_depth", speculative_method::suffix},
    owned_field{"suffix_decoding_max_cached_requests", speculative_method::suffix},
    owned_field{"suffix_decoding_max_spec_factor", speculative_method::suffix},
    owned_field{"suffix_decoding_min_token_prob", speculative_method::suffix},
    owned_field{"rejection_sample_method", speculative_method::draft_model},
};

// Fields of vLLM's that change nothing here at the value named. Null, which stands for their default there,
// never does.
struct idle_field {
  const char* name;
  const char* value;  // as JSON
};
constexpr std::array idle_fields = {
    idle_field{"draft_tensor_parallel_size", "1"},
    idle_field{"acceptance_method", "\"rejection_sampler\""},
    idle_field{"spec_decoding_acceptance_method", "\"rejection_sampler\""},
    idle_field{"enforce_eager", "false"},
    idle_field{"disable_logprobs", "false"},
    idle_field{"disable_mqa_scorer", "false"},
    idle_field{"disable_padded_drafter_batch", "false"},
    idle_field{"parallel_drafting", "false"},
    idle_field{"use_heterogeneous_vocab", "false"},
    idle_field{"use_local_argmax_reduction", "false"},
    idle_field{"enable_adaptive_verification", "false"},
    idle_field{"attention_backend", "null"},
    idle_field{"code_revision", "null"},
    idle_field{"draft_load_config", "null"},
    idle_field{"draft_sample_method", "null"},
    idle_field{"kv_cache_dtype", "null"},
    idle_field{"max_model_len", "null"},
    idle_field{"moe_backend", "null"},
    idle_field{"num_speculative_tokens_per_batch_size", "null"},
    idle_field{"quantization", "null"},
    idle_field{"revision", "null"},
    idle_field{"speculative_token_tree", "null"},
};

tl::unexpected<error> wrong(const char* field, std::string what) {
  return fail(error_code::invalid_argument, fmt::format("speculative_config: {} {}", field, what), field);
}

// For messages: short, printable.
std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 64) text = text.substr(0, 64) + "...";
  return text;
}

// Takes the fields one by one; null is as good as absent, as in vLLM. The first error stays.
class field_reader {
 public:
  explicit field_reader(const json& root) : root_(root) {}

  const json* find(const char* field) const {
    const auto found = root_.find(field);
    return found == root_.end() || found->is_null() ? nullptr : &*found;
  }
  bool has(const char* field) const { return find(field) != nullptr; }

  void read(const char* field, std::int32_t least, std::int32_t most, std::int32_t& out) {
    const json* value = find(field);
    if (value == nullptr) return;
    const bool fits = value->is_number_integer() &&
                      (value->is_number_unsigned() ? value->get<std::uint64_t>() <= 1U << 30U : true);
    const std::int64_t number = fits ? value->get<std::int64_t>() : -1;
    if (!fits || number < least || number > most) {
      note(field, fmt::format("must be a whole number from {} to {}, not {}", least, most, shown(*value)));
    } else {
      out = static_cast<std::int32_t>(number);
    }
  }
  void read(const char* field, double least, double most, double& out) {
    const json* value = find(field);
    if (value == nullptr) return;
    const double number = value->is_number() ? value->get<double>() : std::nan("");
    if (!(number >= least && number <= most))
      note(field, fmt::format("must be a number from {} to {}, not {}", least, most, shown(*value)));
    else
      out = number;
  }
  void read(const char* field, bool& out) {
    const json* value = find(field);
    if (value == nullptr) return;
    if (value->is_boolean())
      out = value->get<bool>();
    else
      note(field, fmt::format("must be true or false, not {}", shown(*value)));
  }
  std::string read_text(const char* field) {
    const json* value = find(field);
    if (value == nullptr) return {};
    if (value->is_string() && !value->get_ref<const std::string&>().empty()) return value->get<std::string>();
    note(field, "must be a string that is not empty");
    return {};
  }
  void note(const char* field, std::string what) {
    if (first_.has_value()) first_ = wrong(field, std::move(what));
  }
  const result<void>& outcome() const { return first_; }

 private:
  const json& root_;
  result<void> first_;
};

void read_method(field_reader& fields, speculative_config& out) {
  const std::string method = fields.read_text("method");
  out.model = fields.read_text("model");
  const std::string name = !method.empty() ? method : out.model;
  if (name == "ngram" || name == "[ngram]")
    out.method = speculative_method::ngram;
  else if (method == "suffix" || name.empty())
    out.method = speculative_method::suffix;
  else if (name == "draft_model" || method.empty())
    out.method = speculative_method::draft_model;
  else
    fields.note("method", fmt::format("{} is not supported; supported are ngram, suffix, draft_model",
                                      shown(json(method))));
  if (out.method == speculative_method::draft_model) out.num_speculative_tokens = 4;
  if (out.method == speculative_method::draft_model) {
    if (out.model.empty()) fields.note("model", "is needed: the draft model's file");
    return;
  }
  const std::string given = std::exchange(out.model, {});
  const bool is_its_name = given == name || (out.method == speculative_method::ngram && given == "[ngram]");
  if (!given.empty() && !is_its_name)
    fields.note("model",
                fmt::format("is for the method draft_model alone, not for {}", to_string(out.method)));
}

// What one method alone has is a mistake beside another: it was meant to change something.
void refuse_other_methods_fields(field_reader& fields, const speculative_config& out) {
  for (const owned_field& field : owned_fields)
    if (field.owner != out.method && fields.has(field.name))
      fields.note(field.name, fmt::format("is for the method {} alone, not for {}", to_string(field.owner),
                                          to_string(out.method)));
}

void read_prompt_lookup(field_reader& fields, speculative_config& out) {
  fields.read("prompt_lookup_min", 1, 16, out.prompt_lookup_min);
  fields.read("prompt_lookup_max", 1, 16, out.prompt_lookup_max);
  if (!fields.has("prompt_lookup_min") && fields.has("prompt_lookup_max"))
    out.prompt_lookup_min = out.prompt_lookup_max;
  if (!fields.has("prompt_lookup_max") && fields.has("prompt_lookup_min"))
    out.prompt_lookup_max = out.prompt_lookup_min;
  if (out.prompt_lookup_min > out.prompt_lookup_max)
    fields.note("prompt_lookup_min", fmt::format("is {}, more than prompt_lookup_max, {}",
                                                 out.prompt_lookup_min, out.prompt_lookup_max));
}

void read_rejection(field_reader& fields, speculative_config& out) {
  const std::string name = fields.read_text("rejection_sample_method");
  if (name == "probabilistic" || name == "standard")
    out.rejection_sample_method = rejection_method::probabilistic;
  else if (name == "strict")
    out.rejection_sample_method = rejection_method::strict;
  else if (!name.empty() && name != "auto")
    fields.note(
        "rejection_sample_method",
        fmt::format("{} is not supported; supported are auto, strict, probabilistic", shown(json(name))));
}

void read_disable(field_reader& fields, speculative_config& out) {
  if (!fields.has("disable_by_batch_size")) return;
  out.disable_by_batch_size = 2;
  fields.read("disable_by_batch_size", 2, 1 << 20, *out.disable_by_batch_size);
}

// Without the library's name for it.
std::string reason_of(const json::exception& fault) {
  const std::string_view text = fault.what();
  const std::size_t at = text.find("] ");
  constexpr std::size_t most = 200;
  return std::string(at == std::string_view::npos ? text : text.substr(at + 2)).substr(0, most);
}

// The document, or why it is none. A name that comes twice is refused: of two values one is a mistake, and
// nobody can tell which.
result<json> read_object(std::string_view text) {
  constexpr const char* option = "speculative_config";
  std::set<std::string> names;
  std::optional<std::string> twice;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event != json::parse_event_t::key || depth != 1) return true;
    const auto& name = value.get_ref<const std::string&>();
    if (!names.insert(name).second && !twice) twice = name;
    return true;
  };
  json root;
  try {
    root = json::parse(text, watch);
  } catch (const json::exception& fault) {
    return fail(error_code::invalid_argument, fmt::format("{} is no JSON: {}", option, reason_of(fault)),
                option);
  }
  if (!root.is_object())
    return fail(error_code::invalid_argument, fmt::format("{} must be a JSON object", option), option);
  if (twice)
    return fail(error_code::invalid_argument,
                fmt::format("{}: the field {} is there twice", option, shown(json(*twice))),
                twice->substr(0, 64));
  return root;
}

result<void> check_idle_field(const idle_field& field, const json& value) {
  if (value.is_null() || value == json::parse(field.value)) return {};
  return wrong(field.name, fmt::format("can only be {} here, not {}", field.value, shown(value)));
}

result<void> check_names(const json& root) {
  for (const auto& [name, value] : root.items()) {
    if (std::find(supported_fields.begin(), supported_fields.end(), name) != supported_fields.end()) continue;
    const auto idle = std::ranges::find(idle_fields, name,
                                        [](const idle_field& each) { return std::string_view(each.name); });
    if (idle != idle_fields.end()) {
      if (auto checked = check_idle_field(*idle, value); !checked) return checked;
      continue;
    }
    return fail(error_code::invalid_argument,
                fmt::format("speculative_config: there is no field {} here; supported are {}",
                            shown(json(name)), fmt::join(supported_fields, ", ")),
                name.substr(0, 64));
  }
  return {};
}

}  // namespace

const char* to_string(speculative_method method) {
  switch (method) {
    case speculative_method::ngram:
      return "ngram";
    case speculative_method::suffix:
      return "suffix";
    case speculative_method::draft_model:
      return "draft_model";
  }
  return "";
}

const char* to_string(rejection_method method) {
  switch (method) {
    case rejection_method::automatic:
      return "auto";
    case rejection_method::strict:
      return "strict";
    case rejection_method::probabilistic:
      return "probabilistic";
  }
  return "";
}

result<speculative_config> parse_speculative_config(std::string_view text) {
  constexpr const char* option = "speculative_config";
  if (text.size() > most_bytes)
    return fail(error_code::invalid_argument, fmt::format("{}: more than {} bytes", option, most_bytes),
                option);
  const result<json> read = read_object(text);
  if (!read) return tl::unexpected(read.error());
  const json& root = *read;
  if (auto known = check_names(root); !known) return tl::unexpected(std::move(known.error()));

  speculative_config out;
  field_reader fields(root);
  read_method(fields, out);
  refuse_other_methods_fields(fields, out);
  fields.read("num_speculative_tokens", 1, most_draft_tokens, out.num_speculative_tokens);
  read_prompt_lookup(fields, out);
  fields.read("suffix_decoding_max_tree_depth", 2, 256, out.suffix_decoding_max_tree_depth);
  fields.read("suffix_decoding_max_cached_requests", 0, 1 << 30, out.suffix_decoding_max_cached_requests);
  fields.read("suffix_decoding_max_spec_factor", 0.0, 1024.0, out.suffix_decoding_max_spec_factor);
  fields.read("suffix_decoding_min_token_prob", 0.0, 1.0, out.suffix_decoding_min_token_prob);
  read_disable(fields, out);
  fields.read("adaptive", out.adaptive);
  read_rejection(fields, out);
  if (!fields.outcome()) return tl::unexpected(fields.outcome().error());
  return out;
}

std::string to_json(const speculative_config& config) {
  json out;
  out["method"] = to_string(config.method);
  if (config.method == speculative_method::draft_model) out["model"] = config.model;
  out["num_speculative_tokens"] = config.num_speculative_tokens;
  if (config.method == speculative_method::ngram) {
    out["prompt_lookup_min"] = config.prompt_lookup_min;
    out["prompt_lookup_max"] = config.prompt_lookup_max;
  }
  if (config.method == speculative_method::suffix) {
    out["suffix_decoding_max_tree_depth"] = config.suffix_decoding_max_tree_depth;
    out["suffix_decoding_max_cached_requests"] = config.suffix_decoding_max_cached_requests;
    out["suffix_decoding_max_spec_factor"] = config.suffix_decoding_max_spec_factor;
    out["suffix_decoding_min_token_prob"] = config.suffix_decoding_min_token_prob;
  }
  if (!config.adaptive) out["adaptive"] = false;
  if (config.disable_by_batch_size) out["disable_by_batch_size"] = *config.disable_by_batch_size;
  if (config.method == speculative_method::draft_model)
    out["rejection_sample_method"] = to_string(config.rejection_sample_method);
  return out.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace troupe
