"""Make sdf.json: accelerations of tests/sdf/arm.sdf by Drake, at random states and efforts.

`python tests/references/make_sdf.py`, with drake 1.51.1.
"""

import json
from pathlib import Path

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

HERE = Path(__file__).parent
COUNT = 5
JOINTS = ("swing", "reach", "turn")


def main() -> None:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(HERE.parent / "sdf" / "arm.sdf"))
    plant.mutable_gravity_field().set_gravity_vector([0.5, -1.0, -9.0])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(3)
    states = []
    joints = [plant.GetJointByName(name) for name in JOINTS]
    for _ in range(COUNT):
        q, v, u = rng.normal(size=(3, len(joints)))
        position, rate, effort = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities()), np.zeros(3)
        for k, joint in enumerate(joints):
            position[joint.position_start()], rate[joint.velocity_start()] = q[k], v[k]
            effort[joint.velocity_start()] = u[k]
        plant.SetPositions(context, position)
        plant.SetVelocities(context, rate)
        plant.get_applied_generalized_force_input_port().FixValue(context, effort)
        found = plant.get_generalized_acceleration_output_port(plant.GetModelInstanceByName("arm")).Eval(context)
        a = [float(found[joint.velocity_start()]) for joint in joints]
        states.append({"q": list(q), "v": list(v), "u": list(u), "a": a})
    (HERE / "sdf.json").write_text(json.dumps({"joints": JOINTS, "states": states}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
