# The native library: the same sources, with the wasm intrinsics from SIMDe.

find_path(SIMDE_INCLUDE_DIR simde/wasm/simd128.h)
if(NOT SIMDE_INCLUDE_DIR)
  message(FATAL_ERROR "SIMDe is needed for the native build: install libsimde-dev (Debian), simde (Homebrew), or set SIMDE_INCLUDE_DIR")
endif()
target_include_directories(ropewalk SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/src/simde ${SIMDE_INCLUDE_DIR})

find_package(Threads REQUIRED)
target_sources(ropewalk PRIVATE ${ROPEWALK_KERNELS} src/base/native_threads.cpp)
target_link_libraries(ropewalk PUBLIC Threads::Threads)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS ropewalk EXPORT ropewalk-targets)
# Headers with intrinsics stay private: they need SIMDe, and users of the library don't have it.
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ropewalk
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
  PATTERN "*simd*" EXCLUDE
  PATTERN "add_product.h" EXCLUDE
  PATTERN "computed_here.h" EXCLUDE
  PATTERN "lane_constants.h" EXCLUDE
  PATTERN "load_at.h" EXCLUDE
  PATTERN "loaded_constants.h" EXCLUDE
  PATTERN "matmul_integer_dot.h" EXCLUDE
  PATTERN "matmul_unrolled.h" EXCLUDE
  PATTERN "pair_layout.h" EXCLUDE
  PATTERN "panel_bits.h" EXCLUDE
  PATTERN "sin_cos.h" EXCLUDE)
install(EXPORT ropewalk-targets NAMESPACE ropewalk:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)
write_basic_package_version_file(ropewalk-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/ropewalk-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/ropewalk-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)

if(ROPEWALK_TESTS OR ROPEWALK_THREAD_TESTS)
  enable_testing()
  add_subdirectory(tests/native)
endif()

if(ROPEWALK_TESTS)
  add_subdirectory(tests/browser/native_digest EXCLUDE_FROM_ALL)
endif()

# for `npm run bench -- ranges`
add_executable(pool_costs EXCLUDE_FROM_ALL tests/bench/profile/pool_costs.cpp)
target_link_libraries(pool_costs PRIVATE ropewalk)

if(ROPEWALK_FUZZ)
  enable_testing()
  target_compile_options(ropewalk PRIVATE -fsanitize=fuzzer-no-link)
  add_subdirectory(tests/fuzz/native)
endif()
