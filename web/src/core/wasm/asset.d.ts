/** Address of the wasm file, which bundlers return for an asset import. */
declare const address: string;
export default address;
