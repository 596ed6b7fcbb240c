"""cost_cases.py EDLC CASES TMP: plans the cost graphs of CASES, checks every
order with the checker beside them, and compares time factors."""
import json
import subprocess
import sys

# graph, per cent of the unplanned peak, the time factor that must be reached
KNOWN = [
    ("vgg16-b256", 95, 1.0077 * 1.001),
    ("vgg16-b256", 90, 1.0197 * 1.001),
    ("vgg16-b256", 85, 1.0197 * 1.001),
    ("unet-b32", 90, 1.0113 * 1.001),
    ("unet-b32", 80, 1.0198 * 1.001),
    ("unet-b32", 70, 1.0297 * 1.001),
    ("unet-b32", 60, 1.0445 * 1.001),
    ("unet-b32", 50, 1.069667),
    ("unet-b32", 40, 1.131109),
    ("layered-n100", 90, 1.0),
    ("layered-n100", 80, 1.0),
    ("layered-n100", 70, 1.02145),
    ("layered-n100", 60, 1.1618),
    ("resnet50-b256", 90, 1.001086),
    ("resnet50-b256", 80, 1.002787),
    ("resnet50-b256", 70, 1.005646),
    ("resnet50-b256", 60, 1.009799),
    ("resnet50-b256", 50, 1.015063),
    ("resnet50-b256", 40, 1.024059),
    ("layered-n500", 90, 1.0),
    ("layered-n500", 80, 1.005472),
    ("layered-n500", 70, 1.0514),
    ("layered-n500", 60, 1.2361),
]


def main():
    edlc, cases, order = sys.argv[1:]
    wrong = 0
    for graph, percent, most in KNOWN:
        costs = f"{cases}/costgraphs/{graph}.csv"
        memory = f"{percent}%"
        run = subprocess.run([edlc, "plan", costs, f"--memory={memory}",
                              f"--order={order}", "--json"],
                             capture_output=True, text=True, check=True)
        plan = json.loads(run.stdout)
        subprocess.run([sys.executable, f"{cases}/check_order.py", costs,
                        order, memory], check=True)
        good = plan["lower_bound"] <= plan["time_factor"] <= most
        wrong += not good
        print(graph, memory, plan["time_factor"], "of", most, good)
    sys.exit(wrong > 0)


main()
