import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// These headers isolate the page, so that the model may use threads. The host of the built app must send them too.
const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

export default defineConfig({ plugins: [react()], base: "./", server: { headers }, preview: { headers } });
