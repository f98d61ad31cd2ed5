# CMake toolchain file: builds with the Emscripten that scripts/emscripten.mjs finds.
# To use another, set ROPEWALK_EMSCRIPTEN_ROOT, as a cache or an environment variable, to the folder of its emcc.

if(NOT ROPEWALK_EMSCRIPTEN_ROOT)
  set(ROPEWALK_EMSCRIPTEN_ROOT "$ENV{ROPEWALK_EMSCRIPTEN_ROOT}")
endif()
if(NOT EXISTS "${ROPEWALK_EMSCRIPTEN_ROOT}/cmake/Modules/Platform/Emscripten.cmake")
  execute_process(
    COMMAND node "${CMAKE_CURRENT_LIST_DIR}/emscripten.mjs" --root
    OUTPUT_VARIABLE ROPEWALK_EMSCRIPTEN_ROOT
    OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "The wasm build needs Emscripten: see the message above.")
  endif()
endif()

# CMake reads a toolchain file several times per configuration: keep the answer.
set(ROPEWALK_EMSCRIPTEN_ROOT "${ROPEWALK_EMSCRIPTEN_ROOT}" CACHE PATH "The folder of emcc and em++" FORCE)
set(ENV{ROPEWALK_EMSCRIPTEN_ROOT} "${ROPEWALK_EMSCRIPTEN_ROOT}")

# Emscripten may be found through a link or a start script, so don't let its own CMake module search for it.
set(EMSCRIPTEN_ROOT_PATH "${ROPEWALK_EMSCRIPTEN_ROOT}")
include("${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake")
