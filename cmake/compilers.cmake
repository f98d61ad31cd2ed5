# Compiler options, by compiler. Defines functions only.

# Warnings, and no contraction of a product and a sum into one rounding: every build must give the same bits.
function(ropewalk_compile_options target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "MSVC")
    # /fp:precise does not contract (Visual Studio 2022 and later).
    target_compile_options(${target} PRIVATE /W4 /fp:precise)
  elseif(CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC") # clang-cl
    target_compile_options(${target} PRIVATE /W4 /clang:-ffp-contract=off)
  else() # GCC, Clang, AppleClang, Emscripten
    target_compile_options(${target} PRIVATE -Wall -Wextra -ffp-contract=off)
  endif()
endfunction()

# The library never throws. (GoogleTest does, so this is not for the tests.)
function(ropewalk_disable_exceptions target)
  if(NOT CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC" AND NOT MSVC)
    target_compile_options(${target} PRIVATE -fno-exceptions)
  endif()
endfunction()

# Warns about conversions that lose bits. The tests convert freely.
function(ropewalk_warn_about_conversions target)
  if(NOT CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC" AND NOT MSVC)
    target_compile_options(${target} PRIVATE -Wconversion -Wno-sign-conversion)
  endif()
endfunction()

# Keeps the compiler from vectorizing the scalar reference kernels: otherwise a speed-up over them would mean nothing. MSVC has no
# such option for a file. Results do not depend on it, only timings.
function(ropewalk_disable_vectorization)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(options -fno-tree-vectorize -fno-tree-slp-vectorize)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_CXX_COMPILER_FRONTEND_VARIANT STREQUAL "MSVC")
    set(options -fno-vectorize -fno-slp-vectorize)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()
