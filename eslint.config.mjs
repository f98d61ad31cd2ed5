// typescript-eslint's strictest rules that know types, for the package's sources.
import tseslint from "typescript-eslint";

export default tseslint.config({
  files: ["web/src/**/*.ts"],
  extends: [tseslint.configs.strictTypeChecked],
  languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules: {
    // numbers and truth values print alike everywhere
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
    // noUncheckedIndexedAccess asks for one at each element of an array whose length has been checked
    "@typescript-eslint/no-non-null-assertion": "off",
    "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    // what a pattern takes out of an object to leave the rest
    "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_+$" }],
    // messages show what a caller gave, which in JavaScript may be of any type
    "@typescript-eslint/no-base-to-string": "off",
    "@typescript-eslint/no-unnecessary-type-conversion": "off",
    // configs are plain data, where an absent key and one that is undefined differ
    "@typescript-eslint/no-dynamic-delete": "off",
  },
});
