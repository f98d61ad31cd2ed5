# The wasm module. It is linked for pages and Workers. Node runs the same glue: it gets a compiled module and needs no file.

# Atomics, for threads. They also work in memory that isn't shared.
target_compile_options(ropewalk PUBLIC -matomics -mbulk-memory)
target_compile_options(ropewalk PRIVATE -msimd128)

# Optimized for size, except in the hot loops. These use SIMD intrinsics. The compiler would only vectorize their tails, which doubles the code.
# (Tiles of sums stay in registers only if their loops are unrolled.)
set_source_files_properties(
  src/attention/kernels/attention_channels_wasmsimd.cpp
  src/attention/kernels/attention_relaxed.cpp
  src/attention/kernels/attention_wasmsimd.cpp
  src/matmul/matmul.cpp
  src/matmul/kernels/matmul_relaxed.cpp
  src/matmul/kernels/matmul_wasmsimd.cpp
  src/matmul/packed_rows.cpp
  src/matmul/panel_exponent.cpp
  src/recurrence/selective_scan.cpp
  src/recurrence/state_scan.cpp
  src/recurrence/token_shift.cpp
  src/recurrence/wkv_scan.cpp
  src/rope/rotate.cpp
  src/rope/kernels/rotate_relaxed.cpp
  src/rope/kernels/rotate_wasmsimd.cpp
  PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize")
set_source_files_properties(
  src/attention/linear_attention.cpp
  src/quantize/k_blocks.cpp
  src/recurrence/causal_convolution.cpp
  src/rope/cos_sin_rows.cpp
  src/vectors/activation.cpp
  src/sampling/logits.cpp
  src/sampling/softmax.cpp
  PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize;-fno-unroll-loops")
if(ROPEWALK_RELAXED)
  target_compile_options(ropewalk PUBLIC -mrelaxed-simd)
  target_sources(ropewalk PRIVATE src/attention/kernels/attention_relaxed.cpp src/matmul/kernels/matmul_relaxed.cpp src/rope/kernels/rotate_relaxed.cpp)
endif()

# -O2: with -O3, Binaryen moves operations of the kernels to where their results are used, and what waits doesn't fit in registers.
set(ROPEWALK_LINK_OPTIONS
  -O2
  -sSTRICT
  -sMODULARIZE
  -sEXPORT_ES6
  -sDYNAMIC_EXECUTION=0
  -sFILESYSTEM=0
  -sMALLOC=emmalloc
  -sALLOW_MEMORY_GROWTH
  -sMAXIMUM_MEMORY=4GB
  -sMEMORY_GROWTH_LINEAR_STEP=8MB
  -sABORTING_MALLOC=0
  -sSTACK_SIZE=256KB
  -sSHARED_MEMORY
  -sIMPORTED_MEMORY
  -sEXPORTED_FUNCTIONS=_memalign,_free,__emscripten_stack_restore,_help
  -sEXPORTED_RUNTIME_METHODS=HEAPU8
  -sINCOMING_MODULE_JS_API=instantiateWasm,wasmMemory
)

# Links `target` for an environment ("web,worker" or "node") into a folder of its own, under the name all links share.
function(link_for target folder environment)
  target_link_libraries(${target} PRIVATE ropewalk)
  target_link_options(${target} PRIVATE ${ROPEWALK_LINK_OPTIONS} -sENVIRONMENT=${environment})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ropewalk SUFFIX .mjs RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

add_library(ropewalk_bindings OBJECT
  bindings/adapters.cpp
  bindings/attention.cpp
  bindings/call_memory.cpp
  bindings/compiler.cpp
  bindings/kernels.cpp
  bindings/kv_cache.cpp
  bindings/quantize.cpp
  bindings/recurrent_state.cpp
  bindings/rope.cpp
  bindings/sampler.cpp
  bindings/threads.cpp
  bindings/forward.cpp
  bindings/transformer.cpp)
target_include_directories(ropewalk_bindings PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(ropewalk_bindings PRIVATE ropewalk)
target_link_options(ropewalk_bindings INTERFACE -lembind -sEMBIND_AOT)
ropewalk_compile_options(ropewalk_bindings)
ropewalk_disable_exceptions(ropewalk_bindings)

add_executable(ropewalk_web)
target_link_libraries(ropewalk_web PRIVATE ropewalk_bindings)
link_for(ropewalk_web web web,worker)

if(ROPEWALK_BENCHMARK)
  add_executable(ropewalk_bench tests/bench/limits.cpp tests/bench/variants.cpp tests/bench/products/products.cpp)
  target_compile_options(ropewalk_bench PRIVATE -O3 -msimd128 -ffp-contract=off)
  # as the kernels, which its loops are compared with
  set_source_files_properties(tests/bench/limits.cpp PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize")
  target_link_libraries(ropewalk_bench PRIVATE ropewalk_bindings)
  link_for(ropewalk_bench bench web,worker,node)
endif()

if(ROPEWALK_PROFILE)
  add_executable(ropewalk_profile tests/bench/profile/profile.cpp)
  target_link_libraries(ropewalk_profile PRIVATE ropewalk_bindings)
  link_for(ropewalk_profile profile web,worker,node)
endif()
