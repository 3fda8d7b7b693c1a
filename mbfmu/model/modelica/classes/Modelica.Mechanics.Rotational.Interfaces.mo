// What laws of a model's own extend: an effort of the coordinate between two flanges and of its rate.
partial model PartialCompliant
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  Real phi_rel;
  Real tau;
  Modelica.Mechanics.Rotational.Interfaces.Effort compliant(tau=-tau);
equation
  phi_rel = compliant.phi_rel;
  connect(flange_a, compliant.flange_a);
  connect(flange_b, compliant.flange_b);
end PartialCompliant;
partial model PartialCompliantWithRelativeStates
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter StateSelect stateSelect;
  parameter Real phi_nominal;
  Real phi_rel;
  Real w_rel;
  Real a_rel;
  Real tau;
  Modelica.Mechanics.Rotational.Interfaces.Effort compliant(tau=-tau);
equation
  phi_rel = compliant.phi_rel;
  w_rel = compliant.w_rel;
  a_rel = compliant.a_rel;
  connect(flange_a, compliant.flange_a);
  connect(flange_b, compliant.flange_b);
end PartialCompliantWithRelativeStates;
