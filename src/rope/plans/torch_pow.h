// torch.pow in f32 on a CPU, whose last bits are not those of a correctly rounded power.
#pragma once

namespace ropewalk::plans {

// Returns base^exponent, element `index` of `base ** exponents` for an f32 tensor with `count` elements, with the bits of PyTorch 2.15 on
// x86-64 with AVX-512: whole groups of 32 elements by SLEEF's powf (Sleef_powf16_u10), the rest one at a time by the C library, which
// is here the correctly rounded power. base is above 1 (or infinite), exponent at least 0.
float torch_pow(float base, float exponent, int index, int count);

}  // namespace ropewalk::plans
