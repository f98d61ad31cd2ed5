// Sessions that tests open and dispose.

/** New sessions of a model, which may be in a Worker. */
export function sessionsOf(model) {
  /** What `use` returns of a new session. */
  async function withSession(use, options) {
    const session = await model.session(options);
    try {
      return await use(session);
    } finally {
      await session.dispose();
    }
  }

  /** Logits after tokens, from a new session. */
  const logitsAfter = (tokens) =>
    withSession(async (session) => {
      await session.append(tokens);
      return session.logits();
    });

  return { withSession, logitsAfter };
}

/** The tokens of a generation. */
export async function tokensOf(pieces) {
  const all = [];
  for await (const { token } of pieces) all.push(token);
  return all;
}
