#include "runtime/executor_cuda/products/choose_ways.hpp"

namespace troupe {
namespace {

constexpr float gain = 0.99F;  // less may be chance

}  // namespace

void choose_ways(std::span<const product_candidates> products, std::int32_t rows,
                 const std::function<float()>& time) {
  for (const product_candidates& each : products) each.product->set(rows, {});
  const float by_library = time();
  for (const product_candidates& each : products) each.product->set(rows, each.ways.front());
  float best = time();
  for (const product_candidates& each : products) {
    product_way fastest = each.ways.front();
    for (std::size_t i = 1; i < each.ways.size(); ++i) {
      each.product->set(rows, each.ways[i]);
      const float took = time();
      if (took >= gain * best) continue;
      best = took;
      fastest = each.ways[i];
    }
    each.product->set(rows, fastest);
  }
  if (by_library > best) return;
  for (const product_candidates& each : products) each.product->set(rows, {});
}

}  // namespace troupe
