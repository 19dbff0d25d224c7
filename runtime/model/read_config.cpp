#include "runtime/model/read_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/gguf/printable.hpp"
#include "runtime/model/rope.hpp"

namespace troupe {
namespace {

tl::unexpected<error> bad_key(error_code code, const std::string& key, std::string_view what) {
  return fail(code, fmt::format("metadata '{}': {}", gguf::printable(key), what), key);
}

// Reads "<architecture>.<name>" keys and keeps the first error, so that a configuration reads as one list.
class key_reader {
 public:
  key_reader(const gguf::file& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  bool has(std::string_view name) const { return file_.find(key(name)) != nullptr; }

  std::int32_t integer(std::string_view name, std::int32_t lowest, std::int32_t highest) {
    return checked(name, file_.get_int(key(name)), lowest, highest);
  }
  std::int32_t integer_or(std::string_view name, std::int32_t fallback, std::int32_t lowest,
                          std::int32_t highest) {
    return checked(name, file_.get_int_or(key(name), fallback), lowest, highest);
  }
  float positive_float(std::string_view name, double highest) {
    const auto number = file_.get_float(key(name));
    if (!number) return note(number.error()), 0.0F;
    if (!(*number >= 1e-12 && *number <= highest)) {
      note(bad_key(error_code::corrupt_file, key(name), fmt::format("{} is out of range", *number)).value());
    }
    return static_cast<float>(*number);
  }

  void note(error problem) {
    if (!problem_) problem_ = std::move(problem);
  }
  const std::optional<error>& problem() const { return problem_; }

 private:
  std::int32_t checked(std::string_view name, const result<std::int64_t>& number, std::int32_t lowest,
                       std::int32_t highest) {
    if (!number) return note(number.error()), lowest;
    if (*number < lowest || *number > highest) {
      const auto what = fmt::format("{} is not within {} to {}", *number, lowest, highest);
      return note(bad_key(error_code::corrupt_file, key(name), what).value()), lowest;
    }
    return static_cast<std::int32_t>(*number);
  }

  const gguf::file& file_;
  std::string architecture_;
  std::optional<error> problem_;
};

result<void> check_divisible(const key_reader& keys, std::string_view name, std::int32_t number,
                             std::int32_t divisor) {
  if (number % divisor == 0) return {};
  return bad_key(error_code::unsupported, keys.key(name),
                 fmt::format("{} is no multiple of {}", number, divisor));
}

// Features of other models of these architectures that would change the arithmetic.
result<void> refuse_unserved(const gguf::file& file, const key_reader& keys) {
  for (const char* name : {"expert_count", "attention.scale", "logit_scale", "residual_scale",
                           "embedding_scale", "attn_logit_softcapping", "final_logit_softcapping"}) {
    if (auto number = file.get_float_or(keys.key(name), 0); !number || *number != 0) {
      return bad_key(error_code::unsupported, keys.key(name), "models with this are not served");
    }
  }
  if (const auto causal = file.get_bool_or(keys.key("attention.causal"), true); !causal || !*causal) {
    return bad_key(error_code::unsupported, keys.key("attention.causal"), "only causal attention is served");
  }
  if (const auto parts = file.get_int_or("split.count", 1); !parts || *parts > 1) {
    return bad_key(error_code::unsupported, "split.count",
                   "the model is split over several files; merge them first");
  }
  return {};
}

result<std::string> served_architecture(const gguf::file& file) {
  const auto name = file.get_string("general.architecture");
  if (!name) return tl::unexpected(name.error());
  for (const std::string_view served : {"llama", "qwen2", "qwen3"}) {
    if (*name == served) return std::string(served);
  }
  return bad_key(error_code::unsupported, "general.architecture",
                 fmt::format("'{}' is not served (llama, qwen2 and qwen3 are)", gguf::printable(*name)));
}

result<void> read_attention(key_reader& keys, model_config& config) {
  config.num_heads = keys.integer("attention.head_count", 1, max_heads);
  config.num_kv_heads = keys.integer_or("attention.head_count_kv", config.num_heads, 1, max_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    return bad_key(error_code::corrupt_file, keys.key("attention.head_count_kv"),
                   fmt::format("{} KV heads do not divide {} heads", config.num_kv_heads, config.num_heads));
  }
  if (!keys.has("attention.key_length") && config.hidden_size % config.num_heads != 0) {
    return bad_key(error_code::corrupt_file, keys.key("attention.head_count"),
                   fmt::format("{} heads do not divide {}", config.num_heads, config.hidden_size));
  }
  const std::int32_t natural = std::clamp(config.hidden_size / config.num_heads, 1, max_head_dim);
  config.head_dim = keys.integer_or("attention.key_length", natural, 2, max_head_dim);
  const auto value_length = keys.integer_or("attention.value_length", config.head_dim, 1, max_head_dim);
  if (value_length != config.head_dim) {
    return bad_key(error_code::unsupported, keys.key("attention.value_length"),
                   "differs from attention.key_length");
  }
  if (auto even = check_divisible(keys, "attention.key_length", config.head_dim, 2); !even) return even;
  return check_divisible(keys, "attention.head_count", config.num_heads * config.head_dim, 32);
}

// Within its window a sliding attention sees all that full attention sees.
void cap_context_at_window(key_reader& keys, model_config& config) {
  const auto window = keys.integer_or("attention.sliding_window", 0, 0, max_context_length);
  if (window > 0) config.context_length = std::min(config.context_length, window);
}

result<void> read_rope(const gguf::file& file, key_reader& keys, model_config& config) {
  config.rope = config.architecture == "llama" ? rope_layout::interleaved : rope_layout::halves;
  config.rope_dim = keys.integer_or("rope.dimension_count", config.head_dim, 2, max_head_dim);
  if (config.rope_dim % 2 != 0 || config.rope_dim > config.head_dim) {
    return bad_key(error_code::corrupt_file, keys.key("rope.dimension_count"),
                   fmt::format("{} rotated dimensions in a head of {}", config.rope_dim, config.head_dim));
  }
  auto rope = read_rope_frequencies(file, config);
  if (!rope) return tl::unexpected(std::move(rope.error()));
  config.rope_inverse_frequencies = std::move(rope->inverse);
  config.rope_attention_scale = rope->attention_scale;
  return {};
}

}  // namespace

result<model_config> read_config(const gguf::file& file) {
  const auto architecture = served_architecture(file);
  if (!architecture) return tl::unexpected(architecture.error());
  key_reader keys(file, *architecture);
  if (auto served = refuse_unserved(file, keys); !served) return tl::unexpected(std::move(served.error()));

  model_config config;
  config.architecture = *architecture;
  config.name = file.get_string("general.name").value_or(std::string_view());
  config.hidden_size = keys.integer("embedding_length", 1, max_hidden_size);
  config.num_layers = keys.integer("block_count", 1, max_layers);
  config.intermediate_size = keys.integer("feed_forward_length", 1, max_intermediate_size);
  config.context_length = keys.integer("context_length", 1, max_context_length);
  config.rms_norm_eps = keys.positive_float("attention.layer_norm_rms_epsilon", 1.0);
  if (keys.problem()) return tl::unexpected(*keys.problem());
  for (const auto& [name, size] : {std::pair{"embedding_length", config.hidden_size},
                                   std::pair{"feed_forward_length", config.intermediate_size}}) {
    if (auto whole = check_divisible(keys, name, size, 32); !whole)
      return tl::unexpected(std::move(whole.error()));
  }
  const auto attention = read_attention(keys, config);
  if (keys.problem()) return tl::unexpected(*keys.problem());
  if (!attention) return tl::unexpected(attention.error());
  const auto rope = read_rope(file, keys, config);  // by the context trained on
  cap_context_at_window(keys, config);
  if (keys.problem()) return tl::unexpected(*keys.problem());
  if (!rope) return tl::unexpected(rope.error());
  return config;
}

}  // namespace troupe
