// rewind() of a LongRoPE below its boundary: the text is that of a session that has never read the later tokens.
import assert from "node:assert/strict";
import test from "node:test";
import { readExpected, tinyModel } from "../helpers/models.mjs";
import { rw } from "../helpers/runtime.mjs";

const list = (factor) => Array.from({ length: 3 }, (_, i) => 1 + factor * (i + 1));
const LONGROPE = {
  rope_type: "longrope",
  short_factor: list(0.1),
  long_factor: list(1),
  original_max_position_embeddings: 40,
  replace: true,
};

// Phi-3's factors change at 64 tokens. Falcon-H1 has states beside its keys.
for (const [name, options, lengths] of [
  ["phi3", {}, [70, 63, 5]],
  ["falcon_h1", { rope: { rope_scaling: LONGROPE } }, [60, 40, 7]],
])
  test(`${name}: logits, keys, hidden states, copies and longer texts after a rewind`, async () => {
    const model = await rw.model(tinyModel(`${name}/`), { ...options, contextLength: 128 });
    const { prompt, steps } = readExpected(name, "expected.json");
    const tokens = [...prompt, ...steps];
    const read = async (length) => {
      const session = model.session();
      await session.append(tokens.slice(0, length));
      return session;
    };
    const rewound = async (length) => {
      const session = await read(tokens.length);
      session.rewind(length);
      return session;
    };
    const assertSame = (session, fresh, what) => {
      assert.deepEqual(session.logits(), fresh.logits(), what);
      assert.deepEqual(session.keys(1), fresh.keys(1), what);
      assert.deepEqual(session.hidden(), fresh.hidden(), what);
    };
    for (const length of lengths) {
      const fresh = await read(length);
      // a text under the same factors has the states and keys that it had
      assertSame(await rewound(length), fresh, `${length}`);
      assert.deepEqual((await rewound(length)).keys(1), fresh.keys(1), `${length}: keys first`);
      assert.deepEqual((await rewound(length)).fork().logits(), fresh.logits(), `${length}: a fork`);
      const restored = model.session();
      restored.restore((await rewound(length)).save());
      assert.deepEqual(restored.keys(1), fresh.keys(1), `${length}: saved`);
      const twice = await rewound(length + 1);
      twice.rewind(length);
      assertSame(twice, fresh, `${length}: two rewinds`);
    }
    const [, , short] = lengths;
    const [session, fresh] = [await rewound(short), await read(short)];
    for (const next of [tokens.slice(short, short + 3), tokens.slice(short + 3)]) {
      for (const each of [session, fresh]) await each.append(next);
      assertSame(session, fresh, "continued");
    }
    // the same text again, as a chat with a changed message: its keys are read once
    session.rewind(short);
    await session.append(tokens.slice(short));
    assertSame(session, fresh, "back at the length");
    model.dispose();
  });
