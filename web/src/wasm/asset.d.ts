/** Address of the wasm file, as bundlers give it for an asset import. */
declare const address: string;
export default address;
