// Types of the modules of examples/small_model that the page uses.
declare module "*/small_model/texts.mjs" {
  export const TRAINED_LENGTH: number;
  export interface Story {
    readonly text: string;
    readonly length: number;
    readonly questions: readonly { readonly at: number; readonly distance: number }[];
  }
  export function textOf(options: { seed: number; length: number; near?: boolean }): Story;
  export function tokensOf(model: import("ropewalk/worker").WorkerModel, story: Story): Promise<Int32Array>;
}

declare module "*/small_model/stories.mjs" {
  /** Null for a text without words. */
  export function words(text: string): string[] | null;
}

declare module "*/small_model/measures.mjs" {
  export const distanceOctaves: { first: number; of(distance: number): number; count(length: number): number };
}

declare module "*/small_model/scalings.mjs" {
  export const scalings: Record<string, { readonly label: string }>;
  export function overridesFor(name: string, length: number): import("ropewalk").RopeOverrides;
}

declare module "*/small_model/reading.mjs" {
  import type { WorkerSession } from "ropewalk/worker";
  export interface Answer {
    readonly at: number;
    readonly isRight: boolean;
    readonly distance?: number;
    readonly token?: number;
  }
  export interface Step {
    readonly at: number;
    readonly loss: number;
    readonly answers: readonly Answer[];
    readonly text?: string;
  }
  type Before = (at: number) => void | Promise<void>;
  export function readStory(
    session: WorkerSession,
    tokens: Iterable<number>,
    questions: readonly { readonly at: number; readonly distance: number }[],
    before: Before,
  ): AsyncGenerator<Step, void, void>;
  export function tellStory(
    session: WorkerSession,
    opening: string,
    options: { length: number; seed: number; before: Before },
  ): AsyncGenerator<Step, void, void>;
}
