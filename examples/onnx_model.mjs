// Writes an ONNX model with a single node as protobuf, using the field numbers of onnx.proto. Ten lines, so no protobuf library.

/** A protobuf message from `[field number, value]` pairs: numbers become varints; strings and messages are length-prefixed. */
function message(...fields) {
  return Buffer.concat(
    fields.map(([number, value]) => {
      if (typeof value === "number") return Buffer.concat([varint(number << 3), varint(value)]);
      const bytes = Buffer.from(value);
      return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
    }),
  );
}

function varint(value) {
  return Buffer.from(value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
}

const ELEMENTS = { float: 1, int64: 7 }; // TensorProto.DataType
const INT = 2; // AttributeProto.AttributeType

/** ValueInfoProto: a name, an element type and named dimensions. */
function valueInfo(name, [type, ...dims]) {
  const shape = message(...dims.map((dim) => [1, message([2, dim])]));
  return message([1, name], [2, message([1, message([1, ELEMENTS[type]], [2, shape])])]);
}

/**
 * The bytes of a model whose graph is one operator. `inputs` and `outputs` are `{ name: [type, ...dimension names] }`, `attributes` are
 * integers, and an empty domain means ONNX's own operators.
 */
export function oneNodeModel({ op, domain = "", opset, inputs, outputs, attributes }) {
  const node = message(
    ...Object.keys(inputs).map((name) => [1, name]),
    ...Object.keys(outputs).map((name) => [2, name]),
    [4, op],
    ...Object.entries(attributes).map(([name, value]) => [5, message([1, name], [3, value], [20, INT])]),
    [7, domain],
  );
  const graph = message(
    [1, node],
    [2, op],
    ...Object.entries(inputs).map(([name, type]) => [11, valueInfo(name, type)]),
    ...Object.entries(outputs).map(([name, type]) => [12, valueInfo(name, type)]),
  );
  const irVersion = 10;
  return message([1, irVersion], [7, graph], [8, message([1, domain], [2, opset])]);
}
