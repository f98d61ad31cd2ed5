// Frequencies and scales of released models, by the formulas of transformers 5.24 (modeling_rope_utils.py) in f64. Every
// printed digit must agree.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "native/rope/configs.h"

namespace ropewalk {
namespace golden_numbers_test {

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Row {
  const char* name;
  RopeConfig config;
  double length;
  const char *first, *quarter, *half, *last;  // w[1], w[n/4], w[n/2], w[n-1], nine digits
  const char* sum;                            // twelve digits
};

RopeConfig with_betas(RopeConfig config, double fast, double slow) {
  config.beta_fast = fast;
  config.beta_slow = slow;
  return config;
}

RopeConfig with_mscale(RopeConfig config, double mscale, Family family) {
  config.mscale = config.mscale_all_dim = mscale;
  config.family = family;
  return config;
}

RopeConfig without_truncation(RopeConfig config) {
  config.truncate = false;
  return config;
}

RopeConfig qwen2_5() { return yarn_config(128, 1e6, 4, 32768); }
RopeConfig gpt_oss() { return without_truncation(yarn_config(64, 150000, 32, 4096)); }
RopeConfig deepseek_v3() { return with_mscale(yarn_config(64, 10000, 40, 4096), 1, Family::deepseek); }
RopeConfig deepseek_v2_lite() { return with_mscale(yarn_config(64, 10000, 40, 4096), 0.707, Family::deepseek); }
RopeConfig kimi_k2() { return with_betas(with_mscale(yarn_config(64, 50000, 32, 4096), 1, Family::deepseek), 1, 1); }
RopeConfig kimi_k2_5() { return with_betas(with_mscale(yarn_config(64, 50000, 64, 4096), 1, Family::deepseek), 32, 1); }
RopeConfig olmo_3_1() { return yarn_config(128, 5e5, 8, 8192); }
RopeConfig ministral_3() { return with_mscale(yarn_config(128, 1e6, 16, 16384), 1, Family::mistral); }
RopeConfig devstral_small_2() { return with_mscale(yarn_config(128, 1e8, 48, 8192), 1, Family::mistral); }
RopeConfig yarn_llama_2(double factor) { return yarn_config(128, 10000, factor, 4096); }
RopeConfig yarn_mistral_128k() { return yarn_config(128, 10000, 16, 8192); }

RopeConfig gpt_oss_in_llama_cpp() {
  RopeConfig config = gpt_oss();
  config.compat = Compat::llama_cpp;
  return config;
}

RopeConfig hunyuan() {
  RopeConfig config = plain_config(128);
  config.rope_type = RopeType::ntk_alpha;
  config.alpha = 1000;
  return config;
}

RopeConfig gemma_4() {
  RopeConfig config = plain_config(512, 1e6);
  config.rope_type = RopeType::proportional;
  config.partial_rotary_factor = 0.25;
  return config;
}

RopeConfig gpt_neox_20b() {
  RopeConfig config = plain_config(96);
  config.rotary_dim = 24;
  return config;
}

TEST(GoldenNumbers, Frequencies) {
  const Row rows[] = {
      {"Llama-2", plain_config(128), 1, "0.865964323", "0.1", "0.01", "0.000115478198", "7.4599541336"},
      {"Llama-3.1-8B", llama3_config(128, 5e5, 8), 1, "0.814617234", "0.0376060309", "0.000524846161", "3.06892599e-07", "5.38605820073"},
      {"Llama-3.2-1B", llama3_config(64, 5e5, 32), 1, "0.663601238", "0.0376060309", "0.000429556797", "9.41830673e-08", "2.96820229784"},
      {"Qwen2.5 YaRN x4", qwen2_5(), 1, "0.805842188", "0.0316227766", "0.000602941176", "3.1023444e-07", "5.14403472174"},
      {"gpt-oss", gpt_oss(), 1, "0.689044306", "0.0508132748", "0.000456483919", "3.02351143e-07", "3.18043827693"},
      {"gpt-oss, rounded", gpt_oss_in_llama_cpp(), 1, "0.689044306", "0.0508132748", "0.000580947502", "3.02351143e-07", "3.1816594922"},
      {"DeepSeek-V3", deepseek_v3(), 1, "0.749894209", "0.1", "0.0055", "3.33380358e-06", "3.94893627408"},
      {"Kimi-K2", kimi_k2(), 1, "0.713111085", "0.0668740305", "0.00447213595", "8.76441291e-07", "3.48176234064"},
      {"Kimi-K2.5", kimi_k2_5(), 1, "0.713111085", "0.0668740305", "0.00153729673", "4.38220646e-07", "3.43896072561"},
      {"OLMo-3.1-32B", olmo_3_1(), 1, "0.814617234", "0.0376060309", "0.000395147907", "3.06892599e-07", "5.36472945548"},
      {"Yarn-Llama-2-7b-64k", yarn_llama_2(16), 1, "0.865964323", "0.1", "0.00567307692", "7.2173874e-06", "7.36523470081"},
      {"Yarn-Llama-2-7b-128k", yarn_llama_2(32), 1, "0.865964323", "0.1", "0.00552884615", "3.6086937e-06", "7.36207738638"},
      {"Ministral-3-3B", ministral_3(), 1, "0.805842188", "0.0316227766", "0.000338235294", "7.755861e-08", "5.13512937912"},
      {"InternLM2.5", dynamic_config(128, 1e6, 2, 32768), 65536, "0.791911495", "0.0239235898", "0.000572338151", "4.1364592e-07",
       "4.80564589615"},
      {"HunYuan", hunyuan(), 1, "0.776034363", "0.0173019574", "0.000299357729", "1.15478198e-07", "4.4649702695"},
      {"Gemma-4", gemma_4(), 1, "0.947463526", "0", "0", "0", "18.4324744947"},
      {"Gemma-3-27B", scaled_config(RopeType::linear, 128, 1e6, 8, 32768), 1, "0.100730273", "0.00395284708", "0.000125", "1.5511722e-07",
       "0.64380553921"},
      {"GPT-NeoX-20B", gpt_neox_20b(), 1, "0.464158883", "0.1", "0.01", "0.000215443469", "1.86603821348"},
  };
  for (const Row& row : rows) {
    const FrequencyPlan plan = plan_of(row.config, row.length);
    const std::size_t pairs = plan.inv_freq.size();
    EXPECT_EQ(printed("%.9g", plan.inv_freq[1]), row.first) << row.name;
    EXPECT_EQ(printed("%.9g", plan.inv_freq[pairs / 4]), row.quarter) << row.name;
    EXPECT_EQ(printed("%.9g", plan.inv_freq[pairs / 2]), row.half) << row.name;
    EXPECT_EQ(printed("%.9g", plan.inv_freq[pairs - 1]), row.last) << row.name;
    double sum = 0;
    for (std::size_t j = 0; j < pairs; ++j) sum += plan.inv_freq[j];
    EXPECT_EQ(printed("%.12g", sum), row.sum) << row.name;
  }
}

TEST(GoldenNumbers, Gemma4RotatesAQuarterOfItsPairs) {
  const FrequencyPlan plan = plan_of(gemma_4());
  int rotated = 0;
  for (std::size_t j = 0; j < 256; ++j) rotated += plan.inv_freq[j] != 0;
  EXPECT_EQ(rotated, 64);
}

struct YarnRow {
  const char* name;
  RopeConfig config;
  const char *raw_low, *raw_high;  // before rounding, four digits; "" if not known
  int low, high;                   // after rounding; -1 if the model does not round
  const char* attention_factor;    // ten digits
  const char* softmax_format;
  const char* softmax;  // softmax_scale · sqrt(head_dim), printed with softmax_format
};

TEST(GoldenNumbers, YarnRangesAndScales) {
  const YarnRow rows[] = {
      {"Qwen x4", qwen2_5(), "23.5959", "39.6509", 23, 40, "1.1386294361", "%.0f", "1"},
      {"gpt-oss", gpt_oss(), "8.0928", "17.3980", -1, -1, "1.3465735903", "%.0f", "1"},
      {"DeepSeek-V3", deepseek_v3(), "10.4722", "22.5134", 10, 23, "1.0000000000", "%.7f", "1.8738542"},
      {"DeepSeek-V2-Lite", deepseek_v2_lite(), "10.4722", "22.5134", 10, 23, "1.0000000000", "%.7f", "1.5896262"},
      {"Kimi-K2", kimi_k2(), "", "", 19, 20, "1.0000000000", "%.5f", "1.81326"},
      {"Kimi-K2.5", kimi_k2_5(), "8.9145", "19.1646", 8, 20, "1.0000000000", "%.5f", "2.00474"},
      {"OLMo-3.1", olmo_3_1(), "18.0811", "34.9841", 18, 35, "1.2079441542", "%.0f", "1"},
      {"Ministral-3", ministral_3(), "20.3850", "36.4399", 20, 37, "1.0000000000", "%.0f", "1"},
      {"Devstral-Small-2", devstral_small_2(), "12.8805", "24.9217", 12, 25, "1.0000000000", "%.0f", "1"},
      {"Yarn-Llama-2 x16", yarn_llama_2(16), "20.9445", "45.0269", 20, 46, "1.2772588722", "%.0f", "1"},
      {"Yarn-Llama-2 x32", yarn_llama_2(32), "20.9445", "45.0269", 20, 46, "1.3465735903", "%.0f", "1"},
      {"Yarn-Mistral-128k", yarn_mistral_128k(), "25.7610", "49.8434", 25, 50, "1.2772588722", "%.0f", "1"},
  };
  for (const YarnRow& row : rows) {
    const FrequencyPlan plan = plan_of(row.config);
    if (row.low >= 0) {
      EXPECT_EQ(plan.ramp_low, row.low) << row.name;
      EXPECT_EQ(plan.ramp_high, row.high) << row.name;
    }
    if (row.raw_low[0] != '\0') {
      const FrequencyPlan raw = plan_of(without_truncation(row.config));
      EXPECT_EQ(printed("%.4f", raw.ramp_low), row.raw_low) << row.name;
      EXPECT_EQ(printed("%.4f", raw.ramp_high), row.raw_high) << row.name;
    }
    EXPECT_EQ(printed("%.10f", plan.attention_factor), row.attention_factor) << row.name;
    EXPECT_EQ(printed(row.softmax_format, plan.softmax_scale * std::sqrt(plan.head_dim)), row.softmax) << row.name;
  }
  // OLMo-3.1 ships with its own factor, which equals the default
  EXPECT_NEAR(plan_of(olmo_3_1()).attention_factor, 1.2079441541679836, 1e-15);
}

TEST(GoldenNumbers, PhiLongropeScale) { EXPECT_EQ(printed("%.10f", plan_of(longrope_config(96), 5000).attention_factor), "1.1902380714"); }

TEST(GoldenNumbers, HunyuanBase) {
  // w[1] = base^(-2/128)
  EXPECT_NEAR(std::pow(plan_of(hunyuan()).inv_freq[1], -64), 11158839.925, 0.0005);
}

TEST(GoldenNumbers, Llama3PairCounts) {
  const struct {
    RopeConfig config;
    int kept, smoothed, scaled;
  } rows[] = {{llama3_config(128, 5e5, 8), 29, 6, 29}, {llama3_config(64, 5e5, 32), 15, 3, 14}, {llama3_config(128, 1e6, 16), 27, 7, 30}};
  for (const auto& row : rows) {
    const FrequencyPlan plan = plan_of(row.config);
    int kept = 0, scaled = 0;
    for (std::size_t j = 0; j < plan.inv_freq.size(); ++j) {
      kept += plan.inv_freq[j] == plan.unscaled_inv_freq[j];
      scaled += plan.inv_freq[j] == plan.unscaled_inv_freq[j] / *row.config.factor;
    }
    EXPECT_EQ(kept, row.kept);
    EXPECT_EQ(scaled, row.scaled);
    EXPECT_EQ(static_cast<int>(plan.inv_freq.size()) - kept - scaled, row.smoothed);
  }
}

}  // namespace golden_numbers_test
}  // namespace ropewalk
