// Joints that consist of simpler ones.
model GearConstraint
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a bearing;
  parameter Real ratio;
  parameter Real n_a[3] = {1,0,0};
  parameter Real n_b[3] = {1,0,0};
  parameter Real r_a[3] = {0,0,0};
  parameter Real r_b[3] = {0,0,0};
  parameter StateSelect stateSelect;
  parameter Boolean checkTotalPower = false;
  Modelica.Mechanics.MultiBody.Joints.Revolute actuatedRevolute_a(useAxisFlange=true, n=n_a);
  Modelica.Mechanics.MultiBody.Joints.Revolute actuatedRevolute_b(useAxisFlange=true, n=n_b);
  Modelica.Mechanics.Rotational.Components.IdealGear idealGear(ratio=ratio);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation fixedTranslation1(r=r_b);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation fixedTranslation2(r=r_a);
  Real phi_b(start=0);
  Real w_b(start=0);
equation
  phi_b = actuatedRevolute_b.phi;
  w_b = actuatedRevolute_b.w;
  connect(actuatedRevolute_a.axis, idealGear.flange_a);
  connect(idealGear.flange_b, actuatedRevolute_b.axis);
  connect(fixedTranslation2.frame_a, bearing);
  connect(fixedTranslation1.frame_a, bearing);
  connect(fixedTranslation2.frame_b, actuatedRevolute_a.frame_a);
  connect(fixedTranslation1.frame_b, actuatedRevolute_b.frame_a);
  connect(actuatedRevolute_a.frame_b, frame_a);
  connect(actuatedRevolute_b.frame_b, frame_b);
end GearConstraint;
model UniversalSpherical
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  parameter Boolean computeRodLength = false;
  parameter Real n1_a[3] = {0,0,1};
  parameter Real rRod_ia[3] = {1,0,0};
  parameter Real m = 0;
  parameter Real given = sqrt(rRod_ia[1]*rRod_ia[1] + rRod_ia[2]*rRod_ia[2] + rRod_ia[3]*rRod_ia[3]);
  parameter Real rodLength = given;
  parameter Real scale = rodLength/given;
  Modelica.Mechanics.MultiBody.Joints.Universal universal(n_a=n1_a, n_b={n1_a[2]*rRod_ia[3] - n1_a[3]*rRod_ia[2],
    n1_a[3]*rRod_ia[1] - n1_a[1]*rRod_ia[3], n1_a[1]*rRod_ia[2] - n1_a[2]*rRod_ia[1]});
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod(r={scale*rRod_ia[1],scale*rRod_ia[2],scale*rRod_ia[3]});
  Modelica.Mechanics.MultiBody.Joints.Spherical spherical;
equation
  connect(frame_a, universal.frame_a);
  connect(universal.frame_b, rod.frame_a);
  connect(universal.frame_b, frame_ia);
  connect(rod.frame_b, spherical.frame_a);
  connect(spherical.frame_b, frame_b);
end UniversalSpherical;
