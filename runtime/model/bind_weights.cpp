#include "runtime/model/bind_weights.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "runtime/gguf/printable.hpp"

namespace troupe {
namespace {

tl::unexpected<error> bad_tensor(error_code code, std::string_view name, std::string_view what) {
  const std::string field = "tensor '" + gguf::printable(name) + "'";
  return fail(code, fmt::format("{}: {}", field, what), field);
}

class binder {
 public:
  explicit binder(const gguf::file& file) : file_(file) {}

  const gguf::tensor* optional(const std::string& name) {
    const gguf::tensor* found = file_.find_tensor(name);
    if (found != nullptr) used_.insert(found);
    return found;
  }

  // `in` x `out` as GGUF writes it, or a vector where out is 0. Keeps the first error.
  const gguf::tensor* optional(const std::string& name, std::int32_t in, std::int32_t out) {
    const gguf::tensor* found = optional(name);
    if (found != nullptr) check(*found, in, out);
    return found;
  }

  const gguf::tensor* required(const std::string& name, std::int32_t in, std::int32_t out) {
    const gguf::tensor* found = optional(name, in, out);
    if (found == nullptr) note(bad_tensor(error_code::not_found, name, "missing").value());
    return found;
  }

  void note(error problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  // The first error, or the first tensor that nothing asked for: ignoring it would compute another model.
  result<void> finish() const {
    if (problem_) return tl::unexpected(*problem_);
    for (const auto& tensor : file_.tensors()) {
      if (!used_.contains(&tensor)) {
        return bad_tensor(error_code::unsupported, tensor.name,
                          "no part of this architecture as it is served");
      }
    }
    return {};
  }

 private:
  void check(const gguf::tensor& found, std::int32_t in, std::int32_t out) {
    if (!gguf::is_served(found.type)) {
      const auto what = fmt::format("its type {} is not served", gguf::to_string(found.type));
      return note(bad_tensor(error_code::unsupported, found.name, what).value());
    }
    const std::uint64_t columns = static_cast<std::uint64_t>(in);
    const std::uint64_t rows = out == 0 ? 1 : static_cast<std::uint64_t>(out);
    if (found.shape[0] == columns && found.shape[1] == rows && found.shape[2] == 1 && found.shape[3] == 1)
      return;
    note(bad_tensor(error_code::corrupt_file, found.name,
                    fmt::format("its shape is {}x{}x{}x{}, the metadata ask for {}x{}", found.shape[0],
                                found.shape[1], found.shape[2], found.shape[3], columns, rows))
             .value());
  }

  const gguf::file& file_;
  std::unordered_set<const gguf::tensor*> used_;
  std::optional<error> problem_;
};

// Biases and norms come as a set: a part of one is a damaged file.
void check_whole(binder& tensors, const std::string& layer, const char* what, bool required,
                 std::initializer_list<const gguf::tensor*> set) {
  std::size_t present = 0;
  for (const auto* member : set) present += member != nullptr ? 1 : 0;
  if (present == set.size() || (present == 0 && !required)) return;
  tensors.note(error{error_code::corrupt_file,
                     fmt::format("{}: {} of {} {} present", layer, present, set.size(), what), layer});
}

layer_weights bind_layer(binder& tensors, const model_config& config, std::int32_t index) {
  const std::string layer = fmt::format("blk.{}", index);
  const auto hidden = config.hidden_size;
  const auto query = config.num_heads * config.head_dim;
  const auto kv = config.num_kv_heads * config.head_dim;
  const auto vector = [&](const char* name, std::int32_t size) {
    return tensors.optional(layer + name, size, 0);
  };
  layer_weights out;
  out.attention_norm = tensors.required(layer + ".attn_norm.weight", hidden, 0);
  out.query = tensors.required(layer + ".attn_q.weight", hidden, query);
  out.key = tensors.required(layer + ".attn_k.weight", hidden, kv);
  out.value = tensors.required(layer + ".attn_v.weight", hidden, kv);
  out.query_bias = vector(".attn_q.bias", query);
  out.key_bias = vector(".attn_k.bias", kv);
  out.value_bias = vector(".attn_v.bias", kv);
  out.query_norm = vector(".attn_q_norm.weight", config.head_dim);
  out.key_norm = vector(".attn_k_norm.weight", config.head_dim);
  out.output = tensors.required(layer + ".attn_output.weight", query, hidden);
  out.ffn_norm = tensors.required(layer + ".ffn_norm.weight", hidden, 0);
  out.gate = tensors.required(layer + ".ffn_gate.weight", hidden, config.intermediate_size);
  out.up = tensors.required(layer + ".ffn_up.weight", hidden, config.intermediate_size);
  out.down = tensors.required(layer + ".ffn_down.weight", config.intermediate_size, hidden);
  check_whole(tensors, layer, "Q/K/V biases", config.architecture == "qwen2",
              {out.query_bias, out.key_bias, out.value_bias});
  check_whole(tensors, layer, "Q/K norms", config.architecture == "qwen3", {out.query_norm, out.key_norm});
  return out;
}

// The embedding's rows, which must be as many as the vocabulary has tokens.
result<std::int32_t> read_vocab_size(const gguf::file& file) {
  constexpr std::string_view name = "token_embd.weight";
  const gguf::tensor* embedding = file.find_tensor(name);
  if (embedding == nullptr) return bad_tensor(error_code::not_found, name, "missing");
  const std::uint64_t rows = embedding->shape[1];
  if (rows > static_cast<std::uint64_t>(max_vocab_size)) {
    return bad_tensor(error_code::corrupt_file, name, fmt::format("{} tokens", rows));
  }
  const std::string key = "tokenizer.ggml.tokens";
  const gguf::value* tokens = file.find(key);
  const auto* list = tokens != nullptr ? std::get_if<gguf::array>(tokens) : nullptr;
  const auto* texts = list != nullptr ? std::get_if<std::vector<std::string_view>>(list) : nullptr;
  if (texts == nullptr) {
    return fail(
        tokens == nullptr ? error_code::not_found : error_code::corrupt_file,
        fmt::format("metadata '{}': {}", key, tokens == nullptr ? "missing" : "not an array of strings"),
        key);
  }
  if (texts->size() != rows) {
    return fail(
        error_code::corrupt_file,
        fmt::format("metadata '{}': {} tokens, but the embedding has {} rows", key, texts->size(), rows),
        key);
  }
  return static_cast<std::int32_t>(rows);
}

}  // namespace

result<void> bind_weights(model& target) {
  auto& config = target.config;
  const auto vocab_size = read_vocab_size(target.file);
  if (!vocab_size) return tl::unexpected(vocab_size.error());
  config.vocab_size = *vocab_size;

  binder tensors(target.file);
  target.embedding = tensors.required("token_embd.weight", config.hidden_size, config.vocab_size);
  for (std::int32_t i = 0; i < config.num_layers; ++i)
    target.layers.push_back(bind_layer(tensors, config, i));
  target.output_norm = tensors.required("output_norm.weight", config.hidden_size, 0);
  target.head = tensors.optional("output.weight", config.hidden_size, config.vocab_size);
  if (target.head == nullptr) target.head = target.embedding;
  tensors.optional("rope_freqs.weight");
  return tensors.finish();
}

}  // namespace troupe
