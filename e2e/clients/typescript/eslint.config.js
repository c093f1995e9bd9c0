import tseslint from "typescript-eslint";

export default tseslint.config(
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error", noInlineConfig: true },
  },
  // Arguments of references have to be of an object's type: an interface is not, since it can grow.
  { files: ["*-api.ts"], rules: { "@typescript-eslint/consistent-type-definitions": "off" } },
);
