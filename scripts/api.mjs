// Writes web/public_api.txt: all names that the package exports, with their types, from the declarations in dist/.
//
//   node scripts/api.mjs            writes the file, after a build
//   node scripts/api.mjs --check    fails if it isn't up to date
//
// API Extractor writes such reports too, but only for one entry with one rolled-up declaration file.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeOrCheck } from "./generated.mjs";
import { runMain } from "./run.mjs";

const root = join(import.meta.dirname, "..");

/** The public entries, with the files of their declarations. */
async function entries() {
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, { types }]) => types !== undefined && !types.includes("/wasm/"))
    .map(([name, { types }]) => ({ name: name.replace(".", "ropewalk"), path: join(root, types) }));
}

async function listing() {
  const { default: ts } = await import("typescript");
  const files = await entries();
  const options = { target: ts.ScriptTarget.ES2022, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] };
  const program = ts.createProgram({ rootNames: files.map(({ path }) => path), options });
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });
  const shown = new Map(); // symbols, and the entry that shows them
  // The members of a type that a mapped type makes from others are written out.
  const derivedText = (node) => {
    const type = checker.getTypeAtLocation(node);
    const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;
    const members = checker.getPropertiesOfType(type).flatMap((member) => {
      const memberType = checker.getTypeOfSymbolAtLocation(member, node);
      const signatures = checker.getSignaturesOfType(memberType, ts.SignatureKind.Call);
      const name = member.name.startsWith("__@") ? `[${member.name.slice(3).replace(/@.*/, "")}]` : member.name;
      if (signatures.length === 0) return `readonly ${name}: ${checker.typeToString(memberType, node, flags)};`;
      return signatures.map((signature) => `${name}${checker.signatureToString(signature, node, flags)};`);
    });
    return `interface ${node.name.text} {\n${members.map((member) => `    ${member}\n`).join("")}}`;
  };
  const isDerived = (node) =>
    ts.isInterfaceDeclaration(node) &&
    (node.heritageClauses ?? []).some(({ types }) =>
      types.some(({ typeArguments }) => typeArguments?.some((argument) => ts.isTypeQueryNode(argument))),
    );
  const textOf = (node) => {
    if (isDerived(node)) return derivedText(node);
    const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    const text = printer.printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile());
    return text.replace(/^export (default )?/, "").replace(/^declare /, "");
  };
  const parts = files.map(({ name, path }) => {
    const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)));
    const declarations = [];
    const others = new Map(); // names that another entry has too
    for (const symbol of symbols.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const original = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const renamed = original.name === symbol.name ? symbol.name : `${symbol.name} (${original.name})`;
      const entry = shown.get(original);
      if (entry !== undefined) {
        others.set(entry, [...(others.get(entry) ?? []), renamed]);
        continue;
      }
      shown.set(original, name);
      const text = original.declarations.map(textOf).join("\n");
      declarations.push(original.name === symbol.name ? text : `${symbol.name} is ${text}`);
    }
    const repeated = [...others].map(([entry, names]) => `The same as in ${entry}: ${names.join(", ")}.`);
    return `# ${name}\n\n${[...repeated, ...declarations].join("\n\n")}\n`;
  });
  return `Written by scripts/api.mjs: all that the package exports. CHANGELOG.md names what changes here.\n\n${parts.join("\n")}`;
}

await runMain(import.meta.url, async (args) => {
  const advice = "run node scripts/api.mjs, and name the change in CHANGELOG.md";
  await writeOrCheck(args, "web/public_api.txt", await listing(), advice);
});
