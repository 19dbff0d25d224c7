// The metrics of a company, from before its model is there.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "metrics/engine_metrics.hpp"
#include "runtime/drafting/drafter.hpp"

namespace troupe {

struct company_options;
struct loaded_engine;

// All of them, at zero, those of every kind of actor among them; `model` is the name that it is served under.
std::shared_ptr<metrics::engine_metrics> make_company_metrics(const std::string& model,
                                                              const std::optional<drafter_options>& drafts);

// What they tell of this program; the kernels' path is known once there is a device.
void describe_program(metrics::engine_metrics& metrics, const company_options& options,
                      const std::string& kernel_path = {});

// What they tell of the model and its device, once there are any.
void describe_engine(metrics::engine_metrics& metrics, const company_options& options,
                     const loaded_engine& engine);

}  // namespace troupe
