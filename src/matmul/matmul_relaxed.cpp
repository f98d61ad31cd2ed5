#include "base/add_product.h"
#include "matmul/matmul_simd.h"

namespace ropewalk {
namespace {

template <class Block>
void unpack_signed(const std::uint8_t* panel, int columns, PanelChunk& chunk) {
  switch (relaxed_sign()) {
    case RelaxedSign::is_signed: return unpack_quantized<RelaxedMultiplyAdd, RelaxedSignedDot<0>, Block>(panel, columns, chunk);
    case RelaxedSign::is_unsigned: return unpack_quantized<RelaxedMultiplyAdd, RelaxedSignedDot<128>, Block>(panel, columns, chunk);
    case RelaxedSign::neither: return unpack_quantized<RelaxedMultiplyAdd, WordDot, Block>(panel, columns, chunk);
  }
}

constexpr MatmulKernels relaxed_matmul_kernels() {
  MatmulKernels kernels = simd_matmul_kernels<RelaxedMultiplyAdd, RelaxedByteDot, RelaxedSplitDot, WordDot>("relaxed");
  kernels.unpack[static_cast<int>(WeightFormat::q8_0)] = unpack_signed<BlockQ8_0>;
  kernels.unpack[static_cast<int>(WeightFormat::iq4_nl)] = unpack_signed<BlockIq4Nl>;
  return kernels;
}

}  // namespace

const MatmulKernels kRelaxedMatmulKernels = relaxed_matmul_kernels();

}  // namespace ropewalk
