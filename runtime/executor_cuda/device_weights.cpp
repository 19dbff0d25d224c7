#include "runtime/executor_cuda/device_weights.hpp"

#include <algorithm>
#include <initializer_list>

#include "runtime/executor/unpack_blocks.hpp"
#include "runtime/executor_cuda/weight_uploader.hpp"

namespace troupe {
namespace {

bool is_quantized(const gguf::tensor* tensor) {
  const auto kind = packed_kind(tensor->type);
  return kind && kernels::is_quantized(*kind);
}

// Lays out all weights: one pass that measures, one that copies.
class weight_layout {
 public:
  weight_layout() = default;
  weight_layout(std::byte* memory, weight_uploader& uploader) : memory_(memory), uploader_(&uploader) {}

  using tensors = std::initializer_list<const gguf::tensor*>;

  // As the form says; in bf16 where one of the parts has no codes.
  device_matrix matrix(tensors parts, weight_form form, std::int32_t multiple = 1) {
    const bool has_codes = form == weight_form::in_file && std::ranges::all_of(parts, is_quantized);
    return has_codes ? quantized_matrix(parts, multiple) : bf16_matrix(parts, multiple);
  }

  // `multiple`: zeros follow until there are so many outputs.
  device_matrix bf16_matrix(tensors parts, std::int32_t multiple = 1) {
    device_matrix out = shape_of(parts, multiple);
    std::int32_t present = 0;
    for (const gguf::tensor* part : parts) present += static_cast<std::int32_t>(part->shape[1]);
    const auto inputs = static_cast<std::size_t>(out.inputs);
    auto* to = take<__nv_bfloat16>(static_cast<std::size_t>(out.outputs) * inputs);
    out.data = to;
    if (uploader_ == nullptr) return out;
    for (const gguf::tensor* part : parts) {
      uploader_->upload_bf16(*part, to);
      to += part->elements();
    }
    uploader_->clear(to, static_cast<std::size_t>(out.outputs - present) * inputs * sizeof(__nv_bfloat16));
    return out;
  }

  // There is no memory for outputs beyond the parts' own.
  device_matrix quantized_matrix(tensors parts, std::int32_t multiple) {
    device_matrix out = shape_of(parts, multiple);
    for (const gguf::tensor* from : parts) {
      kernels::tiled_matrix part = kernels::describe_tiled(
          *packed_kind(from->type), static_cast<std::int32_t>(from->shape[1]), out.inputs);
      std::byte* const to = take<std::byte>(kernels::tiled_bytes(part));
      part.data = to;
      out.parts[static_cast<std::size_t>(out.num_parts++)] = part;
      if (uploader_ != nullptr) uploader_->upload_tiled(*from, part, to);
    }
    return out;
  }

  // Null where the model has none.
  const float* vector(const gguf::tensor* from) {
    if (from == nullptr) return nullptr;
    float* const to = take<float>(from->elements());
    if (uploader_ != nullptr) uploader_->upload_f32(*from, to);
    return to;
  }

  // The biases of matrices that are multiplied together, 0 where one has none; null where all have none.
  const float* biases(const gguf::tensor* const (&weights)[3], const gguf::tensor* const (&biases)[3]) {
    if (biases[0] == nullptr && biases[1] == nullptr && biases[2] == nullptr) return nullptr;
    std::size_t outputs = 0;
    for (const gguf::tensor* each : weights) outputs += each->shape[1];
    float* const first = take<float>(outputs);
    float* to = first;
    for (std::size_t i = 0; i < 3 && uploader_ != nullptr; to += weights[i]->shape[1], ++i) {
      if (biases[i] != nullptr) {
        uploader_->upload_f32(*biases[i], to);
      } else {
        uploader_->upload_f32(std::vector<float>(weights[i]->shape[1], 0.0F), to);
      }
    }
    return first;
  }

  const float* values(const std::vector<float>& from) {
    float* const to = take<float>(from.size());
    if (uploader_ != nullptr) uploader_->upload_f32(from, to);
    return to;
  }

  std::size_t bytes() const { return bytes_; }

 private:
  static device_matrix shape_of(tensors parts, std::int32_t multiple) {
    device_matrix out;
    for (const gguf::tensor* part : parts) {
      out.inputs = static_cast<std::int32_t>(part->shape[0]);
      out.outputs += static_cast<std::int32_t>(part->shape[1]);
    }
    out.outputs = (out.outputs + multiple - 1) / multiple * multiple;
    return out;
  }

  // At multiples of 256 bytes, as cudaMalloc() would.
  template <class T>
  T* take(std::size_t count) {
    const std::size_t at = bytes_;
    bytes_ += (count * sizeof(T) + 255) / 256 * 256;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }

  std::byte* memory_ = nullptr;
  weight_uploader* uploader_ = nullptr;
  std::size_t bytes_ = 0;
};

std::size_t largest_of(const device_weights& weights) {
  std::size_t largest = 0;
  const auto look_at = [&largest](const device_matrix& each) {
    const auto elements = static_cast<std::size_t>(each.outputs) * static_cast<std::size_t>(each.inputs);
    if (each.is_quantized()) largest = std::max(largest, elements);
  };
  look_at(weights.head);
  for (const device_layer& layer : weights.layers)
    for (const device_matrix* each : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) look_at(*each);
  return largest;
}

// Rows of the embedding are looked up, not multiplied: the head's codes, where it has any, stand beside it.
void place_weights(const model& source, weight_form form, weight_layout& to, device_weights& out) {
  constexpr std::int32_t multiple = device_weights::head_multiple;
  out.embedding = to.bf16_matrix({source.embedding}, multiple);
  out.head = head_is_embedding(source, form) ? out.embedding : to.matrix({source.head}, form, multiple);
  out.output_norm = to.vector(source.output_norm);
  out.rope_frequencies = to.values(source.config.rope_inverse_frequencies);
  for (const layer_weights& from : source.layers) {
    device_layer& layer = out.layers.emplace_back();
    layer.attention_norm = to.vector(from.attention_norm);
    layer.qkv = to.matrix({from.query, from.key, from.value}, form);
    layer.qkv_bias =
        to.biases({from.query, from.key, from.value}, {from.query_bias, from.key_bias, from.value_bias});
    layer.query_norm = to.vector(from.query_norm);
    layer.key_norm = to.vector(from.key_norm);
    layer.output = to.matrix({from.output}, form);
    layer.ffn_norm = to.vector(from.ffn_norm);
    layer.gate_up = to.matrix({from.gate, from.up}, form);
    layer.down = to.matrix({from.down}, form);
  }
  out.largest_quantized = largest_of(out);
}

}  // namespace

bool head_is_embedding(const model& source, weight_form form) {
  return source.head == source.embedding && !(form == weight_form::in_file && is_quantized(source.head));
}

std::size_t device_weight_bytes(const model& source, weight_form form) {
  weight_layout measured;
  device_weights unused;
  place_weights(source, form, measured, unused);
  return measured.bytes();
}

device_weights upload_weights(const model& source, const cuda_stream& stream, weight_form form) {
  device_weights out;
  out.memory = device_memory(device_weight_bytes(source, form));
  weight_uploader uploader(stream);
  weight_layout layout(out.memory.data(), uploader);
  place_weights(source, form, layout, out);
  stream.synchronize();
  return out;
}

}  // namespace troupe
