#include "runtime/executor_cuda/model/device_weights.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "runtime/executor/cpu/unpack_blocks.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/model/weight_uploader.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;

bool is_quantized(const gguf::tensor* tensor) {
  const auto kind = packed_kind(tensor->type);
  return kind && kernels::is_quantized(*kind);
}

// The tensor cores' 8-bit products want both at multiples of 16.
bool can_be_fp8(const device_matrix& matrix) { return matrix.inputs % 16 == 0 && matrix.outputs % 16 == 0; }

// Lays out all weights: one pass that measures, one that copies.
class weight_layout {
 public:
  explicit weight_layout(element_type type) : type_(type) {}
  weight_layout(element_type type, std::byte* memory, weight_uploader& uploader)
      : type_(type), memory_(memory), uploader_(&uploader) {}

  using tensors = std::initializer_list<const gguf::tensor*>;

  // As the form says; plain where one of the parts has no codes, and where there are no products in fp8.
  device_matrix matrix(tensors parts, weight_form form, std::int32_t multiple = 1) {
    if (form == weight_form::in_file && std::ranges::all_of(parts, is_quantized))
      return quantized_matrix(parts, multiple);
    if (form == weight_form::fp8 && can_be_fp8(shape_of(parts, 1))) return fp8_matrix(parts);
    return plain_matrix(parts, multiple);
  }

  // `multiple`: zeros follow until there are so many outputs.
  device_matrix plain_matrix(tensors parts, std::int32_t multiple = 1) {
    device_matrix out = shape_of(parts, multiple);
    out.type = type_ == element_type::f16 ? matrix_type::f16 : matrix_type::bf16;
    std::int32_t present = 0;
    for (const gguf::tensor* part : parts) present += static_cast<std::int32_t>(part->shape[1]);
    const auto inputs = static_cast<std::size_t>(out.inputs);
    auto* to = take<std::uint16_t>(static_cast<std::size_t>(out.outputs) * inputs);
    out.data = to;
    if (uploader_ == nullptr) return out;
    for (const gguf::tensor* part : parts) {
      uploader_->upload_rounded(*part, type_, to);
      to += part->elements();
    }
    uploader_->clear(to, static_cast<std::size_t>(out.outputs - present) * inputs * sizeof(std::uint16_t));
    return out;
  }

  device_matrix fp8_matrix(tensors parts) {
    device_matrix out = shape_of(parts, 1);
    out.type = matrix_type::e4m3;
    auto* to = take<std::byte>(static_cast<std::size_t>(out.outputs) * static_cast<std::size_t>(out.inputs));
    float* scales = take<float>(static_cast<std::size_t>(out.outputs));
    out.data = to;
    out.scales = scales;
    for (const gguf::tensor* part : parts) {
      if (uploader_ == nullptr) break;
      uploader_->upload_fp8(*part, type_, to, scales);
      to += part->elements();
      scales += part->shape[1];
    }
    return out;
  }

  // There is no memory for outputs beyond the parts' own.
  device_matrix quantized_matrix(tensors parts, std::int32_t multiple) {
    device_matrix out = shape_of(parts, multiple);
    for (const auto* first = parts.begin(); first != parts.end();) {
      const auto* end = first + 1;
      while (end != parts.end() && continues(**(end - 1), **end)) ++end;
      out.parts[static_cast<std::size_t>(out.num_parts++)] = tiled_part({first, end}, out.inputs);
      first = end;
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

  // Whether what comes next begins where a tile of the same kind ends: one product computes both.
  static bool continues(const gguf::tensor& last, const gguf::tensor& next) {
    return packed_kind(last.type) == packed_kind(next.type) &&
           last.shape[1] % static_cast<std::size_t>(kernels::tile_outputs) == 0;
  }

  kernels::tiled_matrix tiled_part(std::span<const gguf::tensor* const> from, std::int32_t inputs) {
    std::size_t outputs = 0;
    for (const gguf::tensor* each : from) outputs += each->shape[1];
    const auto describe = [&](std::size_t count) {
      return kernels::describe_tiled(*packed_kind(from.front()->type), static_cast<std::int32_t>(count),
                                     inputs);
    };
    kernels::tiled_matrix part = describe(outputs);
    std::byte* to = take<std::byte>(kernels::tiled_bytes(part));
    part.data = to;
    for (const gguf::tensor* each : from) {
      if (uploader_ == nullptr) break;
      const kernels::tiled_matrix own = describe(each->shape[1]);
      uploader_->upload_tiled(*each, own, to);
      to += kernels::tiled_bytes(own);
    }
    return part;
  }

  // At multiples of 256 bytes, as cudaMalloc() would.
  template <class T>
  T* take(std::size_t count) {
    const std::size_t at = bytes_;
    bytes_ += (count * sizeof(T) + 255) / 256 * 256;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
  }

  element_type type_;
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

bool has_fp8(const device_layer& layer) {
  const device_matrix* const all[] = {&layer.qkv, &layer.output, &layer.gate_up, &layer.down};
  return std::ranges::any_of(all, [](const device_matrix* each) { return each->type == matrix_type::e4m3; });
}

// Rows of the embedding are looked up, not multiplied: the head's codes, where it has any, stand beside it.
void place_weights(const model& source, weight_form form, weight_layout& to, device_weights& out) {
  constexpr std::int32_t multiple = device_weights::head_multiple;
  out.embedding = to.plain_matrix({source.embedding}, multiple);
  const weight_form of_head = form == weight_form::fp8 ? weight_form::plain : form;
  out.head = head_is_embedding(source, form) ? out.embedding : to.matrix({source.head}, of_head, multiple);
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
  out.has_fp8 = std::ranges::any_of(out.layers, has_fp8);
}

}  // namespace

bool head_is_embedding(const model& source, weight_form form) {
  return source.head == source.embedding && !(form == weight_form::in_file && is_quantized(source.head));
}

std::size_t device_weight_bytes(const model& source, weight_form form) {
  weight_layout measured(element_type::bf16);
  device_weights unused;
  place_weights(source, form, measured, unused);
  return measured.bytes();
}

device_weights upload_weights(const model& source, const cuda_stream& stream, weight_form form,
                              element_type type) {
  device_weights out;
  out.type = type;
  out.memory = device_memory(device_weight_bytes(source, form));
  weight_uploader uploader(stream);
  weight_layout layout(type, out.memory.data(), uploader);
  place_weights(source, form, layout, out);
  check_launches("what packs the weights");
  stream.synchronize();
  return out;
}

}  // namespace troupe
