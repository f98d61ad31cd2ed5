// The scalings of the panel "Past the window", and the rope of each for a model and a factor.
import {
  type Description,
  overrideRopeConfig,
  type Rope,
  type RopeConfig,
  type Ropewalk,
  type ScalingOverrides,
} from "ropewalk";

/** What the form of the panel says. */
export interface Settings {
  /** The RoPE that the model was released with. */
  config: RopeConfig;
  factor: number;
  /** Share of the extended length that the text has, above 0 and up to 1. */
  share: number;
  betaFast: number;
  betaSlow: number;
  /** Exponent of the custom scaling. */
  power: number;
}

/** A model's trained length, the length that it is extended to, and the length of the text. */
export interface Lengths {
  trained: number;
  extended: number;
  text: number;
}

/** A scaling of the model, as charts draw it. */
export interface Curve {
  id: string;
  name: string;
  color: string;
  dashes: string;
  rope: Rope;
  /** At the length of the text. Computed on first access: it searches for the distance at which the score falls below zero. */
  readonly description: Description;
}

type Kind = Pick<Curve, "id" | "name" | "dashes"> & {
  scaling: (settings: Settings, plain: Float64Array) => ScalingOverrides | "released" | null;
};

const yarnKeys = ({ factor, betaFast, betaSlow }: Settings): ScalingOverrides => ({
  factor,
  beta_fast: betaFast,
  beta_slow: betaSlow,
});

/** In the order of the page. The names of checkboxes are the ids. `null`: the model has no such scaling. */
const KINDS: readonly Kind[] = [
  { id: "plain", name: "unscaled", dashes: "3 3", scaling: () => ({ rope_type: "default" }) },
  {
    id: "linear",
    name: "PI",
    dashes: "",
    scaling: ({ factor }) => ({ rope_type: "linear", factor }),
  },
  { id: "ntk", name: "NTK-aware", dashes: "", scaling: ({ factor }) => ({ rope_type: "ntk", factor }) },
  { id: "yarn", name: "YaRN", dashes: "", scaling: (settings) => ({ rope_type: "yarn", ...yarnKeys(settings) }) },
  {
    id: "ntk_by_parts",
    name: "NTK-by-parts",
    dashes: "7 5", // its frequencies are YaRN's, whose line is below
    scaling: (settings) => ({ rope_type: "ntk_by_parts", ...yarnKeys(settings) }),
  },
  { id: "dynamic", name: "Dynamic NTK", dashes: "", scaling: ({ factor }) => ({ rope_type: "dynamic", factor }) },
  {
    id: "llama3",
    name: "Llama 3",
    dashes: "",
    scaling: ({ factor }) => ({ rope_type: "llama3", factor, low_freq_factor: 1, high_freq_factor: 4 }),
  },
  {
    id: "longrope",
    name: "LongRoPE",
    dashes: "",
    scaling: ({ config }) => (config.rope_scaling?.rope_type === "longrope" ? "released" : null),
  },
  {
    id: "custom",
    name: "Custom",
    dashes: "2 3",
    scaling: ({ factor, power }, plain) => ({
      rope_type: "custom",
      inv_freq: (pair) => plain[pair]! / factor ** ((pair / (plain.length - 1)) ** power),
    }),
  },
];

/** Creates the ropes of a panel, and keeps those that its last drawing used. */
export class Scalings {
  readonly #rw: Ropewalk;
  #kept = new Map<string, Rope>();

  constructor(rw: Ropewalk) {
    this.#rw = rw;
  }

  /**
   * The curves of a model, without those that it doesn't have. Their ropes are valid until the next call.
   * @throws Error if the config has no trained length
   */
  curves(settings: Settings): { curves: Curve[]; lengths: Lengths } {
    const { config } = settings;
    const trained = this.#rw.describe(config).window;
    if (trained === null) throw new Error("this config has no max_position_embeddings, the length it was trained on");
    const extended = trained * settings.factor;
    const lengths = { trained, extended, text: Math.max(1, Math.round(extended * settings.share)) };

    const ropes = new Map<string, Rope>();
    const create = (scaled: RopeConfig): Rope => {
      const key = JSON.stringify(scaled);
      const rope = ropes.get(key) ?? this.#kept.get(key) ?? this.#rw.rope(scaled);
      ropes.set(key, rope);
      return rope;
    };
    const plain = create(withScaling(config, trained, { rope_type: "default" })).plan().inv_freq;
    const curves = KINDS.flatMap(({ scaling, ...kind }) => {
      const keys = scaling(settings, plain);
      if (keys === null) return [];
      const rope = create(keys === "released" ? config : withScaling(config, trained, keys));
      const curve: Curve = {
        ...kind,
        color: `var(--${kind.id})`,
        rope,
        get description() {
          return describe(rope, lengths.text);
        },
      };
      return [curve];
    });
    for (const [key, rope] of this.#kept) if (!ropes.has(key)) rope.dispose();
    this.#kept = ropes;
    return { curves, lengths };
  }
}

const described = new WeakMap<Rope, Description>();

function describe(rope: Rope, length: number): Description {
  const known = described.get(rope);
  if (known?.seqLen === length) return known;
  const description = rope.describe(length);
  described.set(rope, description);
  return description;
}

/** Dynamic scaling starts at `max_position_embeddings`, so that is the trained length. */
function withScaling(config: RopeConfig, trained: number, scaling: ScalingOverrides): RopeConfig {
  const rope_scaling = { original_max_position_embeddings: trained, replace: true, ...scaling };
  return overrideRopeConfig(config, { max_position_embeddings: trained, rope_scaling });
}

/** How many times the largest trained angle a pair reaches in the text, for pairs that didn't complete a rotation in training. */
export function newAngles({ pairs }: Description, length: number): { pair: number; times: number }[] {
  return pairs
    .filter(({ rotations }) => rotations < 1)
    .map(({ pair, rotations, wavelength }) => ({ pair, times: length / wavelength / rotations }))
    .filter(({ times }) => times > 1 + 1e-9);
}
