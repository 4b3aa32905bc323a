# tool: python, tqdm
# how: a training with progress bars whose loss stops being a number in epoch 31 of 60
# decisive: RuntimeWarning: overflow encountered in
# decisive: FloatingPointError: loss of epoch 31 is nan
prepare() {
cat > train.py <<'X'
import time

import numpy
from tqdm import tqdm


def step(weights, data, rate):
    error = data @ weights
    return weights - rate * (data.T @ (error**2))


def main():
    random = numpy.random.default_rng(3)
    weights = random.normal(size=8) * 0.01
    stopped = None
    for epoch in range(60):
        rate = 1e-6 if epoch < 31 else 1e154
        bar = tqdm(range(150), desc=f"epoch {epoch}", mininterval=0, miniters=1, ncols=90)
        for _ in bar:
            weights = step(weights, random.normal(size=(16, 8)), rate)
            bar.set_postfix(error=f"{abs(weights).max():.3g}")
        if numpy.isnan(weights).any() and stopped is None:
            stopped = epoch
    if stopped is not None:
        raise FloatingPointError(f"loss of epoch {stopped} is nan, the checkpoint is not written")


main()
X
}
run() { python train.py 2>&1; }
