model Pendulum "A rod that hangs from a hinge"
  parameter Modelica.Units.SI.Length L = 1.2 "length";
  parameter Modelica.Units.SI.Mass m = 2;
  inner Modelica.Mechanics.MultiBody.World world(g=9.81, animateGravity=false);
  Modelica.Mechanics.MultiBody.Joints.Revolute hinge(n={0,0,1}, phi(start=0.3, fixed=true), w(start=0, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.BodyShape rod(
    r={L,0,0}, r_CM={L/2,0,0}, m=m, I_11=0.01, I_22=m*L^2/12, I_33=m*L^2/12, color={0,0,255});
equation
  connect(world.frame_b, hinge.frame_a);
  connect(hinge.frame_b, rod.frame_a);
end Pendulum;
