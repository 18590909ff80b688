#!/usr/bin/env python3
"""One rank against PyTorch and Hugging Face Transformers on the same weights and tokens.

For each tiny model: random weights are saved as safetensors with Hugging Face names; `plait run` trains ten AdamW steps
from them on the slow backend; Transformers does the same in float64. Compared are the logits and the gradient of every
tensor of step 1 and the loss of every step (1e-5, relative to the tensor's largest element), and all parameters after ten
steps (1e-4).

Exit code 77 (skipped) with the reason if torch or a fitting transformers is absent.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy and torch start their threads
SEQUENCE, BATCH, STEPS, LEARNING_RATE, DECAY = 24, 4, 10, 1e-4, 0.1
MODELS = ["tiny-llama", "tiny-llama-untied", "tiny-gpt2", "tiny-neox", "tiny-qwen3"]


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


try:
    import torch
except ImportError:
    skip("python3-torch is not installed")
try:
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError:
    skip("transformers is not installed for this Python")


def hf_model(config):
    """The model of a config.json in float64 with deterministic float32 weights; None if this transformers lacks it."""
    settings = dict(config)
    kind = settings.pop("model_type")
    if kind not in transformers.CONFIG_MAPPING:
        return None
    for key in ("attn_pdrop", "embd_pdrop", "resid_pdrop", "attention_dropout", "hidden_dropout"):
        if key in settings:
            settings[key] = 0.0
    torch.manual_seed(11)
    model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(kind, **settings))
    for parameter in model.parameters():  # biases and norm weights start at constants: make every gradient matter
        if parameter.dim() < 2:
            parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def write_tokens(path, tokens):
    with open(path, "wb") as file:
        file.write(b"PLAITTOK" + struct.pack("<II", 1, 4) + struct.pack("<%dI" % len(tokens), *tokens))


def batch(tokens, step):
    """Inputs and labels of a 1-based step, as runtime/data/TokenBatches.h defines the windows."""
    starts = [(((step - 1) * BATCH + i) * SEQUENCE) % (len(tokens) - SEQUENCE) for i in range(BATCH)]
    window = torch.tensor([tokens[s : s + SEQUENCE + 1] for s in starts])
    return window[:, :-1], window[:, 1:]


def train(model, tokens):
    """Losses, logits and gradients of step 1, and final parameters of ten AdamW steps in float64."""
    model = model.double().train()
    named = dict(model.named_parameters())
    matrices = [p for p in named.values() if p.dim() >= 2]
    vectors = [p for p in named.values() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}], lr=LEARNING_RATE)
    losses, gradients, first_logits = [], {}, None
    for step in range(1, STEPS + 1):
        inputs, labels = batch(tokens, step)
        logits = model(inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if step == 1:
            first_logits = logits.detach()
            gradients = {name: p.grad.clone() for name, p in named.items()}
        optimizer.step()
        losses.append(loss.item())
    return losses, first_logits, gradients, {name: p.detach() for name, p in named.items()}


def run_plait(args, config_path, folder):
    """Losses of plait's ten steps; dumps under folder/dump."""
    plan, binary = os.path.join(folder, "plan.pb"), os.path.join(args.bin, "plait")
    subprocess.run([binary, "compile", "--model", config_path, "--cluster", os.path.join(args.data, "clusters/cpu-1.json"),
                    "--seq-len", str(SEQUENCE), "--global-batch", str(BATCH), "--precision", "fp32", "-o", plan],
                   check=True, stdout=subprocess.DEVNULL, timeout=120)
    run = subprocess.run([binary, "run", plan, "--data", os.path.join(folder, "tokens.bin"), "--weights", os.path.join(folder, "weights"),
                          "--reference", "--steps", str(STEPS), "--lr", str(LEARNING_RATE), "--weight-decay", str(DECAY),
                          "--dump", os.path.join(folder, "dump"), "--format", "json"],
                         check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    return [json.loads(line)["loss"] for line in run.stdout.splitlines()]


def difference(ours, theirs):
    scale = theirs.abs().max().item()
    worst = (ours.double() - theirs.double()).abs().max().item()
    d = worst / scale if scale > 0 else worst
    return d if math.isfinite(d) else math.inf  # a NaN would vanish in a maximum



def without_keys(name, tensor, heads):
    """The tensor without its key part where that part's gradient is zero but for rounding."""
    if name.endswith("c_attn.bias"):
        third = tensor.shape[0] // 3
        return torch.cat([tensor[:third], tensor[2 * third :]])
    if name.endswith("query_key_value.bias"):
        return tensor.view(heads, 3, -1)[:, [0, 2]].reshape(-1)
    return tensor


def compare(kind, ours, theirs, tolerance, heads):
    worst = ("", 0.0)
    missing = sorted(set(theirs) ^ set(ours))
    if missing:
        return f"{kind}: tensors on one side only: {missing[:4]}"
    for name in theirs:
        d = difference(without_keys(name, ours[name], heads), without_keys(name, theirs[name], heads))
        if not d <= worst[1]:
            worst = (name, d)
    print(f"  {kind}: {len(theirs)} tensors, worst {worst[1]:.2e} in {worst[0]} (limit {tolerance:g})")
    return None if worst[1] <= tolerance else f"{kind}: {worst[0]} differs by {worst[1]:.2e}"


def compare_logits(args, folder, theirs):
    """Dumped micro-batch after micro-batch as [positions, samples, vocabulary]."""
    out = os.path.join(folder, "logits.bin")
    subprocess.run([args.logits, os.path.join(folder, "plan.pb"), os.path.join(folder, "tokens.bin"), os.path.join(folder, "weights"), out],
                   check=True, timeout=120)
    flat = torch.frombuffer(bytearray(open(out, "rb").read()), dtype=torch.float32)
    report = subprocess.run([os.path.join(args.bin, "plait"), "explain", os.path.join(folder, "plan.pb"), "--format", "json"],
                            check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    samples = json.loads(report.stdout)["layout"]["micro_batch"]
    ours = flat.view(BATCH // samples, SEQUENCE, samples, -1).transpose(1, 2).reshape(BATCH, SEQUENCE, -1)
    d = difference(ours, theirs)
    print(f"  logits: worst {d:.2e} (limit 1e-05)")
    return None if d <= 1e-5 else f"logits differ by {d:.2e}"


def check(args, name):
    config_path = os.path.join(args.data, "models", name + ".json")
    config = json.load(open(config_path))
    model = hf_model(config)
    if model is None:
        print(f"{name}: skipped: transformers {transformers.__version__} has no {config['model_type']}")
        return []
    print(f"{name}:")
    folder = os.path.join(args.work, name)
    os.makedirs(os.path.join(folder, "weights"), exist_ok=True)
    save_file({n: p.detach().clone().contiguous() for n, p in model.named_parameters()}, os.path.join(folder, "weights", "model.safetensors"))
    tokens = torch.randint(0, config["vocab_size"], (SEQUENCE * BATCH * STEPS + 77,)).tolist()
    write_tokens(os.path.join(folder, "tokens.bin"), tokens)
    losses = run_plait(args, config_path, folder)
    expected, logits, gradients, parameters = train(model, tokens)
    heads = config.get("num_attention_heads", config.get("n_head"))
    errors = [compare_logits(args, folder, logits)]
    ratios = [abs(a / b - 1) for a, b in zip(losses, expected)]
    worst = max(ratios) if len(ratios) == STEPS and all(map(math.isfinite, ratios)) else math.inf
    print(f"  losses: worst {worst:.2e} (limit 1e-05)")
    if not worst <= 1e-5:
        errors.append(f"losses {losses} against {expected}")
    for kind, theirs, tolerance in (("gradients", gradients, 1e-5), ("parameters", parameters, 1e-4)):
        ours = load_file(os.path.join(folder, "dump", kind, "tensors.safetensors"))
        errors.append(compare(kind, ours, theirs, tolerance, heads))
    return [f"{name}: {error}" for error in errors if error]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of the programs")
    parser.add_argument("--logits", required=True, help="program dump_logits")
    parser.add_argument("--data", required=True, help="test/data")
    parser.add_argument("--work", required=True, help="folder for weights, tokens and dumps")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}")
    errors = [error for name in MODELS for error in check(args, name)]
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
