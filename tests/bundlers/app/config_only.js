import { ropeConfig } from "ropewalk";
import { show } from "./show.js";

show({
  rope_theta: String(
    ropeConfig({ model_type: "qwen2", hidden_size: 3584, num_attention_heads: 28, rope_theta: 1e6 }).rope_theta,
  ),
});
