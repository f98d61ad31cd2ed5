// A text that llama.cpp reads, with `append` and `rewind` as sessions of the package have them, so that the benchmark drives both alike.
// Natively it is a program that reads commands, one in each line, and answers each with a line:
//
//   llama_driver FILE THREADS CACHE FLASH [CONTEXT]    CACHE is f32, f16 or q8_0, FLASH is 0 or 1. Answers "ready".
//   append COUNT TIMES    milliseconds until the logits after COUNT more tokens are there, TIMES times in a row
//   rewind LENGTH 1       only the first LENGTH tokens are left
//   repeat COUNT 1        the text is COUNT times as long, with the same keys and values again. Nothing is read
//
// In wasm, JavaScript calls the functions.
#include <ggml-cpu.h>
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kBatch = 512;

llama_context* context = nullptr;
ggml_threadpool* threads_of_context = nullptr;  // if there are several
int context_length = 4352, length = 0;

ggml_type type_of(const char* cache) {
  if (std::strcmp(cache, "f32") == 0) return GGML_TYPE_F32;
  return std::strcmp(cache, "q8_0") == 0 ? GGML_TYPE_Q8_0 : GGML_TYPE_F16;
}

}  // namespace

extern "C" {

// Opens the only model of this process. Returns 0 if it failed.
int open_model(const char* file, int threads, const char* cache, int flash) {
  const auto log = [](ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  };
  llama_log_set(log, nullptr);
  llama_backend_init();
  llama_model_params model_options = llama_model_default_params();
#ifdef __EMSCRIPTEN__
  model_options.load_mode = LLAMA_LOAD_MODE_NONE;
#endif
  llama_model* model = llama_model_load_from_file(file, model_options);
  if (model == nullptr) return 0;

  llama_context_params options = llama_context_default_params();
  options.n_ctx = context_length;
  options.n_batch = options.n_ubatch = kBatch;
  options.n_threads = options.n_threads_batch = threads;
  options.n_seq_max = 2;  // the text, and one that repeat() makes
  options.kv_unified = true;
  options.type_k = options.type_v = type_of(cache);
  options.flash_attn_type = flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  context = llama_init_from_model(model, options);
  if (context == nullptr) return 0;
  if (threads > 1) {
    // as llama-bench does: threads that stay, instead of new ones for each call
    ggml_threadpool_params pool = ggml_threadpool_params_default(threads);
    threads_of_context = ggml_threadpool_new(&pool);
    llama_attach_threadpool(context, threads_of_context, nullptr);
  }
  return 1;
}

// Appends `count` tokens and computes the logits after the last. Returns milliseconds, or -1 if it failed.
double append(int count) {
  std::vector<llama_token> tokens(count);
  for (int i = 0; i < count; ++i) tokens[i] = 3 + (length + i) * 37 % 200;
  const auto start = std::chrono::steady_clock::now();
  for (int done = 0; done < count; done += kBatch) {
    if (llama_decode(context, llama_batch_get_one(tokens.data() + done, std::min(count - done, kBatch))) != 0) return -1;
  }
  if (llama_get_logits_ith(context, -1) == nullptr) return -1;
  length += count;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void rewind_to(int tokens) {
  llama_memory_seq_rm(llama_get_memory(context), 0, tokens, -1);
  length = tokens;
}

// A copy of the text becomes a sequence of its own, moves to the end, and then belongs to the text.
void repeat(int times) {
  llama_memory_t memory = llama_get_memory(context);
  std::vector<std::uint8_t> state(llama_state_seq_get_size(context, 0));
  llama_state_seq_get_data(context, state.data(), state.size(), 0);
  for (int time = 1; time < times; ++time) {
    llama_state_seq_set_data(context, state.data(), state.size(), 1);
    llama_memory_seq_add(memory, 1, 0, -1, time * length);
    llama_memory_seq_cp(memory, 1, 0, -1, -1);
    llama_memory_seq_rm(memory, 1, -1, -1);
  }
  length *= times;
}
}

#ifndef __EMSCRIPTEN__
int main(int count, char** arguments) {
  if (count == 6) context_length = std::atoi(arguments[5]);
  if (count < 5 || count > 6 || !open_model(arguments[1], std::atoi(arguments[2]), arguments[3], std::atoi(arguments[4]))) return 1;
  std::puts("ready");
  std::fflush(stdout);
  char command[16];
  for (int tokens, times; std::scanf("%15s %d %d", command, &tokens, &times) == 3;) {
    if (std::strcmp(command, "append") == 0) {
      for (int i = 0; i < times; ++i) std::printf("%.6f ", append(tokens));
      // else its threads poll for work for another tenth of a second, and slow the next contender
      if (threads_of_context != nullptr) ggml_threadpool_pause(threads_of_context);
    } else if (std::strcmp(command, "rewind") == 0) {
      rewind_to(tokens);
    } else {
      repeat(tokens);
    }
    std::puts("");
    std::fflush(stdout);
  }
  return 0;
}
#endif
