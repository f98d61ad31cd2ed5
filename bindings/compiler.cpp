// Records which compiler built a wasm file, in its custom section "ropewalk.compiler". `node scripts/emscripten.mjs` prints it.

#include <emscripten/version.h>

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define EMSCRIPTEN_VERSION TEXT(__EMSCRIPTEN_MAJOR__) "." TEXT(__EMSCRIPTEN_MINOR__) "." TEXT(__EMSCRIPTEN_TINY__)

// In assembly, because Clang's section attribute makes a data segment. The linker keeps this section but strips Clang's own "producers".
asm(".section .custom_section.ropewalk.compiler,\"\",@\n.ascii \"Emscripten " EMSCRIPTEN_VERSION ", " __VERSION__ "\"\n.text");
