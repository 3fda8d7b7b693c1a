// Parts of drive trains on frames that do not move: a rotor is an inertia there, and a mounting a fixed flange.
model Rotor1D
  outer Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a if world.driveTrainMechanics3D;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter Real J;
  parameter Real n[3] = {1,0,0};
  parameter Real r_center[3] = {0,0,0};
  parameter Real cylinderLength;
  parameter Real cylinderDiameter;
  parameter StateSelect stateSelect;
  parameter Boolean animation = true;
  parameter Boolean exact = true;
  Real phi(start=0);
  Real w(start=0);
  Real a(start=0);
  Modelica.Mechanics.Rotational.Components.Inertia inertia(J=J);
  Modelica.Mechanics.MultiBody.Parts.Housing housing if world.driveTrainMechanics3D;
equation
  phi = inertia.phi;
  w = inertia.w;
  a = inertia.a;
  connect(flange_a, inertia.flange_a);
  connect(inertia.flange_b, flange_b);
  connect(frame_a, housing.frame_a);
end Rotor1D;
model Mounting1D
  outer Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a if world.driveTrainMechanics3D;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter Real phi0 = 0;
  parameter Real n[3] = {1,0,0};
  Modelica.Mechanics.Rotational.Components.Fixed fixed(phi0=phi0);
  Modelica.Mechanics.MultiBody.Parts.Housing housing if world.driveTrainMechanics3D;
equation
  connect(fixed.flange, flange_b);
  connect(frame_a, housing.frame_a);
end Mounting1D;
