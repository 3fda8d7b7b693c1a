// A rod between two balls, and a prismatic joint that carries its end: a distance between points of bodies.
model JointSSP
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real rod1Length;
  parameter Real rod1Mass = 0;
  parameter Real n_b[3] = {0,0,1};
  parameter Real rRod2_ib[3] = {1,0,0};
  parameter Real s_offset = 0;
  parameter Real s_guess = 0;
  parameter Boolean showMass = true;
  parameter Boolean checkTotalPower = false;
  parameter Integer rod1Color[3];
  parameter Integer rod2Color[3];
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation offset(r={s_offset*n_b[1],s_offset*n_b[2],s_offset*n_b[3]});
  Modelica.Mechanics.MultiBody.Joints.Internal.PrismaticWithLengthConstraint prismatic(n=n_b, s_guess=s_guess);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.SphericalSpherical rod1(rodLength=rod1Length, m=rod1Mass);
equation
  connect(frame_b, offset.frame_a);
  connect(offset.frame_b, prismatic.frame_a);
  connect(prismatic.frame_b, rod2.frame_a);
  connect(prismatic.frame_b, frame_ib);
  connect(rod2.frame_b, rod1.frame_b);
  connect(rod2.frame_b, frame_im);
  connect(rod1.frame_a, frame_a);
  connect(prismatic.axis, axis);
  connect(prismatic.bearing, bearing);
end JointSSP;
