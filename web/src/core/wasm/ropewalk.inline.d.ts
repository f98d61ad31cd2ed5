/** The wasm file as base64. */
declare const base64: string;
export default base64;
