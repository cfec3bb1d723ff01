"""A stand-in for `nvidia-smi`, put on PATH by tests: its queries, its refusals, its silences.

What it is to say stands in the JSON file that FAKE_NVIDIA_SMI names: `gpus` (field to text),
`processes` (gpu_uuid, pid, used_gpu_memory, process_name), `unknown_fields`, `fail` (status and
text), `hang`, `die_after` rows of a loop, `silent_loop`.
"""

import json
import os
import sys
import time


def main(arguments):
    path = os.environ["FAKE_NVIDIA_SMI"]
    with open(path) as file:
        scene = json.load(file)
    with open(path + ".calls", "a") as file:
        file.write(json.dumps(arguments) + "\n")
    what, _, fields = arguments[0].lstrip("-").partition("=")
    fields = fields.split(",")
    assert arguments[1] == "--format=csv,noheader,nounits", arguments
    if scene.get("hang"):
        time.sleep(600)
    refused = refusal(scene, fields)
    if refused:
        print(refused["text"])
        return refused["status"]
    rows = scene["gpus" if what == "query-gpu" else "processes"]
    if "-i" in arguments:
        which = after("-i", arguments).split(",")
        rows = [row for row in rows if row["index"] in which or row["uuid"] in which]
    if "-lms" not in arguments:
        tell(rows, fields)
        return 0
    return loop(scene, rows, fields, int(after("-lms", arguments)) / 1000)


def after(option, arguments):
    return arguments[arguments.index(option) + 1]


def refusal(scene, fields):
    unknown = [field for field in fields if field in scene.get("unknown_fields", [])]
    if unknown:
        return {"status": 2, "text": f'Field "{unknown[0]}" is not a valid field to query.\n'}
    return scene.get("fail")


def tell(rows, fields):
    for row in rows:
        print(", ".join(row.get(field, "[N/A]") for field in fields))
    sys.stdout.flush()


def loop(scene, rows, fields, period_s):
    if scene.get("silent_loop"):
        time.sleep(600)
    for _ in range(scene.get("die_after", 10**9)):
        tell(rows, fields)
        time.sleep(period_s)
    print("Unable to determine the device handle for GPU 0000:07:00.0: GPU is lost.")
    return 15


sys.exit(main(sys.argv[1:]))
