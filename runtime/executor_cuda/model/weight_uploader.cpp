#include "runtime/executor_cuda/model/weight_uploader.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "kernels/cuda/products/fp8_rows.hpp"
#include "kernels/half.hpp"
#include "runtime/executor/cpu/unpack_blocks.hpp"
#include "runtime/executor/machine/page_memory.hpp"

namespace troupe {
namespace {

using kernels::cuda::element_type;

// Nearest, ties to even; a NaN stays one.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

// fill(first element, count) for each piece of the tensor.
template <class Fill>
void for_each_piece(std::size_t elements, std::size_t piece, const Fill& fill) {
  for (std::size_t first = 0; first < elements; first += piece)
    fill(first, std::min(piece, elements - first));
}

const std::byte* element(const gguf::tensor& tensor, std::size_t index) {
  return tensor.data.data() + index / gguf::block_elements(tensor.type) * gguf::block_bytes(tensor.type);
}

// The tile of 16 outputs from `first` on, into `to`, which is all zero.
void pack_tile(const gguf::tensor& tensor, const kernels::tiled_matrix& layout, std::int32_t first,
               std::byte* to) {
  const auto block_groups = static_cast<std::int32_t>(gguf::block_elements(tensor.type) / 32);
  kernels::weight_group groups[8] = {};
  const std::int32_t end = std::min(first + kernels::tile_outputs, layout.outputs);
  for (std::int32_t output = first; output < end; ++output) {
    const std::byte* block = element(tensor, static_cast<std::size_t>(output) * tensor.shape[0]);
    for (std::int32_t group = 0; group < layout.inputs / 32; group += block_groups) {
      unpack_block(tensor.type, block, groups);
      for (std::int32_t i = 0; i < block_groups; ++i)
        kernels::pack_tiled_group(layout, to, output - first, group + i, groups[i]);
      block += gguf::block_bytes(tensor.type);
    }
  }
}

}  // namespace

weight_uploader::weight_uploader(const cuda_stream& stream, std::size_t piece)
    : stream_(stream), piece_(piece), values_(piece) {
  for (stage& each : stages_) each.memory = pinned_memory(piece * sizeof(float));
}

// Copies may still read the buffers.
weight_uploader::~weight_uploader() { cudaStreamSynchronize(stream_.get()); }

weight_uploader::stage& weight_uploader::next_stage() {
  stage& next = stages_[next_++ % stages_.size()];
  next.copied.synchronize();
  return next;
}

void weight_uploader::send(stage& from, void* to, std::size_t bytes) {
  stream_.copy_to_device(to, from.memory.data(), bytes);
  from.copied.record(stream_);
}

// The elements [first, first + count).
void weight_uploader::send_rounded(const gguf::tensor& tensor, element_type type, std::size_t first,
                                   std::size_t count, std::uint16_t* to) {
  stage& into = next_stage();
  const bool is_f16 = type == element_type::f16;
  if (tensor.type == (is_f16 ? gguf::tensor_type::f16 : gguf::tensor_type::bf16)) {
    std::memcpy(into.memory.data(), element(tensor, first), count * sizeof(std::uint16_t));
  } else {
    gguf::dequantize(tensor.type, element(tensor, first), count, values_.data());
    std::transform(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count),
                   into.memory.as<std::uint16_t>().begin(), is_f16 ? kernels::f32_to_f16 : to_bf16);
  }
  send(into, to, count * sizeof(std::uint16_t));
}

void weight_uploader::upload_rounded(const gguf::tensor& tensor, element_type type, std::uint16_t* to) {
  for_each_piece(tensor.elements(), piece_, [&](std::size_t first, std::size_t count) {
    send_rounded(tensor, type, first, count, to + first);
  });
  release_file_pages(tensor.data.data(), tensor.data.size());
}

// Whole outputs at a time.
void weight_uploader::upload_fp8(const gguf::tensor& tensor, element_type type, std::byte* to,
                                 float* scales) {
  const std::size_t inputs = tensor.shape[0];
  if (inputs > piece_) throw std::length_error("a row of weights is longer than a piece");
  if (rounded_.size() == 0) rounded_ = device_array<std::uint16_t>(piece_);
  for_each_piece(tensor.elements(), piece_ / inputs * inputs, [&](std::size_t first, std::size_t count) {
    send_rounded(tensor, type, first, count, rounded_.data());
    kernels::cuda::quantize_to_fp8({.input = rounded_.data(),
                                    .output = to + first,
                                    .scales = scales + first / inputs,
                                    .rows = static_cast<std::int32_t>(count / inputs),
                                    .width = static_cast<std::int32_t>(inputs),
                                    .type = type},
                                   stream_.get());
  });
  release_file_pages(tensor.data.data(), tensor.data.size());
}

void weight_uploader::upload_f32(const gguf::tensor& tensor, float* to) {
  for_each_piece(tensor.elements(), piece_, [&](std::size_t first, std::size_t count) {
    stage& into = next_stage();
    gguf::dequantize(tensor.type, element(tensor, first), count, into.memory.as<float>().data());
    send(into, to + first, count * sizeof(float));
  });
}

void weight_uploader::upload_f32(std::span<const float> values, float* to) {
  for_each_piece(values.size(), piece_, [&](std::size_t first, std::size_t count) {
    stage& into = next_stage();
    std::memcpy(into.memory.data(), values.data() + first, count * sizeof(float));
    send(into, to + first, count * sizeof(float));
  });
}

void weight_uploader::upload_tiled(const gguf::tensor& tensor, const kernels::tiled_matrix& layout,
                                   std::byte* to) {
  const std::size_t bytes = kernels::tiled_bytes(layout) / static_cast<std::size_t>(layout.tiles);
  for (std::int32_t tile = 0; tile < layout.tiles; ++tile, to += bytes) {
    tile_.assign(bytes, std::byte{0});
    pack_tile(tensor, layout, tile * kernels::tile_outputs, tile_.data());
    upload_bytes(tile_, to);
  }
  release_file_pages(tensor.data.data(), tensor.data.size());
}

void weight_uploader::upload_bytes(std::span<const std::byte> bytes, std::byte* to) {
  for_each_piece(bytes.size(), piece_ * sizeof(float), [&](std::size_t first, std::size_t count) {
    stage& into = next_stage();
    std::memcpy(into.memory.data(), bytes.data() + first, count);
    send(into, to + first, count);
  });
}

void weight_uploader::clear(void* to, std::size_t bytes) {
  if (bytes > 0) stream_.fill(to, 0, bytes);
}

}  // namespace troupe
