// Draws attention weights. The values are the rows of an identity matrix, so the outputs are the weights.
import { load } from "../../dist/index.js";

const size = 64; // tokens, and head_dim: each token has its own element of the values
const byId = (id) => document.getElementById(id);
const { position, tokens, window: windowSize, sinkTokens } = byId("settings").elements;
const canvas = Object.assign(byId("weights"), { width: size, height: size });

const rw = await load().catch((error) => {
  report(error);
  throw error;
});
const base = { head_dim: size, rope_theta: 10000, pairing: "half" };
const yarn = { rope_type: "yarn", factor: 4, original_max_position_embeddings: size };
const biases = Float32Array.from({ length: 16 }, (_, bucket) => -bucket / 4); // decrease with the distance
/** The option that each scheme needs. */
const schemes = {
  none: { position: "none" },
  rope: { rope: rw.rope(base) },
  yarn: { rope: rw.rope({ ...base, rope_scaling: yarn }) },
  sinusoidal: { position: { scheme: "sinusoidal" } },
  alibi: { position: { scheme: "alibi", slopes: [0.125] } },
  t5: { position: { scheme: "t5", table: biases, maxDistance: size } },
};

/** The kind of each token: eight, in a mixed order. */
const kinds = Array.from({ length: size }, (_, token) => Math.imul(token + 1, 0x9e3779b1) >>> 29);
/** [tokens, size] vectors used as queries and keys: all equal, or different for each kind of token. */
const vectors = {
  equal: new Float32Array(size * size).fill(0.7),
  kinds: Float32Array.from(
    { length: size * size },
    (_, i) => 0.5 + 0.6 * Math.sin((kinds[Math.floor(i / size)] + 1) * ((i % size) + 1) ** 2),
  ),
};
const identity = Float32Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));

let weights = identity; // those shown, [query][key]

function update() {
  const x = vectors[tokens.value];
  const window = windowSize.value === "" ? null : Number(windowSize.value);
  const options = { ...schemes[position.value], window, sinkTokens: Number(sinkTokens.value) };
  weights = rw.attention(x, x, identity, { layout: "thd", shape: [size, 1, size], ...options });
  const last = weights.subarray(-size);
  const largest = last.indexOf(Math.max(...last));
  const seen = last.filter((weight) => weight > 0).length;
  byId("text").textContent =
    `The last token attends to ${seen} tokens; its largest weight, ${percent(last[largest])}, is on token ${largest}.`;
  draw();
}

const percent = (weight) => `${(weight * 100).toFixed(1)} %`;

/** Each row goes from the page's background color to its accent color at the row's largest weight. */
function draw() {
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const [background, accent] = ["--ground", "--chosen"].map((name) => channels(style.getPropertyValue(name)));
  const image = context.createImageData(size, size);
  for (let query = 0; query < size; query++) {
    const row = weights.subarray(query * size, (query + 1) * size);
    const largest = Math.max(...row);
    row.forEach((weight, key) => {
      const color = background.map((channel, c) => channel + (accent[c] - channel) * (weight / largest));
      image.data.set([...color, 255], (query * size + key) * 4);
    });
  }
  context.putImageData(image, 0, 0);
}

/** The channels of #rrggbb. */
const channels = (color) => [1, 3, 5].map((first) => parseInt(color.trim().slice(first, first + 2), 16));

function readCell({ offsetX, offsetY }) {
  const cell = (offset, extent) => Math.min(size - 1, Math.max(0, Math.floor((offset / extent) * size)));
  const [query, key] = [cell(offsetY, canvas.clientHeight), cell(offsetX, canvas.clientWidth)];
  byId("under").textContent = `Query ${query}, key ${key}: ${percent(weights[query * size + key])}.`;
}

function show() {
  try {
    update();
    byId("problem").hidden = true;
  } catch (error) {
    report(error);
  }
}

function report({ message }) {
  byId("problem").textContent = message;
  byId("problem").hidden = false;
}

byId("settings").addEventListener("change", show);
canvas.addEventListener("pointermove", readCell);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
show();
