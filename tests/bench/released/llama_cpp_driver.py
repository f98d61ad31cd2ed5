"""A text that llama.cpp reads, by commands as those of ../peers/llama_driver.cpp, through llama-cpp-python, which compiles it for this machine.

python llama_cpp_driver.py MODEL.gguf THREADS      answers "ready"
append COUNT TIMES      milliseconds until the logits after COUNT more tokens are there, TIMES times in a row
rewind LENGTH 1         only the first LENGTH tokens are left
"""

import sys
import time

import llama_cpp

CONTEXT, BATCH = 1024, 512


def main():
    threads = int(sys.argv[2])
    model = llama_cpp.Llama(
        sys.argv[1], n_ctx=CONTEXT, n_batch=BATCH, n_ubatch=BATCH, n_threads=threads, n_threads_batch=threads, flash_attn=True, verbose=False
    )
    length = 0
    print("ready", flush=True)
    for line in sys.stdin:
        command, count, times = line.split()
        count = int(count)
        if command == "rewind":
            llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(model.ctx), 0, count, -1)
            length = count
            print(flush=True)
            continue
        samples = []
        for _ in range(int(times)):
            samples.append(append(model, length, count))
            length += count
        print(*samples, flush=True)


def append(model, length, count):
    tokens = (llama_cpp.llama_token * count)(*(3 + (length + i) * 37 % 200 for i in range(count)))
    start = time.perf_counter()
    if llama_cpp.llama_decode(model.ctx, llama_cpp.llama_batch_get_one(tokens, count)) != 0:
        raise SystemExit("llama_decode failed")
    llama_cpp.llama_get_logits_ith(model.ctx, -1)
    return 1000 * (time.perf_counter() - start)


main()
