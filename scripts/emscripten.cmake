# CMake toolchain file: builds with the Emscripten that scripts/emscripten.mjs finds, or fetches when there is none.
# To use another one, set ROPEWALK_EMSCRIPTEN_ROOT, as a cache or an environment variable, to the folder that holds its emcc.

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
    message(FATAL_ERROR "Emscripten is needed for this build: see the message above.")
  endif()
endif()

# CMake reads a toolchain file several times in a build's set-up; the answer stays the same.
set(ROPEWALK_EMSCRIPTEN_ROOT "${ROPEWALK_EMSCRIPTEN_ROOT}" CACHE PATH "The folder that holds emcc and em++" FORCE)
set(ENV{ROPEWALK_EMSCRIPTEN_ROOT} "${ROPEWALK_EMSCRIPTEN_ROOT}")

# In .toolchain/bin the compilers are scripts that set the environment first, so that Ninja and people can call them as they are.
set(EMSCRIPTEN_ROOT_PATH "${ROPEWALK_EMSCRIPTEN_ROOT}")
include("${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake")
