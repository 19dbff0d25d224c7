#include "runtime/executor/cpu/packed_model.hpp"

#include <initializer_list>
#include <string>

#include "runtime/executor/cpu/unpack_blocks.hpp"

namespace troupe {
namespace {

using kernels::packed_matrix;

std::vector<float> floats(const gguf::tensor* tensor) {
  if (tensor == nullptr) return {};
  std::vector<float> values(tensor->elements());
  gguf::dequantize(tensor->type, tensor->data.data(), values.size(), values.data());
  return values;
}

std::size_t packed_bytes(const packed_matrix& matrix) {
  return static_cast<std::size_t>(matrix.panels) * matrix.panel_bytes;
}

// Lays out and fills all matrices of a model: one pass that measures, one that packs, or finds what is
// packed.
class packer {
 public:
  explicit packer(std::byte* memory, bool is_filled = false) : memory_(memory), is_filled_(is_filled) {}

  fused_linear fuse(std::initializer_list<const gguf::tensor*> tensors) {
    fused_linear linear;
    for (const gguf::tensor* tensor : tensors) {
      const auto kind = packed_kind(tensor->type);
      if (!kind) {
        unsupported_ = tensor;
        continue;
      }
      packed_matrix matrix = kernels::describe_packed(*kind, static_cast<std::int32_t>(tensor->shape[1]),
                                                      static_cast<std::int32_t>(tensor->shape[0]));
      if (memory_ != nullptr) {
        if (!is_filled_) pack(*tensor, matrix, memory_ + bytes_);
        matrix.data = memory_ + bytes_;
      }
      bytes_ += packed_bytes(matrix);
      linear.parts.push_back(matrix);
      linear.columns.push_back(linear.width);
      linear.panels += matrix.panels;
      linear.width += matrix.panels * kernels::panel_outputs;
      linear.inputs = matrix.inputs;
      (kernels::is_quantized(*kind) ? linear.reads_codes : linear.reads_values) = true;
    }
    return linear;
  }

  std::size_t bytes() const { return bytes_; }
  const gguf::tensor* unsupported() const { return unsupported_; }

 private:
  static void pack(const gguf::tensor& tensor, const packed_matrix& layout, std::byte* to) {
    const std::size_t row_bytes = tensor.data.size() / static_cast<std::size_t>(layout.outputs);
    for (std::int32_t output = 0; output < layout.outputs; ++output) {
      const std::byte* row = tensor.data.data() + static_cast<std::size_t>(output) * row_bytes;
      if (!kernels::is_quantized(layout.kind)) {
        kernels::pack_row(layout, to, output, row);
        continue;
      }
      const auto block_groups = static_cast<std::int32_t>(gguf::block_elements(tensor.type) / 32);
      const std::size_t block_bytes = gguf::block_bytes(tensor.type);
      kernels::weight_group groups[8] = {};
      for (std::int32_t group = 0; group < layout.inputs / 32; group += block_groups) {
        unpack_block(tensor.type, row, groups);
        for (std::int32_t i = 0; i < block_groups; ++i) {
          kernels::pack_group(layout, to, output, group + i, groups[i]);
        }
        row += block_bytes;
      }
    }
    release_file_pages(tensor.data.data(), tensor.data.size());
  }

  std::byte* memory_;
  bool is_filled_;
  std::size_t bytes_ = 0;
  const gguf::tensor* unsupported_ = nullptr;
};

// Each part's bias at its part's columns; empty where the model has none.
std::vector<float> fused_bias(const fused_linear& linear, std::initializer_list<const gguf::tensor*> biases) {
  std::vector<float> all(static_cast<std::size_t>(linear.width), 0.0F);
  bool any = false;
  std::size_t part = 0;
  for (const gguf::tensor* bias : biases) {
    const std::vector<float> values = floats(bias);
    std::copy(values.begin(), values.end(), all.begin() + linear.columns[part++]);
    any = any || bias != nullptr;
  }
  return any ? all : std::vector<float>{};
}

void pack_matrices(const model& source, packer& to, packed_model& packed) {
  packed.layers.resize(source.layers.size());
  for (std::size_t i = 0; i < source.layers.size(); ++i) {
    const layer_weights& from = source.layers[i];
    packed_layer& layer = packed.layers[i];
    layer.qkv = to.fuse({from.query, from.key, from.value});
    layer.output = to.fuse({from.output});
    layer.gate_up = to.fuse({from.gate, from.up});
    layer.down = to.fuse({from.down});
  }
  packed.head = to.fuse({source.head});
}

void copy_vectors(const model& source, packed_model& packed) {
  for (std::size_t i = 0; i < source.layers.size(); ++i) {
    const layer_weights& from = source.layers[i];
    packed_layer& layer = packed.layers[i];
    layer.attention_norm = floats(from.attention_norm);
    layer.qkv_bias = fused_bias(layer.qkv, {from.query_bias, from.key_bias, from.value_bias});
    layer.query_norm = floats(from.query_norm);
    layer.key_norm = floats(from.key_norm);
    layer.ffn_norm = floats(from.ffn_norm);
  }
  packed.output_norm = floats(source.output_norm);
}

// The bytes of all matrices. Errors: unsupported.
result<std::size_t> measure(const model& source) {
  packed_model packed;
  packer to(nullptr);
  pack_matrices(source, to, packed);
  if (const gguf::tensor* tensor = to.unsupported()) {
    return fail(error_code::unsupported,
                std::string(tensor->name) + ": no kernel for " + to_string(tensor->type));
  }
  return to.bytes();
}

packed_model lay_out(const model& source, page_memory memory, bool is_filled) {
  packed_model packed;
  packer fill(memory.data(), is_filled);
  packed.memory = std::move(memory);
  pack_matrices(source, fill, packed);
  copy_vectors(source, packed);
  return packed;
}

}  // namespace

result<packed_model> pack_model(const model& source, packed_for readers) {
  const result<std::size_t> bytes = measure(source);
  if (!bytes) return tl::unexpected(bytes.error());
  auto memory = readers == packed_for::all_processes ? page_memory::allocate_shared(*bytes, "troupe weights")
                                                     : page_memory::allocate(*bytes, true);
  if (!memory) return tl::unexpected(memory.error());
  packed_model packed = lay_out(source, std::move(*memory), false);
  if (readers == packed_for::all_processes) packed.memory.make_huge();
  return packed;
}

result<packed_model> map_packed_model(const model& source, page_memory matrices) {
  const result<std::size_t> bytes = measure(source);
  if (!bytes) return tl::unexpected(bytes.error());
  if (matrices.size() < *bytes)
    return fail(error_code::io_error, "the packed weights are not those of this file");
  return lay_out(source, std::move(matrices), true);
}

}  // namespace troupe
