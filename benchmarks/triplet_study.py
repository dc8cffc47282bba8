"""Simulated studies with people: how many responses are needed, how true the promises are, whether anything is lost.

    python benchmarks/triplet_study.py needed --items 12 30 60 --components 2    # the table in the guide (20 minutes)
    python benchmarks/triplet_study.py needed --items 60 --components 3 --lapses 0.1
    python benchmarks/triplet_study.py errors --items 60 --responses 1000 3000 --lapses 0.1
    python benchmarks/triplet_study.py raters                # six raters, one of whom guesses
    python benchmarks/triplet_study.py kills --times 200     # a process killed at random moments while telling

Items are points of a standard normal distribution. A rater follows the logistic model, in the unit that makes the
median margin 1 (three quarters of the responses to random queries are right), and in a proportion `lapses` of the
responses the answer is reversed.
"""

import argparse
import itertools
import json
import os
import signal
import tempfile
import time
import warnings

import numpy as np
from scipy.special import expit

from skrank.manifold import StochasticTripletEmbedding, TripletStudy
from skrank.metrics import procrustes_error

DESIGNS = {"random": "uniform", "chosen": "auto"}
TARGETS = (0.1, 0.05, 0.02)
FACTORS = (5, 8, 12, 18, 27, 40, 60, 90)  # responses for each coordinate


class Panel:
    """Simulated raters of one cloud of points; those of `lapses` err in that proportion of their responses."""

    def __init__(self, n_items, n_components, lapses, seed):
        self.rng = np.random.default_rng(seed)
        self.points = self.rng.standard_normal((n_items, n_components))
        self.lapses = lapses
        triplets = self.rng.integers(n_items, size=(10_000, 3))
        self.scale = 1 / np.median(np.abs(self.margins(triplets)))

    def margins(self, triplets):
        anchor, left, right = (self.points[items] for items in triplets.T)
        return ((anchor - right) ** 2).sum(axis=1) - ((anchor - left) ** 2).sum(axis=1)

    def respond(self, triplets, rater):
        left = self.rng.random(len(triplets)) < expit(self.scale * self.margins(triplets))
        return left ^ (self.rng.random(len(triplets)) < self.lapses[rater])


def simulate(design, panel, checkpoints, batch, seed, repeat=0.1):
    """The study after so many responses, again and again; raters take turns of a batch."""
    n_items, n_components = panel.points.shape
    study = TripletStudy(n_items, n_components, design=DESIGNS[design], repeat=repeat, random_state=seed)
    turns = itertools.cycle(range(len(panel.lapses)))
    for checkpoint in checkpoints:
        while study.n_responses < checkpoint:
            rater = next(turns)
            ids, triplets = study.ask(min(batch, checkpoint - study.n_responses), f"rater {rater + 1}")
            study.tell(ids, panel.respond(triplets, rater))
        yield study


# ---------------------------------------------------------------- how many
def needed(arguments):
    """Responses until the error falls below each target: medians over the seeds."""
    print(f"{'':25}{'random queries':>24}{'chosen queries':>27}")
    targets = "".join(f"{target:8.2f}" for target in TARGETS)
    print(f"{'items':>5}{'components':>12}{'lapses':>8}{targets}   {targets}")
    for n_items, n_components, lapse in itertools.product(arguments.items, arguments.components, arguments.lapses):
        cells = []
        for design in DESIGNS:
            runs = [crossings(design, n_items, n_components, lapse, seed) for seed in seeds_of(arguments)]
            cells.append("".join(f"{count:8.0f}" for count in np.median(runs, axis=0)))
        print(f"{n_items:5}{n_components:12}{lapse:8.2f}" + "   ".join(cells), flush=True)


