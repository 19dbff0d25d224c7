#include "runtime/executor/cpu/product_grid.hpp"

#include <algorithm>

#include "kernels/kernel_table.hpp"

namespace troupe {
namespace {

// A band of fewer rows would read the weights too often.
constexpr std::int32_t least_rows = 64;

// Bands are of whole blocks of rows, so the last one may be shorter: what the busiest may have more for it.
constexpr double most_uneven = 1.03;

std::int32_t divide_up(std::int32_t a, std::int32_t b) { return (a - 1) / b + 1; }

}  // namespace

product_grid::cut product_grid::cut_into(const product_work& work, std::int32_t bands) {
  const std::int32_t wanted = work.members * work.items_per_member;
  cut out{};
  out.rows_at_once = bands == 1
                         ? work.rows
                         : divide_up(divide_up(work.rows, bands), kernels::row_block) * kernels::row_block;
  out.bands = divide_up(work.rows, out.rows_at_once);
  out.panels_at_once = std::max(1, work.panels / divide_up(wanted, out.bands));
  out.across = divide_up(work.panels, out.panels_at_once);
  return out;
}

product_grid::product_grid(const product_work& work)
    : rows_(work.rows), panels_(work.panels), cut_(cut_into(work, 1)) {
  // Of the member who finds most to do, in rows times panels.
  const auto busiest = [&](const cut& by) {
    const std::int64_t items = std::int64_t{by.bands} * by.across;
    return static_cast<double>(((items - 1) / work.members + 1) * by.rows_at_once * by.panels_at_once);
  };
  const auto read = [&](const cut& by) {
    return static_cast<std::size_t>(by.rows_at_once) * work.row_bytes +
           static_cast<std::size_t>(by.panels_at_once) * work.panel_bytes;
  };
  const cut whole = cut_;
  const std::int32_t most = std::min(work.rows / least_rows, work.members * work.items_per_member);
  for (std::int32_t bands = 2; bands <= most; bands *= 2) {
    const cut other = cut_into(work, bands);
    if (busiest(other) <= most_uneven * busiest(whole) && read(other) < read(cut_)) cut_ = other;
  }
}

product_item product_grid::item(std::int64_t index) const {
  const std::int32_t row = static_cast<std::int32_t>(index / cut_.across) * cut_.rows_at_once;
  const std::int32_t panel = static_cast<std::int32_t>(index % cut_.across) * cut_.panels_at_once;
  return {row, std::min(row + cut_.rows_at_once, rows_), panel,
          std::min(panel + cut_.panels_at_once, panels_)};
}

}  // namespace troupe
