"""deploy export --as esphome: ESPHome accepts the component, and what it publishes is the reference's."""

import configparser
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tflite_builder import ModelBuilder

import deploy
from aot.errors import OutputError

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
SCALE = np.float32(1 / 255)
STRICT = ("-std=gnu++20", "-Wall", "-Wextra", "-Werror")
DEFINES = "#pragma once\n#define USE_BINARY_SENSOR\n#define USE_MICROPHONE\n#define USE_SENSOR\n"
# The part of ESPHome's headers that the component uses.
HEADERS = {
    "core/defines.h": DEFINES,
    "core/log.h": """#pragma once
#include <cstdio>
#define ESP_LOGE(tag, ...) (std::printf("E " __VA_ARGS__), std::puts(""))
#define ESP_LOGW ESP_LOGE
#define ESP_LOGCONFIG(tag, ...) (std::printf(__VA_ARGS__), std::puts(""))
#define LOG_UPDATE_INTERVAL(component) (void) (component)
""",
    "core/component.h": """#pragma once
namespace esphome {
namespace setup_priority { const float DATA = 600.0f; }
class PollingComponent {
 public:
  virtual ~PollingComponent() = default;
  virtual void setup() {}
  virtual void loop() {}
  virtual void update() = 0;
  virtual void dump_config() {}
  virtual float get_setup_priority() const { return 0.0f; }
};
}  // namespace esphome
""",
    "components/sensor/sensor.h": """#pragma once
#include <cmath>
#include <cstdio>
namespace esphome::sensor {
class Sensor {
 public:
  float state{NAN};
  void publish_state(float value) { std::printf("%.9g ", this->state = value); }
};
}  // namespace esphome::sensor
""",
    "components/binary_sensor/binary_sensor.h": """#pragma once
#include <cstdio>
namespace esphome::binary_sensor {
class BinarySensor {
 public:
  void publish_state(bool value) { std::printf("%s\\n", value ? "on" : "off"); }
};
}  // namespace esphome::binary_sensor
""",
    "components/microphone/microphone_source.h": """#pragma once
#include <cstdint>
#include <functional>
#include <vector>
namespace esphome::microphone {
class MicrophoneSource {
 public:
  std::function<void(const std::vector<uint8_t> &)> heard;
  void add_data_callback(std::function<void(const std::vector<uint8_t> &)> callback) { heard = callback; }
  void start() {}
};
}  // namespace esphome::microphone
""",
}


def exported(folder: Path, **options: Any) -> Path:
    deploy.export(DIGITS, "esphome", folder, **{"board": "host", **options})
    return folder


