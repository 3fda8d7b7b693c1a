// The prismatic joint of assemblies.
model PrismaticWithLengthConstraint
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real n[3] = {1,0,0};
  parameter Real s_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.Prismatic slide(useAxisFlange=true, n=n, s(start=s_guess));
  Real distance;
equation
  distance = slide.s;
  connect(frame_a, slide.frame_a);
  connect(slide.frame_b, frame_b);
  connect(slide.axis, axis);
  connect(slide.support, bearing);
end PrismaticWithLengthConstraint;
