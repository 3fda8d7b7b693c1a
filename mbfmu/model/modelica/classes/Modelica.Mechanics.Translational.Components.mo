// A vehicle on wheels that roll, against air, rolling resistance and slope.
model Vehicle
  parameter Real m;
  parameter Real g = 9.80665;
  parameter Real J;
  parameter Real R;
  parameter Real A;
  parameter Real Cd;
  parameter Real rho = 1.2;
  parameter Real vWindConstant = 0;
  parameter Boolean useCrInput = false;
  parameter Real CrConstant = 0.015;
  parameter Real vReg = 1e-3;
  parameter Boolean useInclinationInput = false;
  parameter Real inclinationConstant = 0;
  Real s(start=0);
  Real v(start=0);
  Real a(start=0);
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flangeR;
  Modelica.Mechanics.Translational.Interfaces.Flange_b flangeT;
  Modelica.Blocks.Interfaces.RealInput inclination if useInclinationInput;
  Modelica.Blocks.Interfaces.RealInput cr if useCrInput;
  Modelica.Mechanics.Rotational.Components.Inertia inertia(J=J);
  Modelica.Mechanics.Rotational.Components.IdealRollingWheel idealRollingWheel(radius=R);
  Modelica.Mechanics.Translational.Components.Mass mass(m=m);
  Modelica.Mechanics.Translational.Sources.ConstantSpeed wind(v_fixed=vWindConstant);
  Modelica.Mechanics.Translational.Sources.QuadraticSpeedDependentForce fDrag(
    useSupport=true, f_nominal=-Cd*A*rho/2, ForceDirection=false, v_nominal=1);
  Modelica.Mechanics.Translational.Components.RollingResistance fRoll(
    fWeight=m*g, useCrInput=useCrInput, CrConstant=CrConstant, useInclinationInput=useInclinationInput,
    inclinationConstant=inclinationConstant, reg=Modelica.Blocks.Types.Regularization.Linear, v0=vReg);
  Modelica.Mechanics.Translational.Sources.Force fGrav(f=-m*g*sin(atan(slope)));
protected
  Modelica.Blocks.Interfaces.RealInput slope;
  Modelica.Blocks.Sources.Constant level(k=inclinationConstant) if not useInclinationInput;
equation
  s = mass.s;
  v = mass.v;
  a = mass.a;
  connect(inclination, slope);
  connect(level.y, slope);
  connect(inclination, fRoll.inclination);
  connect(cr, fRoll.cr);
  connect(flangeR, inertia.flange_a);
  connect(inertia.flange_b, idealRollingWheel.flangeR);
  connect(idealRollingWheel.flangeT, mass.flange_a);
  connect(mass.flange_b, flangeT);
  connect(mass.flange_b, fDrag.flange);
  connect(fDrag.support, wind.flange);
  connect(mass.flange_b, fRoll.flange);
  connect(mass.flange_b, fGrav.flange);
end Vehicle;
