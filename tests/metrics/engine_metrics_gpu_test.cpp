// What the metrics tell of the GPU that the model runs on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metrics/engine_metrics.hpp"
#include "metrics/exposition.hpp"
#include "tests/metrics/fake_nvml.hpp"

namespace troupe::metrics {
namespace {

// Memory used, free and in all; graphs; watts; degrees.
using figures = std::vector<double>;

class GpuMetrics : public test::with_fake_nvml {
 protected:
  static metrics_options with(const std::string& nvml_library) {
    metrics_options options{.model_name = "m", .engine = "0"};
    options.nvml_library = nvml_library;
    return options;
  }
  figures told() const {
    const exposition text(metrics_.text());
    figures found;
    for (const char* name : {"memory_used_bytes", "memory_free_bytes", "memory_total_bytes", "graphs",
                             "power_watts", "temperature_celsius"})
      found.push_back(text.sum(std::string("troupe_gpu_") + name).value_or(-1));
    return found;
  }

  engine_metrics metrics_{with(test::fake_nvml_path())};
};

TEST_F(GpuMetrics, TellWhatTheRunnerSaysWhereThereIsNoNvml) {
  engine_metrics metrics(with("libno-such-library.so.1"));
  const auto used = [&] { return exposition(metrics.text()).sum("troupe_gpu_memory_used_bytes"); };
  EXPECT_EQ(used(), 0);
  metrics.set_gpu({device().bus_id, 800, 300, 5});
  EXPECT_EQ(used(), 500);
  EXPECT_EQ(exposition(metrics.text()).sum("troupe_gpu_graphs"), 5);
  metrics.set_gpu({});
  EXPECT_EQ(used(), 0);
}

TEST_F(GpuMetrics, TellWhatNvmlSays) {
  EXPECT_EQ(told(), figures(6, 0.0));
  device().used = 600;
  device().milliwatts = 250'000;
  metrics_.set_gpu({device().bus_id, 990, 300, 5});
  EXPECT_TRUE(test::comes_true([&] { return told() == figures{600, 400, 1000, 5, 250, 71}; }));
  device().milliwatts = 300'000;
  metrics_.set_gpu({device().bus_id, 990, 300, 6});
  EXPECT_TRUE(test::comes_true([&] { return told() == figures{600, 400, 1000, 6, 300, 71}; }));
  metrics_.set_gpu({"0000:66:00.0", 80, 30, 1});
  EXPECT_EQ(told(), (figures{50, 30, 80, 1, 0, 0})) << "of another device";
}

// MIG: the runner has a part of the device, NVML tells the memory of all of it.
TEST_F(GpuMetrics, TellTheMemoryOfAPartOfADeviceAsTheRunnerHasIt) {
  device().milliwatts = 250'000;
  metrics_.set_gpu({device().bus_id, 142, 42, 5});
  EXPECT_TRUE(test::comes_true([&] { return told() == figures{100, 42, 142, 5, 250, 71}; }));
}

TEST_F(GpuMetrics, KeepNobodyWaitingWhereNvmlDoesNotAnswer) {
  device().hangs = true;
  for (int i = 0; i < 3; ++i) {
    metrics_.set_gpu({device().bus_id, 800, 300, 5});
    EXPECT_EQ(told(), (figures{500, 300, 800, 5, 0, 0}));
  }
}

}  // namespace
}  // namespace troupe::metrics
