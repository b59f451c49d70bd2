#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Times the cases of torch.cpp in torch, on one thread. Reads a case a line; answers with the seconds of one call, by the
median of several, and the sum of all gradients. Ends with a sentence and status 3 where torch is not installed."""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("torch is not installed for this Python", flush=True)
    sys.exit(3)
torch.set_num_threads(1)


def numbers(scale, *shape):
    count = 1
    for n in shape:
        count *= n
    k = torch.arange(count, dtype=torch.int64)
    return (((k * 37 % 101).to(torch.float32) / 101 - 0.5) * scale).reshape(shape)


def chain(x):
    y = x * 0.25 + 0.5
    for k in range(16):
        y = y * x + 0.125 * (k % 5 - 2)
    return y.sum()


def perceptron(w1, w2):
    h = torch.tanh(IMAGES @ w1)
    return torch.nn.functional.cross_entropy(h @ w2, LABELS)


def convolution(x, w):
    # both hold their channels last
    y = torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1)
    return torch.relu(y).sum()


def loop(w, h):
    for _ in range(100):
        h = torch.tanh(w * h) + 0.5 * h
    return h.sum()


IMAGES = numbers(1, 64, 256)
LABELS = torch.arange(64) * 7 % 10
CASES = {
    "chain": (chain, [numbers(2, 65536)]),
    "perceptron": (perceptron, [numbers(0.2, 256, 128), numbers(0.2, 128, 10)]),
    "convolution": (convolution, [numbers(1, 8, 28, 28, 32), numbers(0.2, 3, 3, 32, 32)]),
    "loop": (loop, [numbers(1, 1024), numbers(1, 1024)]),
}


def step(function, leaves):
    return torch.autograd.grad(function(*leaves), leaves)


print("ready", flush=True)
for line in sys.stdin:
    function, values = CASES[line.strip()]
    leaves = [v.clone().requires_grad_() for v in values]
    total = sum(float(g.double().sum()) for g in step(function, leaves))
    start = time.perf_counter()
    step(function, leaves)
    calls = max(1, int(0.01 / (time.perf_counter() - start)))
    samples = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            step(function, leaves)
        samples.append((time.perf_counter() - start) / calls)
    print(statistics.median(samples), total, flush=True)
