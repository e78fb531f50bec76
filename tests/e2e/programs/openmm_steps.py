# SPDX-License-Identifier: MIT
"""Molecular dynamics with OpenMM on a GPU, as its users write it: openmm_steps.py STEPS [TIMES]. With TIMES
it does so again, and says what a step took in the quickest of them."""
import sys
import time

import openmm
from openmm import unit

ATOMS = 64
system = openmm.System()
force = openmm.NonbondedForce()
force.setNonbondedMethod(openmm.NonbondedForce.CutoffNonPeriodic)
force.setCutoffDistance(1.0)
for _ in range(ATOMS):
    system.addParticle(39.9)
    force.addParticle(0, 0.3, 1.0)
system.addForce(force)
integrator = openmm.LangevinMiddleIntegrator(100 * unit.kelvin, 1 / unit.picosecond,
                                             0.004 * unit.picoseconds)
context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("HIP"))
context.setPositions([(0.5 * (i % 4), 0.5 * (i // 4 % 4), 0.5 * (i // 16)) for i in range(ATOMS)])


def run(steps):
    started = time.monotonic_ns()
    integrator.step(steps)
    context.getState(getEnergy=True)
    return (time.monotonic_ns() - started) / steps


STEPS = int(sys.argv[1])
run(STEPS)
print("stepped")
if len(sys.argv) > 2:
    print(f"ns: {min(run(STEPS) for _ in range(int(sys.argv[2]))):.0f}")
