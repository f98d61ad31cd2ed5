# The wasm modules, one with simd128 and one with relaxed SIMD. They are linked for pages and Workers. Node runs the same glue: it gets a
# compiled module and needs no file.

# Atomics, for threads. They also work in memory that isn't shared.
target_compile_options(ropewalk PUBLIC -matomics -mbulk-memory)
target_compile_options(ropewalk PRIVATE -msimd128)
# The standard library's headers take a compiler longer than the sources. Precompiled ones hold for one level of optimization, the target's.
target_precompile_headers(ropewalk PRIVATE <algorithm> <atomic> <cmath> <functional> <memory> <span> <wasm_simd128.h>)

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
  PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize" SKIP_PRECOMPILE_HEADERS ON)
set_source_files_properties(
  src/attention/linear_attention.cpp
  src/quantize/k_blocks.cpp
  src/recurrence/causal_convolution.cpp
  src/rope/cos_sin_rows.cpp
  src/vectors/activation.cpp
  src/sampling/logits.cpp
  src/sampling/softmax.cpp
  PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize;-fno-unroll-loops" SKIP_PRECOMPILE_HEADERS ON)

# The kernels of a set. Other targets of the module get its compiler options from them.
function(compile_kernels set options)
  add_library(ropewalk_kernels_${set} OBJECT ${ROPEWALK_KERNELS} ${ARGN})
  target_link_libraries(ropewalk_kernels_${set} PUBLIC ropewalk)
  target_compile_options(ropewalk_kernels_${set} PUBLIC ${options})
  ropewalk_compile_options(ropewalk_kernels_${set})
  ropewalk_disable_exceptions(ropewalk_kernels_${set})
  ropewalk_warn_about_conversions(ropewalk_kernels_${set})
endfunction()

compile_kernels(simd -msimd128)
compile_kernels(relaxed "-msimd128;-mrelaxed-simd"
  src/attention/kernels/attention_relaxed.cpp
  src/matmul/kernels/matmul_relaxed.cpp
  src/rope/kernels/rotate_relaxed.cpp)

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
target_precompile_headers(ropewalk_bindings PRIVATE <emscripten/bind.h>)
target_link_options(ropewalk_bindings INTERFACE -lembind -sEMBIND_AOT)
ropewalk_compile_options(ropewalk_bindings)
ropewalk_disable_exceptions(ropewalk_bindings)

# Adds ropewalk_<kind>_<set>, linked for an environment ("web,worker" or "node") into a folder of the set, under the name that all links share.
function(link_for kind set environment)
  set(target ropewalk_${kind}_${set})
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ropewalk_bindings ropewalk_kernels_${set})
  target_link_options(${target} PRIVATE ${ROPEWALK_LINK_OPTIONS} -sENVIRONMENT=${environment})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ropewalk SUFFIX .mjs RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${kind}/${set})
endfunction()

foreach(set simd relaxed)
  link_for(web ${set} web,worker)

  # the benchmark's loops, beside the whole package. Built only by name
  link_for(bench ${set} web,worker,node tests/bench/limits.cpp tests/bench/variants.cpp tests/bench/products/products.cpp)
  target_include_directories(ropewalk_bench_${set} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(ropewalk_bench_${set} PROPERTIES EXCLUDE_FROM_ALL ON)
  target_compile_options(ropewalk_bench_${set} PRIVATE -O3 -ffp-contract=off)

  if(ROPEWALK_PROFILE)
    link_for(profile ${set} web,worker,node tests/bench/profile/profile.cpp)
  endif()
endforeach()
# as the kernels, which its loops are compared with
set_source_files_properties(tests/bench/limits.cpp PROPERTIES COMPILE_OPTIONS "-O2;-fno-vectorize;-fno-slp-vectorize")
