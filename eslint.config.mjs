// The sources of the package and of the site follow typescript-eslint's strictest rules that use types; scripts, tests and examples ESLint's recommended ones.
import eslint from "@eslint/js";
import globals from "globals";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist/", "build/", "docs/api/", ".toolchain/", "coverage/"] },
  {
    files: ["web/src/**/*.ts", "web/site/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ["./tsconfig.json", "./web/site/tsconfig.json", "./web/site/tsconfig.worker.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      // Numbers and booleans print the same everywhere.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // noUncheckedIndexedAccess would require a check for each element of an array whose length has been checked.
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Destructuring uses `_` for the properties that it removes from the rest.
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_+$" }],
      // Messages print what a caller passed, which in JavaScript may have any type.
      "@typescript-eslint/no-base-to-string": "off",
      "@typescript-eslint/no-unnecessary-type-conversion": "off",
      // Configs are plain data, where an absent key differs from an undefined one.
      "@typescript-eslint/no-dynamic-delete": "off",
    },
  },
  {
    files: ["**/*.{js,mjs}"],
    extends: [eslint.configs.recommended],
    languageOptions: { globals: { ...globals.node, ...globals.browser, ...globals.worker } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-unused-vars": ["error", { varsIgnorePattern: "^_+$", argsIgnorePattern: "^_", caughtErrors: "none" }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
);
