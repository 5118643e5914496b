// SPDX-License-Identifier: MIT
// Shapes, forecasts and their JSON, selectable GPUs, and resources read from compiled files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "build/object_resources.h"
#include "predict/gpus.h"
#include "predict/show.h"
#include "predict/sizes.h"
#include "records/json.h"

namespace dent::predict_test {
namespace {

// A separate data folder, so that the user's own measurements have no effect.
class DataFolder {
 public:
  DataFolder()
      : folder_(std::filesystem::temp_directory_path() / ("dent predict " + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    setenv("XDG_DATA_HOME", folder_.c_str(), 1);
  }
  ~DataFolder() {
    unsetenv("XDG_DATA_HOME");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  std::filesystem::path folder_;
};

TEST(PredictSizes, RangesDoubleAndEndWhereTheySay) {
  EXPECT_EQ(read_sizes("1,8,128,64"), (std::vector<Sizes>{{1, 8, 128, 64}}));
  EXPECT_EQ(read_sizes("1,8,128..600,64"),
            (std::vector<Sizes>{{1, 8, 128, 64}, {1, 8, 256, 64}, {1, 8, 512, 64}, {1, 8, 600, 64}}));
  EXPECT_EQ(read_sizes("1..2,1,64..128,64").size(), 4U);
  for (const char* wrong : {"", "1,2,3", "1,2,3,4,5", "1,2,0,4", "1,2,x,4", "1,2,8..4,4", "1,2,8..,4",
                            "1,-2,3,4", "1,2,3.5,4", "1,2,99999999999,4"}) {
    EXPECT_THROW(read_sizes(wrong), Error) << wrong;
  }
  EXPECT_EQ(read_grid("3,2,4", "--grid"), 24);
  EXPECT_THROW(read_grid("3,2,4,5", "--grid"), Error);
}

TEST(PredictForecast, JsonHasEveryFieldOfItsSchema) {
  AttentionRequest request;
  request.kernel = "naive";
  const auto forecast =
      require_json(to_json_text(to_record(predict_attention(request, flashmoe::device::find("L4")))));
  for (const char* key :
       {"device", "title",   "kernel",     "detail",        "reason",   "headline",   "fits",
        "ctas",   "sms",     "busy_sms",   "chip_share",    "waves",    "tail",       "occupancy",
        "block",  "work",    "floor_us",   "busy_floor_us", "least_us", "dominating", "expected_us",
        "low_us", "high_us", "calibrated", "changes",       "notes"}) {
    EXPECT_TRUE(forecast.contains(key)) << key;
  }
  EXPECT_EQ(forecast["ctas"], 2);
  EXPECT_EQ(forecast["sms"], 58);
  EXPECT_EQ(forecast["occupancy"]["limiter"], "registers");
  bool split = false;
  for (const auto& change : forecast["changes"]) {
    split = split || change["change"] == "kv_splits 1 -> 32: 2 -> 64 CTAs";
  }
  EXPECT_TRUE(split) << forecast["changes"].dump(1);
}

TEST(PredictForecast, TheFirstLineNamesTheUsersCase) {
  AttentionRequest request;
  request.kernel = "naive";
  const std::string text = forecast_text(predict_attention(request, flashmoe::device::find("l4")));
  EXPECT_EQ(text.substr(0, text.find('\n')), "2 CTAs on 58 SMs: 3.4 % of the L4 works");
}

TEST(PredictForecast, WrongRequestsSayWhatIsAccepted) {
  const auto& h200 = flashmoe::device::find("H200");
  AttentionRequest request;
  request.kernel = "fastest";
  EXPECT_THROW(predict_attention(request, h200), Error);
  request.kernel = "hopper_forward";
  EXPECT_NO_THROW(predict_attention(request, h200));
  EXPECT_THROW(predict_attention(request, flashmoe::device::find("L4")), Error);  // an L4 has no wgmma
  request.kernel.clear();
  request.kv_heads = 3;
  request.sizes[1] = 8;
  EXPECT_THROW(predict_attention(request, h200), Error);
  request.kv_heads = 0;
  request.dtype = "fp8";
  EXPECT_THROW(predict_attention(request, h200), Error);
}

TEST(PredictForecast, AForeignKernelIsToldWhatOneMoreBlockTakes) {
  KernelRequest request;
  request.launch = {.ctas = 10000, .block = {.threads = 256, .registers = 130, .smem_bytes = 0}};
  request.work.matrix_flops = 1e12;
  const Forecast forecast = predict_kernel(request, flashmoe::device::find("H200"));
  ASSERT_FALSE(forecast.notes.empty());
  EXPECT_EQ(forecast.notes.back(), "registers 130 -> 128: 1 -> 2 CTAs an SM");
}

TEST(PredictPlot, IsAPictureByItselfWithEveryGpuInIt) {
  std::vector<Forecast> sweep;
  for (const char* gpu : {"L4", "H200"}) {
    for (const Sizes& sizes : read_sizes("1,8,128..2048,64")) {
      AttentionRequest request;
      request.sizes = sizes;
      sweep.push_back(predict_attention(request, flashmoe::device::find(gpu)));
    }
  }
  const std::string curves = forecast_plot(sweep);
  EXPECT_TRUE(curves.starts_with("<svg xmlns=")) << curves.substr(0, 80);
  EXPECT_TRUE(curves.ends_with("</svg>\n"));
  for (const char* part : {"L4 B=1 H=8 D=64", "H200 B=1 H=8 D=64", "<style>"}) {
    EXPECT_NE(curves.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(curves.find("nan"), std::string::npos);
  const std::string bars = forecast_plot(std::span(sweep).first(1));
  EXPECT_NE(bars.find("expected time and its range"), std::string::npos);
}

TEST(PredictGpus, MeasurementsTakeThePlaceOfEstimates) {
  const DataFolder data;
  EXPECT_EQ(gpu_called("l4").reached.bandwidth_gbs.origin, flashmoe::device::Origin::estimated);
  store_measurement({.name = "NVIDIA L4", .measured = {.bandwidth_gbs = 250, .launch_us = 0.9}});
  const auto l4 = gpu_called("l4");
  EXPECT_EQ(l4.reached.bandwidth_gbs.value, 250);
  EXPECT_EQ(l4.reached.bandwidth_gbs.origin, flashmoe::device::Origin::measured);
  EXPECT_EQ(l4.reached.launch_us.value, 0.9);
  EXPECT_EQ(l4.reached.gexps.origin, flashmoe::device::Origin::estimated);
  EXPECT_EQ(gpu_called("l40s").reached.bandwidth_gbs.origin, flashmoe::device::Origin::estimated);
  EXPECT_EQ(all_gpus().size(), flashmoe::device::known().size());
}

TEST(PredictGpus, AGpuOfNoTableIsKnownByItsMeasurement) {
  const DataFolder data;
  EXPECT_THROW(gpu_called("NVIDIA Unheard Of"), Error);
  store_measurement({.name = "NVIDIA Unheard Of",
                     .arch = 120,
                     .sms = 70,
                     .smem_per_block = 101376,
                     .smem_per_sm = 102400,
                     .threads_per_sm = 1536,
                     .blocks_per_sm = 24,
                     .clock_mhz = 2500,
                     .l2_bytes = 50331648,
                     .measured = {.bandwidth_gbs = 800, .l2_gbs = 4000, .tflops_16bit = 150}});
  const auto gpu = gpu_called("NVIDIA Unheard Of");
  EXPECT_EQ(gpu.sms, 70);
  EXPECT_EQ(gpu.bandwidth_gbs, 800);
  AttentionRequest request;
  EXPECT_GT(predict_attention(request, gpu).prediction.expected_us, 0);
  std::ofstream(measurements_folder() / "broken.json") << "{";
  EXPECT_THROW(gpu_called("l4"), Error);
}

TEST(ObjectResources, ACubinIsReadWithoutTools) {
  const auto kernels = object_resources(DENT_TEST_CUBIN);
  ASSERT_EQ(kernels.size(), 2U);
  const KernelResources shared = choose_kernel(kernels, "with_shared", 80);
  EXPECT_EQ(shared.arch, "sm_80");
  EXPECT_EQ(shared.static_smem_bytes, 4096);
  EXPECT_EQ(shared.registers, 10);
  EXPECT_EQ(choose_kernel(kernels, "plain", 89).static_smem_bytes, 0);  // sm_80 code runs on sm_89
  EXPECT_THROW(choose_kernel(kernels, "", 80), Error);                  // ambiguous
  EXPECT_THROW(choose_kernel(kernels, "plain", 90), Error);             // sm_80 code does not run on sm_90
  EXPECT_THROW(choose_kernel(kernels, "other", 80), Error);
}

TEST(ObjectResources, ACubinThatIsCutShortIsRefusedWherever) {
  std::ifstream stream(DENT_TEST_CUBIN, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GT(bytes.size(), 1000U);
  EXPECT_EQ(cubin_resources(bytes).size(), 2U);
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    try {
      cubin_resources(bytes.substr(0, size));
    } catch (const Error&) {
      continue;
    }
  }
  EXPECT_THROW(object_resources("/no/such/file"), Error);
}

// As printed by cuobjdump 13.4 for an object with two architectures.
TEST(ObjectResources, CuobjdumpsReportIsUnderstood) {
  const auto kernels = parse_resource_usage(
      "\nFatbin elf code:\n================\narch = sm_80\ncode version = [1,8]\n\nResource usage:\n "
      "Common:\n  GLOBAL:0\n"
      " Function _Z4takePfi:\n  REG:36 STACK:8 SHARED:2048 LOCAL:0 CONSTANT[0]:364 TEXTURE:0 SURFACE:0 "
      "SAMPLER:0\n"
      "\nFatbin elf code:\n================\narch = sm_90a\n\nResource usage:\n Common:\n  GLOBAL:0\n"
      " Function _Z4takePfi:\n  REG:40 STACK:0 SHARED:2048 LOCAL:0 CONSTANT[0]:540 TEXTURE:0 SURFACE:0 "
      "SAMPLER:0\n");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "take(float*, int)");
  EXPECT_EQ(kernels[0].registers, 36);
  EXPECT_EQ(kernels[0].stack_bytes, 8);
  EXPECT_EQ(kernels[0].static_smem_bytes, 2048);
  EXPECT_EQ(choose_kernel(kernels, "take", 89).arch, "sm_80");
  EXPECT_EQ(choose_kernel(kernels, "take", 90).arch, "sm_90a");
  EXPECT_THROW(choose_kernel(kernels, "take", 100), Error);
  EXPECT_TRUE(parse_resource_usage("cuobjdump info    : File 'x' does not contain device code\n").empty());
}

}  // namespace
}  // namespace dent::predict_test
