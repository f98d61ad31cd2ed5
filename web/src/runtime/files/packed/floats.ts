// Conversions of the scales of packed weights.
import type { WeightFormatName } from "../../../core/quantize/weight_formats.js";

/** A float's bytes as numbers. @param format - f32, f16 or bf16 @internal */
export function floatsOf(bytes: Uint8Array, format: WeightFormatName): Float32Array {
  const copy = bytes.slice(); // aligned
  if (format === "f32") return new Float32Array(copy.buffer);
  const halves = new Uint16Array(copy.buffer);
  if (format === "f16") return Float32Array.from(halves, floatOfHalf);
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}

function floatOfHalf(half: number): number {
  const exponent = (half >> 10) & 31;
  const mantissa = half & 1023;
  const sign = half & 0x8000 ? -1 : 1;
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
  return sign * (exponent === 0 ? mantissa * 2 ** -24 : (1024 + mantissa) * 2 ** (exponent - 25));
}

const float64 = new Float64Array(1);
const words = new Uint32Array(float64.buffer);

/** The bits of the f16 nearest to a finite number, ties to even. Infinity if it is too large. @internal */
export function halfOf(value: number): number {
  float64[0] = value;
  const sign = (words[1]! >>> 16) & 0x8000;
  const exponent = Math.max(((words[1]! >>> 20) & 0x7ff) - 1023, -14);
  if (exponent > 15) return sign | 0x7c00;
  const units = Math.abs(value) * 2 ** (10 - exponent); // exact; below 2048
  const floor = Math.floor(units);
  const rest = units - floor;
  const rounded = rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
  return sign | (((exponent + 14) << 10) + rounded); // a carry goes into the exponent
}

const float32 = new Float32Array(1);
const word = new Uint32Array(float32.buffer);

/** The bits of the bf16 nearest to a number, which is rounded to f32 first; ties to even. @internal */
export function bfloat16Of(value: number): number {
  float32[0] = value;
  const bits = word[0]!;
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}
