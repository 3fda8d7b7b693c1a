// What laws of a model's own extend: an effort of the coordinate between two flanges and of its rate.
partial model PartialCompliant
  Modelica.Mechanics.Translational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Translational.Interfaces.Flange_b flange_b;
  Real s_rel;
  Real f;
  Modelica.Mechanics.Translational.Interfaces.Effort compliant(f=-f);
equation
  s_rel = compliant.s_rel;
  connect(flange_a, compliant.flange_a);
  connect(flange_b, compliant.flange_b);
end PartialCompliant;
partial model PartialCompliantWithRelativeStates
  Modelica.Mechanics.Translational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Translational.Interfaces.Flange_b flange_b;
  parameter StateSelect stateSelect;
  parameter Real s_nominal;
  Real s_rel;
  Real v_rel;
  Real a_rel;
  Real f;
  Modelica.Mechanics.Translational.Interfaces.Effort compliant(f=-f);
equation
  s_rel = compliant.s_rel;
  v_rel = compliant.v_rel;
  a_rel = compliant.a_rel;
  connect(flange_a, compliant.flange_a);
  connect(flange_b, compliant.flange_b);
end PartialCompliantWithRelativeStates;
