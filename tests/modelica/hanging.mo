model Hang
  inner Modelica.Mechanics.MultiBody.World world(n={0,-1,0}, g=9.81);
  Modelica.Mechanics.MultiBody.Joints.Prismatic slide(n={0,1,0}, s(start=-0.5, fixed=true), v(start=0, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body body(m=2, r_CM={0,0,0}, I_11=0.1, I_22=0.1, I_33=0.1);
  Modelica.Mechanics.MultiBody.Forces.Spring spring(c=100, s_unstretched=0.2);
  Modelica.Mechanics.MultiBody.Forces.Damper damper(d=3);
equation
  connect(world.frame_b, slide.frame_a);
  connect(slide.frame_b, body.frame_a);
  connect(world.frame_b, spring.frame_a);
  connect(spring.frame_b, body.frame_a);
  connect(world.frame_b, damper.frame_a);
  connect(damper.frame_b, body.frame_a);
end Hang;
