// How few_row_tiles.cu divides a product among blocks; on the host.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/cuda/products/few_row_tiles.cuh"
#include "kernels/cuda/shared_bytes.cuh"

namespace troupe::kernels::cuda {

// Runs of a warp whose weights are held in registers: rows of 768 and 1,536 inputs.
inline constexpr int few_held = 3;
inline constexpr int more_held = 6;

inline bool has_room_for_normed(int rows, int inputs) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(pitch_of_normed(inputs)) <=
         shared_without_asking;
}

// How many tiles of rows and of outputs a block has.
struct block_shape {
  int row_tiles;
  int output_tiles;
};

inline constexpr block_shape block_shapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 4}};

inline int runs_of_warp(const few_row_arguments& a) {
  return (a.inputs / run_inputs + tiled_warps - 1) / tiled_warps;
}

// Runs whose weights are held, as row_tiles_kernel has them. The products with the longest rows of small
// models are a block's last, which add to the residual stream.
inline int held_runs(const few_row_arguments& a, int output_tiles) {
  const bool is_apart = a.kind != few_row_output::gated && a.kind != few_row_output::rotated;
  if (runs_of_warp(a) <= few_held) return few_held;
  return is_apart && output_tiles < 4 && runs_of_warp(a) <= more_held ? more_held : 0;
}

// What a multiprocessor reads, in rows of inputs: of rows, for their norm too, and of weights, which count
// twice where they are not on the way before the rows are there. None where rows that are normed have no
// room.
inline std::optional<int> cost_of(const block_shape& shape, const few_row_arguments& a) {
  const int tiles_of_rows = (a.rows + tile_rows - 1) / tile_rows;
  const int tiles_of_outputs = (a.outputs + few_row_tile_outputs - 1) / few_row_tile_outputs;
  const bool is_normed = a.input == nullptr;
  if (shape.row_tiles > 1 && shape.row_tiles >= 2 * tiles_of_rows) return std::nullopt;
  if (is_normed && !has_room_for_normed(min(a.rows, shape.row_tiles * tile_rows), a.inputs))
    return std::nullopt;
  const int blocks = (tiles_of_rows + shape.row_tiles - 1) / shape.row_tiles *
                     ((tiles_of_outputs + shape.output_tiles - 1) / shape.output_tiles);
  const int rounds = (blocks + a.multiprocessors - 1) / a.multiprocessors;
  const int rows_read = min(shape.row_tiles, tiles_of_rows) * tile_rows * (is_normed ? 3 : 1);
  const int weights_read =
      shape.output_tiles * few_row_tile_outputs * (held_runs(a, shape.output_tiles) > 0 ? 1 : 2);
  return rounds * (rows_read + weights_read);
}

// The variant's place among the shapes in the order of their costs; the last where there are not so many.
inline block_shape choose_block_shape(const few_row_arguments& a) {
  std::array<std::pair<int, block_shape>, std::size(block_shapes)> possible;
  int count = 0;
  for (const block_shape& shape : block_shapes) {
    if (const std::optional<int> cost = cost_of(shape, a))
      possible[static_cast<std::size_t>(count++)] = {*cost, shape};
  }
  std::stable_sort(possible.begin(), possible.begin() + count,
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  const int place = static_cast<int>(a.variant) - static_cast<int>(few_row_variant::tiles);
  return possible[static_cast<std::size_t>(min(place, count - 1))].second;
}

}  // namespace troupe::kernels::cuda
