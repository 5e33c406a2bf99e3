"""The commands: name -> what it does. The module deploy.commands.<name> is loaded when it is named."""

COMMANDS = {
    "compile": "a model file becomes C sources, in an archive or a folder",
    "quantize": "a float ONNX model becomes an int8 one, with samples of its inputs",
    "inspect": "what a model holds, and whether it fits a board",
    "ops": "the operators that are supported, in which element types",
    "boards": "the boards that are known, and what is known of them",
    "doctor": "the compilers and emulators on this machine",
    "new": "an archive becomes a project folder for a board",
    "build": "a project folder becomes firmware",
    "flash": "the firmware goes onto the board",
    "monitor": "shows what the board says",
    "run": "runs a model on a board with your inputs",
    "verify": "compares a board's outputs with the reference, bit by bit",
    "bench": "measures models on boards: time, RAM, flash",
    "tune": "searches faster knobs for a model's kernels on a board",
    "farm": "offers this machine's boards to tuning runs elsewhere",
    "records": "what tuning has found: best, stats, merge, plot",
}
