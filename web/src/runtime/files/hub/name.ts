// Names of models on the Hub, such as `org/name:Q4_K_M`. Does no I/O.

/** A model by its name. @internal */
export interface HubName {
  /** `org/name` */
  readonly repository: string;
  /** The quantization that was asked for, such as `Q4_K_M`. */
  readonly quantization?: string;
  /** Path of the file that was asked for. */
  readonly file?: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** Whether it has a file and no revision, so that it could as well be an address relative to a page. */
  readonly isPath: boolean;
}

const SEGMENT = String.raw`[A-Za-z0-9_][\w.-]*`;
const NAME = new RegExp(`^(${SEGMENT}/${SEGMENT})(?::([\\w.-]+)|((?:/[^/@:?#\\\\]+)+))?(?:@([^@\\s?#\\\\]+))?$`);

/** Endings of names of files. No repository is given by such a name, as it would be taken for a path. */
const FILE = /\.(gguf|safetensors|json|bin|onnx)$/i;

/** Parses a name; undefined for what is a path or an address. @internal */
export function parseHubName(text: string): HubName | undefined {
  const [, repository, quantization, path, revision] = NAME.exec(text) ?? [];
  if (repository === undefined || FILE.test(repository) || /\.\.|--|\.git$/.test(repository)) return undefined;
  if (revision?.split("/").some((part) => /^\.*$/.test(part))) return undefined; // it becomes part of a path
  if (path !== undefined && (!FILE.test(path) || path.split("/").some((part) => /^\.+$/.test(part)))) return undefined;
  return {
    repository,
    ...(quantization !== undefined && { quantization }),
    ...(path !== undefined && { file: path.slice(1) }),
    revision: revision ?? "main",
    isPath: path !== undefined && revision === undefined,
  };
}

/** Same as parseHubName() where files have addresses and no paths. `a/b/c.gguf` is an address relative to the page there. @internal */
export function parseHubNameInPage(text: string): HubName | undefined {
  const name = parseHubName(text);
  return name?.isPath === true ? undefined : name;
}

/** Whether a text that is no name could be meant as one: `gpt2`, `org/name:` or `huggingface.co/org/name`. @internal */
export function isAlmostHubName(text: string): boolean {
  return new RegExp(`^(?:(?:huggingface|hf)\\.co/)?${SEGMENT}(?:/${SEGMENT})?[:@]?$`).test(text) && !FILE.test(text);
}

/** The name of the model whose page on a Hub has an address; undefined for other addresses. @internal */
export function hubPage(url: URL, hub: string): string | undefined {
  if (!url.href.startsWith(`${hub}/`)) return undefined;
  const path = url.href.slice(hub.length + 1).replace(/[?#].*$/, "");
  // a mirror may have folders, the Hub itself has none
  const [, name] =
    /^([^/]+\/[^/]+?)(?:\/tree\/[^/]+)?$/.exec(/\/\/huggingface\.co$/.test(hub) ? path.replace(/\/$/, "") : path) ?? [];
  return name !== undefined && parseHubName(name)?.repository === name ? name : undefined;
}
