"""The commands by group and name, with summaries. Modules are loaded on demand; new-x is new_x."""

GROUPS = {
    "Compile and inspect": {
        "compile": "Compile a model to C sources, as an archive or a folder",
        "inspect": "Show what a model needs and whether it fits a board",
        "diff": "Compare two compiled models",
        "quantize": "Convert a float model to int8",
    },
    "Build and run": {
        "new": "Create a project folder from a model",
        "build": "Build firmware from a project folder",
        "flash": "Write firmware to the board",
        "monitor": "Show what the board sends",
        "run": "Run a model with your inputs",
        "verify": "Compare a board's results with the reference",
        "load": "Replace the model of running firmware (cartridges)",
    },
    "Measure and improve": {
        "bench": "Measure time, RAM and flash",
        "tune": "Search for faster kernel settings on a board",
        "records": "Show and merge tuning results",
        "farm": "Share this machine's boards for tuning",
        "report": "Write a page: does the model fit, what would help?",
        "explore": "Compare combinations of models, boards and options",
    },
    "Integrate": {
        "export": "Package a model for Arduino, ESP-IDF, Zephyr, CMake, ...",
        "evidence": "Write evidence for a safety assessor",
        "new-accelerator": "Start a package for your own accelerator",
    },
    "Look up": {
        "boards": "List boards and the facts about them",
        "ops": "List supported operators, or those of a model",
        "accelerators": "List accelerators and their options",
        "docs": "Show the pages of the documentation",
    },
    "Maintain": {
        "doctor": "Check the compilers and emulators of this machine",
        "cache": "List and delete firmware kept between commands",
        "completion": "Print shell completion for bash, zsh, fish, PowerShell",
        "bug-report": "Collect facts for a bug report, nothing private",
    },
}
COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
