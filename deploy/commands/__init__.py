"""The commands by name, with their summaries. The module deploy.commands.<name> is loaded on demand."""

COMMANDS = {
    "compile": "makes C sources from a model file, in an archive or a folder",
    "quantize": "makes an int8 model from a float ONNX model and samples of its inputs",
    "inspect": "shows what a model holds, and whether it fits a board",
    "report": "makes a page about a model on boards: memory, layers, what would help",
    "diff": "says what differs between two compiled models",
    "ops": "lists the supported operators and their element types",
    "accelerators": "lists what can compute layers in the place of generated kernels",
    "boards": "lists the known boards and the facts about them",
    "doctor": "lists the compilers and emulators on this machine",
    "new": "makes a project folder for a board from an archive",
    "build": "makes firmware from a project folder",
    "flash": "puts the firmware onto the board",
    "monitor": "shows what the board sends",
    "run": "runs a model on a board with your inputs",
    "verify": "compares a board's outputs with the reference, bit by bit",
    "bench": "measures models on boards: time, RAM, flash",
    "tune": "searches faster knobs for a model's kernels on a board",
    "farm": "offers this machine's boards to tuning runs elsewhere",
    "records": "shows what tuning has found: best, stats, merge, plot",
    "completion": "prints what makes a shell complete command lines",
}
