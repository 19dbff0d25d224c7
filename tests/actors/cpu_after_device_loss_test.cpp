// The whole company with a device in a process of its own that is lost for good.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "actors/company.hpp"
#include "metrics/exposition.hpp"
#include "runtime/generation_request.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe::test {
namespace {

class CpuAfterDeviceLoss : public testing::Test {
 protected:
  ~CpuAfterDeviceLoss() override { std::filesystem::remove(lost_); }
  company_options options() const {
    company_options out;
    out.engine.model_path = file_.path();
    out.engine.max_num_seqs = 8;
    out.engine.max_num_batched_tokens = 64;
    out.engine.kv_cache_bytes = 4U << 20U;
    out.engine.threads = 1;
    out.engine.cuda = cuda_choice{};
    out.engine.cuda_devices.find = [](std::int32_t) -> result<std::string> {
      return std::string("a device");
    };
    out.engine.cpu_after_device_loss = true;
    out.engine.isolation = runner_program{runner_program_path(), {"runner", "no-cuda:" + lost_}};
    return out;
  }
  // What comes of it; `on_first` is called when the first token has come.
  static std::vector<token_id> generate(company& company, const std::function<void()>& on_first) {
    auto made = std::make_shared<generation_request>();
    made->prompt = token_prompt{{6, 7, 8}};
    made->sampling.max_tokens = 100;
    made->sampling.ignore_eos = true;
    made->sampling.temperature = 0.0F;
    std::vector<token_id> tokens;
    std::promise<finish_reason> end;
    std::promise<void> first;
    company.port().generate(made, [&](const stream_event& event) {
      if (tokens.empty() && !event.tokens.empty()) first.set_value();
      tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
      if (event.end) end.set_value(event.end->reason);
    });
    first.get_future().wait();
    on_first();
    EXPECT_EQ(end.get_future().get(), finish_reason::length);
    return tokens;
  }

  temporary_file file_{tiny_model()};
  std::string lost_ = file_.path() + ".lost";
};

// The gauge of /metrics.
double degraded(company& company) {
  return metrics::exposition(company.port().metrics_text()).sum("troupe_degraded").value_or(-1);
}

TEST_F(CpuAfterDeviceLoss, RequestsGoOnAndReadinessAndMetricsSayWhatServesThem) {
  company_options wanted = options();
  auto engine = load_engine(wanted.engine);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE(engine->device->kernel_path().starts_with("cuda"));
  const auto kill = engine->process->kill;
  wanted.loaded = std::move(*engine);
  auto started = company::start(std::move(wanted));
  ASSERT_TRUE(started) << started.error().message;
  company& company = **started;
  ASSERT_TRUE(company.wait_ready());
  EXPECT_EQ(company.status().degraded, "");
  EXPECT_EQ(degraded(company), 0);
  const auto before = generate(company, [] {});
  const auto after = generate(company, [&] {
    std::ofstream(lost_) << "lost";
    kill();
  });
  EXPECT_EQ(after, before);
  EXPECT_EQ(company.status().degraded, "the device is lost: the model runs on the CPU");
  EXPECT_EQ(degraded(company), 1);
}

}  // namespace
}  // namespace troupe::test
