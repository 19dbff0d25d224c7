// How the CPU cuts a step's work into pieces. A plan decides who computes what and when, never in which order
// anything is summed up: every plan gives the same bits.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct step_plan {
  // Work items of a matrix product that each thread finds: many even the threads' shares out, few cost less.
  std::int32_t items_per_member = 4;

  friend bool operator==(const step_plan&, const step_plan&) = default;
};

// "items_per_member 4"
std::string to_string(const step_plan& plan);
// Whether a step can run by it.
bool is_valid(const step_plan& plan);

// The plans of a device, by the number of rows of a step.
class step_plans {
 public:
  // `shape`: what the plans are for besides the machine (sizes and kinds of the model's matrices, of the KV
  // cache), as a text of its own for each.
  explicit step_plans(std::string shape) : shape_(std::move(shape)) {}
  const std::string& shape() const { return shape_; }

  // The plan for steps of `rows` rows: that of the next larger number of rows; the default beyond all that
  // has been chosen.
  const step_plan& of(std::int32_t rows) const;
  // From now on; `rows` at least 1.
  void use(std::int32_t rows, const step_plan& plan) { by_rows_[rows] = plan; }
  // Every step runs by `plan` until it ends; nullptr ends it.
  void try_out(const step_plan* plan) { tried_ = plan; }

  // What to choose from; the default first.
  static std::vector<step_plan> candidates();
  const std::map<std::int32_t, step_plan>& chosen() const { return by_rows_; }

 private:
  std::string shape_;
  std::map<std::int32_t, step_plan> by_rows_;
  const step_plan* tried_ = nullptr;
  step_plan default_;
};

// Every step runs by `plan` while this lives.
class step_plan_trial {
 public:
  step_plan_trial(step_plans& plans, const step_plan& plan) : plans_(plans) { plans_.try_out(&plan); }
  ~step_plan_trial() { plans_.try_out(nullptr); }
  step_plan_trial(const step_plan_trial&) = delete;
  step_plan_trial& operator=(const step_plan_trial&) = delete;

 private:
  step_plans& plans_;
};

}  // namespace troupe
