"""Make mjcf.json: accelerations of the models in tests/mjcf and its details by MuJoCo, at random states and inputs.

Of a model with loops the state is moved onto them, and the accelerations solve the equations of motion with exact
constraints, of MuJoCo's mass matrix, forces and Jacobians; MuJoCo's own constraints are soft.

`python tests/references/make_mjcf.py`, with mujoco 4.0.0.
"""

import json
from pathlib import Path
from typing import Any

import mujoco as mj
import numpy as np

HERE = Path(__file__).parent
COUNT, FEW = 6, 2


def rows(m: Any, d: Any) -> tuple[Any, Any, Any]:
    """Residual, Jacobian and minus its rate times the velocity of all active equalities."""
    residual, jacobian, gamma = [np.zeros(0)], [np.zeros((0, m.nv))], [np.zeros(0)]
    for k in range(m.neq):
        if not d.eq_active[k]:
            continue
        one, two, data = m.eq_obj1id[k], m.eq_obj2id[k], m.eq_data[k]
        kind = int(m.eq_type[k])
        if kind in (0, 1):
            sites = int(m.eq_objtype[k]) == int(mj.mjtObj.mjOBJ_SITE)
            ends = []
            for item, at in ((one, data[3:6] if kind else data[:3]), (two, data[:3] if kind else data[3:6])):
                body = m.site_bodyid[item] if sites else item
                R = d.xmat[body].reshape(3, 3)
                point = d.site_xpos[item] if sites else d.xpos[body] + R @ at
                J, w, Jd, wd = (np.zeros((3, m.nv)) for _ in range(4))
                mj.mj_jac(m, d, J, w, point, body)
                mj.mj_jacDot(m, d, Jd, wd, point, body)
                ends.append((point, R, J, w, Jd, wd))
            (p, R, J, w, Jd, wd), (p2, R2, J2, w2, Jd2, wd2) = ends
            residual.append(p - p2)
            jacobian.append(J - J2)
            gamma.append(-(Jd - Jd2) @ d.qvel)
            if kind:
                Q = np.zeros(9)
                mj.mju_quat2Mat(Q, data[6:10])
                turn = R @ Q.reshape(3, 3) @ R2.T
                residual.append(
                    np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
                )
                jacobian.append(w - w2)
                gamma.append(-(wd - wd2) @ d.qvel)
            continue
        tendon = kind == 3
        values = [(d.ten_length, m.tendon_length0, d.ten_velocity) if tendon else (d.qpos, m.qpos0, d.qvel)][0]
        slopes = []
        found = []
        for item in (one, two):
            if item < 0:
                found.append((0.0, 0.0))
                slopes.append(np.zeros(m.nv))
                continue
            place, rate = (item, item) if tendon else (m.jnt_qposadr[item], m.jnt_dofadr[item])
            found.append((values[0][place] - values[1][place], values[2][rate]))
            unit = np.zeros(m.nv)
            if tendon:
                first = m.tendon_adr[item]
                for wrap in range(first, first + m.tendon_num[item]):
                    unit[m.jnt_dofadr[m.wrap_objid[wrap]]] = m.wrap_prm[wrap]
            else:
                unit[rate] = 1.0
            slopes.append(unit)
        (y, _), (x, v) = found
        residual.append([y - sum(data[n] * x**n for n in range(5))])
        slope = sum(n * data[n] * x ** (n - 1) for n in range(1, 5))
        jacobian.append((slopes[0] - slope * slopes[1])[None])
        gamma.append([sum(n * (n - 1) * data[n] * x ** (n - 2) for n in range(2, 5)) * v * v])
    return np.concatenate(residual), np.concatenate(jacobian), np.concatenate(gamma)


def states(path: Path, count: int) -> list[dict[str, list[float]]]:
    """Some states, inputs and accelerations of a model."""
    m = mj.MjModel.from_xml_path(str(path))
    off = mj.mjtDisableBit
    m.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    d = mj.MjData(m)
    rng = np.random.default_rng(1)
    found = []
    for _ in range(count):
        q = m.qpos0.copy()
        mj.mj_integratePos(m, q, rng.normal(size=m.nv) * (0.2 if m.neq else 0.8), 1.0)
        d.qpos[:], d.qvel[:], d.ctrl[:] = q, rng.normal(size=m.nv), rng.normal(size=m.nu)
        mj.mj_forward(m, d)
        for _ in range(50):
            residual, J, _ = rows(m, d)
            if m.neq:
                q = d.qpos.copy()
                mj.mj_integratePos(m, q, -np.linalg.lstsq(J, residual, rcond=1e-10)[0], 1.0)
                d.qpos[:] = q
                mj.mj_forward(m, d)
        residual, J, _ = rows(m, d)
        assert not m.neq or np.abs(residual).max() < 1e-14, np.abs(residual).max()
        d.qvel[:] -= np.linalg.lstsq(J, J @ d.qvel, rcond=1e-10)[0] if m.neq else 0.0
        mj.mj_forward(m, d)
        residual, J, gamma = rows(m, d)
        M = np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, M)
        n = len(gamma)
        A = np.block([[M, J.T], [J, np.zeros((n, n))]])
        a = np.linalg.lstsq(A, np.concatenate([d.qfrc_smooth, gamma]), rcond=1e-13)[0][: m.nv]
        values = {"qpos": d.qpos, "qvel": d.qvel, "ctrl": d.ctrl, "qacc": a}
        found.append({name: [float(item) for item in value] for name, value in values.items()})
    return found


if __name__ == "__main__":
    names = ("arm", "servos", "solids", "meshes", "floating", "loops")
    folder = HERE.parent / "mjcf"
    made = {name: states(folder / f"{name}.xml", COUNT) for name in names}
    details = {path.stem: states(path, FEW) for path in sorted((folder / "details").glob("*.xml"))}
    text = json.dumps({"mujoco": mj.__version__, **made, "details": details}, indent=1)
    (HERE / "mjcf.json").write_text(text + "\n", encoding="utf-8")
