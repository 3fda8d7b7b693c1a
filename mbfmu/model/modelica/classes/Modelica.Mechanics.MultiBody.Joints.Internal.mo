// The joints at frame_b of assemblies.
model PrismaticWithLengthConstraint
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real n[3] = {1,0,0};
  parameter Real s_offset = 0;
  parameter Real s_guess = 0;
  parameter Real scale = s_offset/sqrt(n[1]*n[1] + n[2]*n[2] + n[3]*n[3]);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation offset(r={scale*n[1],scale*n[2],scale*n[3]});
  Modelica.Mechanics.MultiBody.Joints.Prismatic slide(useAxisFlange=true, n=n, s(start=s_guess));
  Real distance;
equation
  distance = slide.s + s_offset;
  connect(frame_a, offset.frame_a);
  connect(offset.frame_b, slide.frame_a);
  connect(slide.frame_b, frame_b);
  connect(slide.axis, axis);
  connect(slide.support, bearing);
end PrismaticWithLengthConstraint;
model RevoluteWithLengthConstraint
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b bearing;
  parameter Real n[3] = {0,0,1};
  parameter Real phi_offset = 0;
  parameter Real phi_guess = 0;
  Modelica.Mechanics.MultiBody.Parts.FixedRotation offset(n=n, angle=phi_offset);
  Modelica.Mechanics.MultiBody.Joints.Revolute hinge(useAxisFlange=true, n=n,
    phi(start=phi_guess*0.017453292519943295));
  Real angle;
equation
  angle = hinge.phi + phi_offset*0.017453292519943295;
  connect(frame_a, offset.frame_a);
  connect(offset.frame_b, hinge.frame_a);
  connect(hinge.frame_b, frame_b);
  connect(hinge.axis, axis);
  connect(hinge.support, bearing);
end RevoluteWithLengthConstraint;