def published(folder: Path, body: str, defines: str = DEFINES) -> list[str]:
    """Compiles the component with the headers above, and returns the lines that this program prints."""
    for name, text in {**HEADERS, "core/defines.h": defines}.items():
        (folder / "esphome" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "esphome" / name).write_text(text)
    (folder / "main.cpp").write_text(
        '#include "digits_component.h"\n#include <cstring>\nusing namespace esphome;\n'
        "static digits::Model model;\nstatic sensor::Sensor out[10];\n"
        "static binary_sensor::BinarySensor on;\n"
        "#ifdef USE_MICROPHONE\nstatic microphone::MicrophoneSource mic;\n#endif\n"
        f"int main() {{\nfor (int i = 0; i < 10; i++) model.add_output(&out[i], 0, i);\n{body}}}\n"
    )
    code = folder / "components/digits"
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-c", code / "digits.c"], cwd=folder, check=True)
    sources = ("main.cpp", str(code / "digits_component.cpp"), "digits.o", "-lm")
    argv = ["g++", *STRICT, "-I.", f"-I{code}", *sources, "-o", "program"]
    subprocess.run(argv, cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def scores(stored: Any) -> Any:
    """The outputs of the reference as numbers, for an input as it is stored."""
    found = deploy.load(DIGITS).run({"image": stored.reshape(1, 8, 8, 1).astype(np.int8)})["digit"]
    return (found[0].astype(np.float32) + 128) / np.float32(256)


@pytest.mark.cc
def test_readings_of_sensors_slide_through_the_input(tmp_path, require_tool):
    require_tool("g++")
    stored = np.random.default_rng(1).integers(-128, 128, (9, 8))
    values = (stored + 128).astype(np.float32) * SCALE
    values[8, 0], stored[8, 0] = 9.0, 127  # more than the model's largest number
    rows = ", ".join("{" + ", ".join(f"{value:.9g}" for value in row) + "}" for row in values)
    body = f"""  static const float rows[9][8] = {{{rows}}};
  static sensor::Sensor in[8];
  for (sensor::Sensor &each : in) model.add_input(&each);
  model.add_detector(&on, 0, 0, -1.0f, 1);
  model.setup();
  model.update();  // no reading yet
  for (auto &row : rows) {{
    for (int i = 0; i < 8; i++) in[i].state = row[i];
    model.update();
  }}
  static_assert(sizeof(digits::Model) < 4096, "no samples are kept without a microphone");
  model.set_input(64, 0.0f);
  model.reset();
  model.update();
  return std::isnan(model.output(1, 0)) && std::isnan(model.output(0, 10)) ? 0 : 1;
"""
    without = DEFINES.replace("#define USE_MICROPHONE\n", "")
    first, second, refused = published(exported(tmp_path / "x"), body, without)
    for line, window in ((first, stored[:8]), (second, stored[1:])):
        *shown, state = line.split()
        assert np.array_equal(np.array(shown, np.float32), scores(window))
        assert state == "on"
    assert refused == "E input element 64 of 64"


@pytest.mark.cc
def test_sound_is_pushed_row_by_row_and_averaged(tmp_path, require_tool):
    require_tool("g++")
    sound = np.random.default_rng(2).integers(0, 32768, 128).astype(np.int16)
    stored = np.clip(np.round(sound / np.float32(32768) / SCALE - 128), -128, 127).reshape(2, 64)
    expected = [scores(each) for each in stored]
    element = int(np.argmax(np.abs(expected[0] - expected[1])))
    mean = (expected[0][element] + expected[1][element]) / 2
    limit = (mean + max(expected[0][element] / 2, 0)) / 2  # between the averages after one and two runs
    body = f"""  static const int16_t sound[] = {{{", ".join(map(str, sound))}}};
  std::vector<uint8_t> bytes(sizeof sound);
  std::memcpy(bytes.data(), sound, sizeof sound);
  model.set_microphone_source(&mic);
  model.add_detector(&on, 0, {element}, {limit:.9g}f, 2);
  model.setup();
  mic.heard(bytes);
  model.loop();
  for (int i = 0; i < 33; i++) mic.heard(bytes);
  model.reset();
  model.loop();
"""
    lines = published(exported(tmp_path / "x", stream=True), body)
    for line, wanted in zip(lines, expected, strict=False):
        assert np.array_equal(np.array(line.split()[:-1], np.float32), wanted)
    averages = (expected[0][element] / 2, mean)
    assert [line.split()[-1] for line in lines[:2]] == ["on" if each > limit else "off" for each in averages]
    assert lines[2] == "E samples are lost: the model is slower than the microphone"
    assert len(lines) == 3 + 4096 // 64


def esphome_program() -> str:
    """ESPHome pins the versions of thirty packages, so it is installed apart from ours."""
    program = os.environ.get("ESPHOME")
    if not program:
        pytest.skip("needs ESPHome: ESPHOME does not name its program")
    return program


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_firmware_of_esphome_publishes_the_reference_s_outputs(tmp_path, require_tool):
    """ESPHome makes the whole program for this computer; g++ builds it, as PlatformIO would."""
    program = esphome_program()
    require_tool("g++")
    example = exported(tmp_path / "x") / "examples/digits.yaml"
    stored = np.round(np.tile(np.arange(4), 16) / SCALE - 128)  # what the example's four sensors read
    expected = scores(np.clip(stored, -128, 127))
    element = int(np.argmax(expected))
    printed = """    on_value: {then: [{lambda: 'printf("shown %.9g\\n", x); fflush(stdout);'}]}\n"""
    shown = f'    name: "Output 0"\n    element: {element}\n{printed}'
    text = example.read_text().replace('    name: "Output 0"\n', shown)
    example.write_text(text.replace("update_interval: 1s", "update_interval: 50ms"))
    subprocess.run([program, "compile", "--only-generate", example], check=True)
    place = example.parent / ".esphome/build/digits-example"
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(place / "platformio.ini")
    flags = settings["env:digits-example"]["build_flags"].split()
    sources = [
        path.relative_to(place) for path in sorted(place.rglob("*.c*")) if path.suffix in (".c", ".cpp")
    ]
    objects = [f"{number}.o" for number in range(len(sources))]
    for source, made in zip(sources, objects, strict=True):
        compiler = ("gcc",) if source.suffix == ".c" else ("g++", *flags)
        subprocess.run([*compiler, "-Isrc", "-c", source, "-o", made], cwd=place, check=True)
    subprocess.run(["g++", *objects, "-lpthread", "-lm", "-o", "program"], cwd=place, check=True)
    with subprocess.Popen([place / "program"], stdout=subprocess.PIPE, text=True) as firmware:
        assert firmware.stdout is not None
        line = next(line for line in firmware.stdout if line.startswith("shown "))
        firmware.kill()
    assert np.float32(line.split()[1]) == expected[element]


def test_a_model_with_two_inputs_is_refused(tmp_path):
    build = ModelBuilder()
    a, b = (build.input(name, (1, 4)) for name in "ab")
    (tmp_path / "two.tflite").write_bytes(build.finish(build.add(a, b, scale=0.05)))
    with pytest.raises(OutputError, match="two has 2 inputs, and the component feeds one"):
        deploy.export(tmp_path / "two.tflite", "esphome", tmp_path / "x", board="host")


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"board": "esp32-s3-devkitc-1", "stream": True}])
def test_esphome_accepts_the_example(options, tmp_path, require_tool):
    program = esphome_program()
    require_tool("g++")
    folder = exported(tmp_path / "x", **options)
    example = folder / "examples/digits.yaml"

    def config() -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "config", example], capture_output=True, text=True, check=False)

    assert "Configuration is valid!" in config().stderr
    python = Path(program).with_name("python")
    where = subprocess.run([python, "-c", "import esphome; print(*esphome.__path__)"], capture_output=True)
    headers = Path(where.stdout.decode().strip()).parent
    (folder / "esphome/core").mkdir(parents=True)
    (folder / "esphome/core/defines.h").write_text(f"{DEFINES}#define USE_AUDIO\n#define USE_HOST\n")
    source = folder / "components/digits/digits_component.cpp"
    subprocess.run(["g++", *STRICT, f"-I{folder}", f"-I{headers}", "-fsyntax-only", source], check=True)
    text = example.read_text()
    for wrong, message in (
        ("element: 10\n", "element 10 of 10: elements are counted from 0"),
        ("threshold: high\n", "expected float"),
    ):
        key = wrong.partition(":")[0]
        kept = [line for line in text.splitlines() if not line.strip().startswith(f"{key}:")]
        example.write_text("\n".join(kept) + f"\n    {wrong}")
        assert message in config().stdout
