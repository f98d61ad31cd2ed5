# The native library: the same sources, the wasm intrinsics by SIMDe.

find_path(SIMDE_INCLUDE_DIR simde/wasm/simd128.h)
if(NOT SIMDE_INCLUDE_DIR)
  message(FATAL_ERROR "SIMDe is needed for the native build: install libsimde-dev (Debian), simde (Homebrew), or set SIMDE_INCLUDE_DIR")
endif()
target_include_directories(ropewalk SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/src/simde ${SIMDE_INCLUDE_DIR})

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS ropewalk EXPORT ropewalk-targets)
install(FILES
  src/rope/buffer.h
  src/rope/config.h
  src/rope/cos_sin_rows.h
  src/rope/cos_sin_table.h
  src/rope/decay.h
  src/rope/difference_rows.h
  src/rope/pair_analysis.h
  src/rope/pairing.h
  src/rope/plan.h
  src/rope/positions.h
  src/rope/rerotate.h
  src/rope/rope.h
  src/rope/rotate.h
  src/rope/rotate_kernels.h
  src/rope/status.h
  src/rope/storage.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rope)
install(FILES
  src/nn/attend_tensors.h
  src/nn/attention.h
  src/nn/attention_kernels.h
  src/nn/checksum.h
  src/nn/image.h
  src/nn/kv_cache.h
  src/nn/kv_geometry.h
  src/nn/kv_image.h
  src/nn/kv_sequence.h
  src/nn/kv_turn.h
  src/nn/linear_attention.h
  src/nn/linear_image.h
  src/nn/position_scheme.h
  src/nn/row_storage.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nn)
install(EXPORT ropewalk-targets NAMESPACE ropewalk:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)
write_basic_package_version_file(ropewalk-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/ropewalk-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/ropewalk-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)

if(ROPEWALK_TESTS)
  enable_testing()
  add_subdirectory(tests/native)
endif()
