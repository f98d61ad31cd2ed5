// Embind declarations for adapters: functions, without logic.
#include <new>

#include "bindings/model.h"

using namespace emscripten;
using namespace ropewalk;
using namespace ropewalk::bindings;

namespace {

// 0 if memory runs out.
Address create(int terms) {
  std::unique_ptr<Adapter> adapter(new (std::nothrow) Adapter);
  if (adapter == nullptr || adapter->resize(terms) != Status::ok) return 0;
  return reinterpret_cast<Address>(adapter.release());
}
void destroy(Address adapter) { delete at<Adapter>(adapter); }

// a: [rank][columns], b: [rows][rank], bias: [rows] or 0 for none.
StatusCode add(Address adapter, Address model, int layer, int slot, int expert, int first_row, int rows, int rank, Address a, Address b,
               Address bias, double scale) {
  const WeightMatrix* of = nullptr;
  const Status status = model_at(model).weights.find(layer, slot, expert, of);
  if (status != Status::ok) return static_cast<int>(status);
  return static_cast<int>(
      at<Adapter>(adapter)->add(*of, {first_row, rows}, rank, at<float>(a), at<float>(b), at<float>(bias), static_cast<float>(scale)));
}

// adapters: [count] of ScaledAdapter: an address, and a factor in f32.
StatusCode use(Address model, Address adapters, int count) {
  return static_cast<int>(model_at(model).forward.use_adapters({at<ScaledAdapter>(adapters), static_cast<std::size_t>(count)}));
}

}  // namespace

EMSCRIPTEN_BINDINGS(ropewalk_adapters) {
  function("adapter_create", &create);
  function("adapter_destroy", &destroy);
  function("adapter_add", &add);
  function("model_use_adapters", &use);
}
