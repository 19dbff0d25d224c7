#include "tests/support/reference_model.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::test {
namespace {

using row = std::vector<float>;
using rows = std::vector<row>;  // [tokens][width]

row dequantized_row(const gguf::tensor& tensor, std::size_t index) {
  const std::size_t width = tensor.shape[0];
  const std::size_t bytes = width / gguf::block_elements(tensor.type) * gguf::block_bytes(tensor.type);
  row out(width);
  gguf::dequantize(tensor.type, tensor.data.data() + index * bytes, width, out.data());
  return out;
}

double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// in [tokens][width] times weight (out x width), plus the bias where there is one.
rows multiply(const gguf::tensor& weight, const gguf::tensor* bias, const rows& in) {
  const std::size_t out_width = weight.shape[1];
  const row added = bias != nullptr ? dequantized_row(*bias, 0) : row(out_width, 0.0F);
  rows out(in.size(), row(out_width));
  for (std::size_t o = 0; o < out_width; ++o) {
    const row weights = dequantized_row(weight, o);
    for (std::size_t t = 0; t < in.size(); ++t) {
      out[t][o] = static_cast<float>(dot(weights.data(), in[t].data(), weights.size())) + added[o];
    }
  }
  return out;
}

void rms_normalize(float* values, const row& weight, float epsilon) {
  const std::size_t count = weight.size();
  const double mean_square = dot(values, values, count) / static_cast<double>(count);
  const double scale = 1.0 / std::sqrt(mean_square + static_cast<double>(epsilon));
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<double>(values[i]) * scale) * weight[i];
  }
}

rows normalized(const gguf::tensor& weight, rows values, float epsilon) {
  const row weights = dequantized_row(weight, 0);
  for (auto& each : values) rms_normalize(each.data(), weights, epsilon);
  return values;
}

void normalize_heads(const gguf::tensor* weight, const model_config& config, rows& values) {
  if (weight == nullptr) return;
  const row weights = dequantized_row(*weight, 0);
  for (auto& each : values) {
    for (std::size_t start = 0; start < each.size(); start += weights.size()) {
      rms_normalize(each.data() + start, weights, config.rms_norm_eps);
    }
  }
}

// Rotates every head of every token; token t stands at position t.
void rotate(const model_config& config, rows& values) {
  const std::size_t pairs = config.rope_inverse_frequencies.size();
  const bool interleaved = config.rope == rope_layout::interleaved;
  for (std::size_t t = 0; t < values.size(); ++t) {
    for (std::size_t head = 0; head < values[t].size(); head += static_cast<std::size_t>(config.head_dim)) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(t) * static_cast<double>(config.rope_inverse_frequencies[i]);
        const double scale = config.rope_attention_scale;
        float& first = values[t][head + (interleaved ? 2 * i : i)];
        float& second = values[t][head + (interleaved ? 2 * i + 1 : i + pairs)];
        const double x = first;
        const double y = second;
        first = static_cast<float>((x * std::cos(angle) - y * std::sin(angle)) * scale);
        second = static_cast<float>((x * std::sin(angle) + y * std::cos(angle)) * scale);
      }
    }
  }
}

// Attention of one head of one token over positions 0 to t, into out[head_dim].
void attend(const model_config& config, const row& query, const rows& keys, const rows& values,
            std::size_t head, std::size_t t, float* out) {
  const auto size = static_cast<std::size_t>(config.head_dim);
  const std::size_t group = static_cast<std::size_t>(config.num_heads / config.num_kv_heads);
  const std::size_t kv = head / group * size;
  std::vector<double> weights(t + 1);
  for (std::size_t s = 0; s <= t; ++s) {
    weights[s] =
        dot(query.data() + head * size, keys[s].data() + kv, size) / std::sqrt(static_cast<double>(size));
  }
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0.0;
  for (auto& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::size_t i = 0; i < size; ++i) {
    double mixed = 0.0;
    for (std::size_t s = 0; s <= t; ++s) mixed += weights[s] * static_cast<double>(values[s][kv + i]);
    out[i] = static_cast<float>(mixed / sum);
  }
}

rows attention(const model_config& config, const layer_weights& layer, const rows& in) {
  rows queries = multiply(*layer.query, layer.query_bias, in);
  rows keys = multiply(*layer.key, layer.key_bias, in);
  const rows values = multiply(*layer.value, layer.value_bias, in);
  normalize_heads(layer.query_norm, config, queries);
  normalize_heads(layer.key_norm, config, keys);
  rotate(config, queries);
  rotate(config, keys);
  rows mixed(in.size(), row(queries[0].size()));
  for (std::size_t t = 0; t < in.size(); ++t) {
    for (std::size_t head = 0; head < static_cast<std::size_t>(config.num_heads); ++head) {
      attend(config, queries[t], keys, values, head, t,
             mixed[t].data() + head * static_cast<std::size_t>(config.head_dim));
    }
  }
  return multiply(*layer.output, nullptr, mixed);
}

rows feed_forward(const layer_weights& layer, const rows& in) {
  rows gate = multiply(*layer.gate, nullptr, in);
  const rows up = multiply(*layer.up, nullptr, in);
  for (std::size_t t = 0; t < in.size(); ++t) {
    for (std::size_t i = 0; i < gate[t].size(); ++i) {
      const double x = gate[t][i];
      gate[t][i] = static_cast<float>(x / (1.0 + std::exp(-x)) * static_cast<double>(up[t][i]));
    }
  }
  return multiply(*layer.down, nullptr, gate);
}

void add(rows& sum, const rows& other) {
  for (std::size_t t = 0; t < sum.size(); ++t) {
    for (std::size_t i = 0; i < sum[t].size(); ++i) sum[t][i] += other[t][i];
  }
}

}  // namespace

rows reference_logits(const model& model, std::span<const token_id> tokens, bool last_only) {
  const auto& config = model.config;
  rows hidden;
  for (const auto token : tokens)
    hidden.push_back(dequantized_row(*model.embedding, static_cast<std::size_t>(token)));
  for (const auto& layer : model.layers) {
    add(hidden, attention(config, layer, normalized(*layer.attention_norm, hidden, config.rms_norm_eps)));
    add(hidden, feed_forward(layer, normalized(*layer.ffn_norm, hidden, config.rms_norm_eps)));
  }
  if (last_only && hidden.size() > 1) hidden.erase(hidden.begin(), hidden.end() - 1);
  return multiply(*model.head, nullptr, normalized(*model.output_norm, hidden, config.rms_norm_eps));
}

}  // namespace troupe::test
