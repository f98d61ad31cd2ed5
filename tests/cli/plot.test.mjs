// `ropewalk plot`: well-formed SVG with the numbers of the package.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { inflateSync } from "node:zlib";
import { DOMParser } from "linkedom";
import { load, ropeConfig } from "ropewalk";
import { ropewalk, withFolder } from "./program.mjs";

const source = fileURLToPath(new URL("../../examples/configs/qwen2.5-7b.json", import.meta.url));
const scalings = ["--scaling", "none", "--scaling", "yarn:4"];
const configOf = async (overrides) => ropeConfig(JSON.parse(await readFile(source, "utf8")), { overrides });

/** Checks that tags match, attributes are quoted, and no coordinate is missing. */
function parse(svg) {
  assert.ok(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"') && svg.endsWith("</svg>\n"));
  assert.ok(!/NaN|Infinity|undefined/.test(svg));
  const open = [];
  for (const [, end, name, isEmpty] of svg
    .replace(/<style>.*?<\/style>/gs, "")
    .matchAll(/<(\/?)([\w:-]+)(?:\s+[\w:-]+="[^"<]*")*\s*(\/?)>/g)) {
    if (end) assert.equal(open.pop(), name);
    else if (!isEmpty) open.push(name);
  }
  assert.deepEqual(open, []);
  return new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
}

const textsOf = (svg) => [...svg.querySelectorAll("text")].map((text) => text.textContent);

for (const kind of ["frequencies", "decay", "ramp", "attention"]) {
  test(`${kind}: a file with title, axes and a legend, for light and dark mode`, () =>
    withFolder(async (folder) => {
      const output = join(folder, "plot.svg");
      const shown = kind === "ramp" ? ["--scaling", "linear:4", "--scaling", "yarn:4"] : scalings;
      const { status, stdout, stderr } = await ropewalk([
        "plot",
        kind,
        source,
        ...shown,
        "--title",
        'A "title" & <more>',
        "-o",
        output,
      ]);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /plot\.svg: .*yarn:4, planned for 131072 positions\n$/);
      const text = await readFile(output, "utf8");
      const svg = parse(text);
      assert.match(text, /prefers-color-scheme:dark/);
      assert.equal(svg.querySelector("title").textContent, 'A "title" & <more>');
      const texts = textsOf(svg);
      assert.ok(texts.includes('A "title" & <more>'), texts.join("|"));
      assert.ok(
        texts.some((words) => words.endsWith("yarn:4")),
        texts.join("|"),
      );
      assert.ok(svg.querySelectorAll(kind === "attention" ? "rect" : "path").length >= 2);
      assert.deepEqual(await readdir(folder), ["plot.svg"]);
    }));
}

test("a scaling has one color in every plot", async () => {
  const colorOf = async (name, kind, ...names) => {
    const words = names.flatMap((scaling) => ["--scaling", scaling]);
    const svg = parse((await ropewalk(["plot", kind, source, ...words])).stdout);
    return [...svg.querySelectorAll("text")]
      .find(({ textContent }) => textContent.endsWith(` ${name}`))
      .parentElement.getAttribute("fill");
  };
  const yarn = await colorOf("yarn:4", "frequencies", "none", "yarn:4");
  assert.equal(await colorOf("yarn:4", "ramp", "none", "yarn:4"), yarn); // none has no ramp
  assert.equal(await colorOf("yarn:4", "decay", "none", "linear:4", "ntk:4", "yarn:4"), yarn);
  assert.notEqual(await colorOf("yarn:8", "frequencies", "yarn:4", "yarn:8"), yarn);
});

test("attention is an image of under 100 KB in an SVG, with an opacity for each weight", async () => {
  const words = ["plot", "attention", source, "--scheme", "rope", "--scheme", "alibi", "--tokens", "512"];
  const { stdout } = await ropewalk(words);
  assert.ok(stdout.length < 100_000, `${stdout.length} bytes`);
  const images = [...parse(stdout).querySelectorAll("mask image")];
  assert.equal(images.length, 2);
  const { schemes } = JSON.parse((await ropewalk([...words, "--json"])).stdout);
  for (const [i, image] of images.entries()) {
    const opacities = opacitiesOf(Buffer.from(image.getAttribute("href").split(",")[1], "base64"));
    const { weights } = schemes[i];
    for (const query of [0, 1, 100, 511]) {
      const row = weights.slice(query * 512, (query + 1) * 512);
      const largest = Math.max(...row);
      row.forEach((weight, key) => assert.equal(opacities[query][key], Math.round((255 * weight) / largest)));
    }
  }
});

/** Opacities of a PNG file of gray and alpha without filters. [rows, columns] */
function opacitiesOf(png) {
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const data = png.indexOf("IDAT");
  const pixels = inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)));
  const at = (row, column) => pixels[row * (1 + 2 * width) + 2 + 2 * column];
  return Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => at(row, column)));
}

