"""What starting costs: processor time of `import stepjudge` and of `stepjudge --help`, beside an empty Python. In one run.

python benchmarks/startup.py [--rounds 5]
"""

import argparse
import resource
import statistics
import subprocess
import sys

COMMANDS = {
    "python -c pass": "pass",
    "import stepjudge": "import stepjudge",
    "stepjudge --help": "import sys; sys.argv = ['stepjudge', '--help']; from stepjudge.cli.main import main; main()",
}
TARGETS = {"import stepjudge": 0.15, "stepjudge --help": 0.30}


def cpu_s(code: str) -> float:
    """Seconds of processor time of a Python that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rounds = [{name: cpu_s(code) for name, code in COMMANDS.items()} for _ in range(options.rounds)]
    for name in COMMANDS:
        spent = statistics.median(each[name] for each in rounds)
        ratio = statistics.median(each[name] / each["python -c pass"] for each in rounds)
        target = f"   (target: under {TARGETS[name]:.2f} s)" if name in TARGETS else ""
        print(f"{name:18s} {spent:6.3f} s of CPU   {ratio:5.1f} x an empty Python{target}")


if __name__ == "__main__":
    main()