def crossings(design, n_items, n_components, lapse, seed):
    """Number of responses at which the error crosses each target, between checkpoints on a line of logarithms."""
    n_coordinates = n_items * n_components
    checkpoints = [n_coordinates * factor for factor in FACTORS]
    panel = Panel(n_items, n_components, [lapse], seed)
    errors = []
    for study in simulate(design, panel, checkpoints, max(50, n_coordinates // 2), seed):
        errors.append(procrustes_error(panel.points, study.embedding_))
        if errors[-1] < min(TARGETS):
            break
    errors = np.minimum.accumulate(errors)
    log_counts = np.interp(
        -np.log(TARGETS), -np.log(errors), np.log(checkpoints[: len(errors)]), left=np.log(checkpoints[0]), right=np.inf
    )
    return np.exp(log_counts)


# ---------------------------------------------------------------- how true
def errors(arguments):
    """Error, promised error and lapse rate with so many responses, in batches of 50."""
    print(f"{'items':>5}{'components':>12}{'lapses':>8}{'responses':>11}  queries       error  promised  lapses found")
    for n_items, n_components, lapse in itertools.product(arguments.items, arguments.components, arguments.lapses):
        checkpoints = arguments.responses or [n_items * n_components * factor for factor in FACTORS[:6]]
        for design in DESIGNS:
            runs = []
            start = time.process_time()
            for seed in seeds_of(arguments):
                panel = Panel(n_items, n_components, [lapse], seed)
                runs.append(
                    [
                        (
                            procrustes_error(panel.points, study.embedding_),
                            study.expected_error_,
                            study.lapse_["rater 1"],
                        )
                        for study in simulate(design, panel, checkpoints, 50, seed)
                    ]
                )
            for row, (error, promised, found) in enumerate(np.mean(runs, axis=0)):
                print(
                    f"{n_items:5}{n_components:12}{lapse:8.2f}{checkpoints[row]:11}  {design:8}{error:11.4f}"
                    f"{promised:10.4f}{found:10.3f}"
                )
            ratios = np.array(runs)[:, :, 0] / np.array(runs)[:, :, 1]
            print(
                f"   error / promised, by responses: {' '.join(f'{one:.2f}' for one in np.median(ratios, axis=0))}; "
                f"{time.process_time() - start:.0f} s, seeds {[f'{one[-1][0]:.4f}' for one in runs]}",
                flush=True,
            )


def raters(arguments):
    """Six raters of 60 items in the plane, one of whom guesses: is he found, and what does he cost?"""
    n_responses = (arguments.responses or [3000])[0]
    lapses = [0.1] * 5 + [0.5]
    print("seed  error  without him  ratio  no lapse rates  lapse rates found (the last guesses)  flagged")
    for seed in seeds_of(arguments):
        panel = Panel(60, 2, lapses, seed)
        (study,) = simulate("chosen", panel, [n_responses], 50, seed)
        error = procrustes_error(panel.points, study.embedding_)
        others = study.raters_ != "rater 6"
        model = StochasticTripletEmbedding(n_items=60, lapse="auto", random_state=0)
        model.fit(study.triplets_[others], rater=study.raters_[others])
        without = procrustes_error(panel.points, model.embedding_)
        plain = StochasticTripletEmbedding(n_items=60, random_state=0).fit(study.triplets_)
        found = [f"{one.lapse.rate:.2f}" for one in sorted(study.raters())]
        flagged = [one.rater for one in study.raters() if one.guesses]
        print(
            f"{seed:4}{error:8.4f}{without:10.4f}{error / without:9.2f}"
            f"{procrustes_error(panel.points, plain.embedding_):12.4f}     {' '.join(found)}  {', '.join(flagged)}",
            flush=True,
        )


# ---------------------------------------------------------------- what is lost
def kills(arguments):
    """Kill a process that asks and tells at random moments, again and again on one file."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(arguments.first_seed)
    acknowledged, n_torn = {}, 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "study.jsonl")
        TripletStudy(20, random_state=0).save(path)
        for _ in range(arguments.times):
            acknowledged.update(tell_until_killed(path, rng.integers(1, 4), rng.uniform(0, 0.005)))
            with open(path, "rb") as file:
                n_torn += not file.read().endswith(b"\n")
        responses = TripletStudy.load(path).responses()
        with open(path) as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
    told = [number for line in lines for number, _ in line.get("tell", [])]
    recorded = {one.id: one.response for one in responses}
    lost = sum(recorded.get(number, "lost") != word for number, word in acknowledged.items())
    print(
        f"{arguments.times} kills: {len(acknowledged)} responses acknowledged, {len(told)} in the file; {lost} lost, "
        f"{len(told) - len(set(told))} there twice, {n_torn} lines cut off"
    )


def tell_until_killed(path, n_calls, seconds):
    """What a child process acknowledges until it is killed, so long after so many calls: id -> response."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            study = TripletStudy.load(path)
            rng = np.random.default_rng(study.n_queries)
            ids = study.open_queries().ids  # of the process that was killed before: it repeats what was not recorded
            while True:
                words = rng.choice(["left", "right"], size=len(ids)).tolist()
                study.tell(ids, words)
                os.write(writing, (json.dumps([ids.tolist(), words]) + "\n").encode())
                ids, _ = study.ask(int(rng.integers(1, 20)))
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = [pipe.readline() for _ in range(n_calls)]
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        lines += pipe.readlines()
    os.waitpid(child, 0)
    lines = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return {number: word for ids, words in lines for number, word in zip(ids, words, strict=True)}


def seeds_of(arguments):
    return range(arguments.first_seed, arguments.first_seed + arguments.seeds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of few responses, which is what is measured
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["needed", "errors", "raters", "kills"])
    parser.add_argument("--items", type=int, nargs="+", default=[12, 30, 60, 100])
    parser.add_argument("--components", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--lapses", type=float, nargs="+", default=[0.0, 0.1])
    parser.add_argument("--responses", type=int, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=200)
    arguments = parser.parse_args()
    {"needed": needed, "errors": errors, "raters": raters, "kills": kills}[arguments.what](arguments)
