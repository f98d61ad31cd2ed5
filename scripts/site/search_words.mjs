// Words by which a page of the guide is searched although it uses others, or says them only in passing.
export const SEARCH_WORDS = {
  "README.md":
    "install installation npm yarn-add pnpm bun-add getting-started quickstart setup import entry entries deploy",
  "run_a_model.md": "abort cancel stop progress AbortSignal stream streaming browser webpage",
  "models.md":
    "max_seq_len n_ctx num_ctx max_tokens max_new_tokens n_predict maxTokens context-length contextLength context_length max_length temperature top_p top_k min_p sampling seed chat template chat_template turns messages stop GGUF gguf safetensors tokenizer",
  "threads.md":
    "COOP COEP CORP crossOriginIsolated SharedArrayBuffer Cross-Origin-Opener-Policy Cross-Origin-Embedder-Policy isolation multithreading cores n_threads pthread",
  "loading.md":
    "CSP content-security-policy unsafe-eval wasm-unsafe-eval CDN jsdelivr unpkg esbuild rollup memory leak dispose OOM worker_thread inline",
  "apps/frameworks.md":
    "React Next.js Vue Nuxt Svelte SvelteKit Angular Astro Vite webpack Parcel rspack Bun Deno Cloudflare Jest",
  "apps/hub.md": "HuggingFace Hugging-Face hf Hub download mirror HF_TOKEN token offline cache_dir quantization Q4_K_M",
  "apps/openai.md":
    "OpenAI tools tool-calls tool_calls function-calling serve server REST API endpoint /v1/chat/completions llama-server ollama http",
  "apps/scaling_search.md": "LongRoPE LongRoPE2 long_factor evolutionary needle context-extension rescale-factors",
  "apps/ai_sdk.md": "Vercel AI-SDK generateText streamText provider",
  "apps/structured_output.md": "JSON json_schema response_format grammar GBNF regex choices constrained guided zod",
  "apps/decisions.md":
    "decide classify classification choice score boolean noul systemone typed questions logprobs confidence Jev Laya TypeSafe",
  "apps/decision_checkpoints.md": "Laya Julia-1 ModernBERT rl_agent_config julia_config decision-model encoder head",
  "apps/batches.md": "batch batching parallel n_parallel concurrent generateMany",
  "apps/kept_sessions.md": "persist save restore resume session OPFS IndexedDB prompt-cache prefix-cache",
  "apps/coming_from.md":
    "transformers.js transformersjs wllama webllm web-llm onnxruntime migration migrate port progress_callback",
  "apps/lora.md": "LoRA adapter PEFT fine-tune finetune adapters",
  "apps/views.md": "attention-map hidden-states activations interpretability steering logit-lens npy",
  "embeddings.md":
    "embedding embeddings vectors rerank reranker reranking cross-encoder semantic-search RAG sentence-transformers pooling mean-pooling BERT similarity",
  "long_embeddings.md": "retrieval long-documents chunking",
  "kv_caches.md": "KV-cache cache eviction sliding-window sink past_key_values cache_type_k q8_0 retune shift",
  "scaling_types.md":
    "rope_scaling rope_type rope_parameters linear PI NTK dynamic llama3 longrope su mrope mscale attention_factor beta_fast beta_slow",
  "extend_context.md": "context-extension extend longer-context yarn yarn-orig-ctx",
  "doctor.md": "diagnose llama.cpp vLLM rope-freq-base rope-freq-scale hf-overrides flags max-model-len",
  "gibberish.md": "garbage nonsense repetition wrong-output broken garbled",
  "pairings.md": "neox rotate_half GPT-J interleaved is_neox half permute",
  "which_rope.md": "rope_theta base freq_base partial_rotary_factor head_dim rotary_dim",
  "rotate.md": "apply_rotary_pos_emb apply_rope cos sin position_ids inv_freq",
  "attention.md": "softmax ALiBi scaled_dot_product_attention SDPA flash-attention mask GQA",
  "architectures.md": "supported-models Qwen Llama Gemma Mistral Phi DeepSeek MoE",
  "families.md": "model_type transformers",
  "recurrent_layers.md": "Mamba RWKV SSM linear-attention hybrid state-space",
  "command_line.md": "CLI cli command-line terminal npx shell quantize convert perplexity",
  "errors.md": "exception RopewalkError OUT_OF_MEMORY WASM_LOAD UNSUPPORTED_ENGINE INVALID_ARGUMENT troubleshooting",
  "limits.md": "WebGPU GPU not-supported unsupported browser-support memory64 4GB",
  "speed.md": "performance benchmark benchmarks slow",
  "whole_models.md": "tokens-per-second tokens/s tok/s throughput prefill decode performance",
  "accuracy.md": "precision float rounding error ulp",
  "results.md": "perplexity needle passkey recall RULER LongPPL",
  "long_context.md": "arena benchmark NIAH needle-in-a-haystack RULER LongPPL self-extend StreamingLLM which-scaling",
  "rope_and_yarn_from_zero.md": "tutorial introduction learn explained beginner what-is-rope",
  "background/references.md": "publications arXiv citation",
};
