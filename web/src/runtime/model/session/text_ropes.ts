// The RoPE of each group of a text's layers. The cache has the one in effect, which differs from the requested one for a LongRoPE
// (long_rope.ts).
import { withRopes } from "../../../core/attention/rope_argument.js";
import type { KvCacheCore } from "../../../core/cache/core.js";
import { retune } from "../../../core/cache/retune.js";
import { BY_LENGTH } from "../../../core/config/rope_fields.js";
import type { RopeConfig } from "../../../core/config/types.js";
import type { Heap } from "../../../core/memory/heap.js";
import { usesLongFactors, withLongFactors } from "../plan/long_rope.js";
import { type AttentionKind, cacheLayers, type ModelPlan, ropeKind } from "../plan/model_plan.js";

/** @internal */
export class TextRopes {
  /** Those of the model. */
  readonly model: readonly Readonly<RopeConfig>[];
  #requested: Readonly<RopeConfig>[];
  readonly #groups = new Map<AttentionKind, number | undefined>();

  /** @param cache - a new one of the model */
  constructor(cache: KvCacheCore, plan: ModelPlan) {
    this.model = cache.groups.map(({ config }) => config);
    this.#requested = this.model.slice();
    cacheLayers(plan).forEach((index, layer) => {
      const kind = ropeKind(plan.layers[index]!);
      if (kind !== undefined && !this.#groups.has(kind)) this.#groups.set(kind, cache.layers[layer]!.group);
    });
  }

  /** The group of the layers of a kind; undefined if they have no RoPE. */
  groupOf(kind: AttentionKind): number | undefined {
    return this.#groups.get(kind);
  }

  /** That of the full-attention layers, or of the sliding-window layers if those have none. */
  get main(): Readonly<RopeConfig> | null {
    return this.#requested[this.groupOf("full_attention") ?? this.groupOf("sliding_attention") ?? -1] ?? null;
  }

  get requested(): readonly Readonly<RopeConfig>[] {
    return this.#requested;
  }

  /** To be called when a cache with these RoPEs is the text's. */
  replace(requested: readonly Readonly<RopeConfig>[]): void {
    this.#requested = requested.slice();
  }

  /** Sets the RoPE of a group in the cache of a text of `length` tokens. */
  retune(cache: KvCacheCore, group: number, rope: Readonly<RopeConfig>, length: number): void {
    setRope(cache, group, usesLongFactors(rope, length) ? withLongFactors(rope) : rope);
    this.#requested[group] = rope;
  }

  /** Whether a LongRoPE has other factors at another length, so that the text must be read again. */
  changeFactors(from: number, to: number): boolean {
    return this.#requested.some((rope) => from > 0 && usesLongFactors(rope, to) !== usesLongFactors(rope, from));
  }

  /**
   * The longest text whose frequencies are those of a text of one token. Longer ones depend on the lengths at which their parts were read.
   * Not for LongRoPE, whose texts are read again when they change.
   */
  samePlanTo(heap: Heap): number {
    const changing = this.#requested.filter(({ rope_scaling }) => {
      const type = rope_scaling?.rope_type ?? "default";
      return type !== "longrope" && BY_LENGTH.includes(type);
    });
    return withRopes(heap, changing, (ropes) =>
      Math.min(
        Infinity,
        ...ropes.map((rope) => {
          rope.useLength(1);
          return heap.module.rope_plan(rope.address).valid_to;
        }),
      ),
    );
  }
}

/** Sets the RoPEs of the cache of a text of `length` tokens. @internal */
export function setRopes(cache: KvCacheCore, requested: readonly Readonly<RopeConfig>[], length: number): void {
  requested.forEach((rope, group) =>
    setRope(cache, group, usesLongFactors(rope, length) ? withLongFactors(rope) : rope),
  );
}

/** Copies the effective RoPEs of a cache to another one of the same model. @internal */
export function copyRopes(from: KvCacheCore, to: KvCacheCore): void {
  from.groups.forEach(({ config }, group) => setRope(to, group, config));
}

function setRope(cache: KvCacheCore, group: number, effective: Readonly<RopeConfig>): void {
  const { config, layers } = cache.groups[group]!;
  if (JSON.stringify(effective) !== JSON.stringify(config)) retune(cache, { rope: effective, layers });
}
