// Classes of PlanarMechanics.VehicleComponents that consist of others.

model DifferentialGear
  Modelica.Mechanics.Rotational.Components.IdealPlanetary idealPlanetary(ratio=-2);
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_left;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_right;
equation
  connect(flange_b, idealPlanetary.ring);
  connect(idealPlanetary.carrier, flange_right);
  connect(idealPlanetary.sun, flange_left);
end DifferentialGear;
