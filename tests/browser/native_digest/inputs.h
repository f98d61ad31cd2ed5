// Inputs shared by all cases, same as in pages/cases/inputs.mjs.
#pragma once

#include <cstdint>

#include "arguments.h"
#include "attention/attention.h"
#include "rope/rope.h"

using Bytes = std::vector<std::uint8_t>;

// Elements from a linear congruential generator.
Bytes elements(ropewalk::DType dtype, std::size_t count, std::uint32_t seed);
std::vector<float> floats(std::size_t count, std::uint32_t seed);

std::size_t size_of(const ropewalk::Shape& shape);

ropewalk::DType dtype_of(Arguments& arguments, const std::string& key);
ropewalk::Layout layout_of(Arguments& arguments);

// Reads the geometry of a rope, and its scaling from the keys that begin with `prefix`.
ropewalk::RopeConfig config_of(Arguments& arguments, const std::string& prefix = "");

// Positions first, first + step, … for each row and axis; each further row or axis starts 3 later.
struct Placed {
  ropewalk::Positions positions;
  std::vector<double> ids;
};
Placed place(double first, double step, int tokens, int axes = 1, int rows = 1);

// Options of attention, and the lists that they point to. scale is NaN unless given; position.rope is null.
struct Scores {
  ropewalk::AttentionOptions options;
  std::vector<float> sinks, temperatures, table, slopes;
};
Scores scores_of(Arguments& arguments, int tokens);

void print(const void* data, std::size_t bytes);

template <class T>
void print(const std::vector<T>& values) {
  print(values.data(), values.size() * sizeof(T));
}