test("without a file name the SVG goes to stdout", async () => {
  const { status, stdout, stderr } = await ropewalk(["plot", "frequencies", source, ...scalings]);
  assert.deepEqual([status, stderr], [0, ""]);
  parse(stdout);
});

test("--json prints the plotted numbers", async () => {
  const rw = await load();
  const numbers = async (kind, ...words) =>
    JSON.parse((await ropewalk(["plot", kind, source, ...words, "--json"])).stdout);
  const yarn = await configOf({ rope_scaling: { rope_type: "yarn", factor: 4 } });
  const { pairs } = rw.describe(yarn, 131072);

  const { series, length } = await numbers("frequencies", ...scalings);
  assert.equal(length, 131072);
  assert.deepEqual(
    series.map(({ name }) => name),
    ["none", "yarn:4"],
  );
  assert.deepEqual(
    series[1].points,
    pairs.map(({ pair, wavelength }) => [pair, wavelength]),
  );
  const ramp = await numbers("ramp", "--scaling", "yarn:4");
  assert.deepEqual(
    ramp.series[0].points,
    pairs.map(({ pair, kept_share }) => [pair, kept_share]),
  );

  const decay = await numbers("decay", "--max-distance", "4096");
  assert.ok(decay.series[0].points.every(([distance, share]) => distance <= 4096 && Math.abs(share) <= 1));
  assert.ok(decay.series[0].points[0][1] > 0.9, "near keys score as those at distance 0");

  const { schemes } = await numbers(
    "attention",
    "--tokens",
    "150",
    "--scheme",
    "rope",
    "--scheme",
    "alibi",
    "--scheme",
    "none",
  ); // more than a head has elements
  assert.deepEqual(
    schemes.map(({ name }) => name),
    ["rope, default", "alibi", "none"],
  );
  for (const { weights } of schemes) {
    for (const query of [0, 70, 149]) {
      const row = weights.slice(query * 150, (query + 1) * 150);
      assert.ok(Math.abs(row.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-5, "weights of f32 add up to 1");
      assert.ok(
        row.slice(query + 1).every((weight) => weight === 0),
        "the future has none",
      );
    }
  }
  const even = schemes[2].weights.slice(149 * 150);
  assert.ok(
    even.every((weight) => Math.abs(weight - 1 / 150) < 1e-7),
    "without positions all tokens get the same",
  );
});

test("invalid arguments are errors, and no file is left", () =>
  withFolder(async (folder) => {
    const output = join(folder, "plot.svg");
    const cases = [
      [["ramp", source, "-o", output], 2, /--scaling: none of the scalings has a ramp; add one/],
      [["frequencies", source, "-o", join(folder, "plot.png")], 2, /--output: must end in \.svg/],
      [["decay", source, "--scaling", "rerope:64", "-o", output], 2, /--scaling: changes positions in attention/],
      [["attention", source, "--position-map", "rerope:64", "-o", output], 2, /--position-map: changes positions in/],
      [["frequencies", source, "--scaling", "jarn:4", "-o", output], 2, /--scaling.*Must be own, none or type:factor/],
      [
        ["frequencies", source, "--scaling", "yarn:0", "-o", output],
        2,
        /--scaling.*The factor must be a number from 1 up/,
      ],
      [["attention", source, "--scheme", "learned", "-o", output], 2, /--scheme.*Must be one of rope, none/],
      [["attention", source, "--tokens", "1", "-o", output], 2, /--tokens.*from 2 to 512/],
      [["spiral", source, "-o", output], 2, /unknown command 'spiral'/],
      [["decay", join(folder, "nowhere.json"), "-o", output], 1, /no such file/],
    ];
    for (const [words, expected, message] of cases) {
      const { status, stdout, stderr } = await ropewalk(["plot", ...words]);
      assert.deepEqual([status, stdout], [expected, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
    assert.deepEqual(await readdir(folder), []);
  }));
