// Objects that are handed out by shared pointer and used again when nobody else holds them.
#pragma once
#include <memory>
#include <vector>

namespace troupe {

// The owner must know that whoever held an object has done with it before it asks for another: a message came
// back, a step was committed. The count alone tells only that nobody keeps it.
template <class T>
class recycler {
 public:
  std::shared_ptr<T> take() {
    for (const std::shared_ptr<T>& each : pool_)
      if (each.use_count() == 1) return each;
    return pool_.emplace_back(std::make_shared<T>());
  }

 private:
  std::vector<std::shared_ptr<T>> pool_;
};

}  // namespace troupe
