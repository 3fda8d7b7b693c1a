model Spring "A box on a guide, and a cylinder that hangs from it"
  import Modelica.Mechanics.MultiBody.*;
  parameter Real w = 0.2;
  inner World world(g=9.81);
  Joints.Prismatic guide(s(start=0.1, fixed=true), v(start=0.5, fixed=true));
  Parts.BodyBox box(r={0.4,0,0}, width=w, height=0.1, innerWidth=0.05, density=1000);
  Joints.Revolute hinge(phi(start=-1, fixed=true), w(fixed=true));
  Parts.BodyCylinder bob(r={0,0.3,0}, diameter=0.1, innerDiameter=0.02, density=500);
  Forces.SpringDamperParallel strut(c=200, d=5, s_unstretched=0.7);
  Parts.Fixed wall(r={1.5,0.2,0});
equation
  connect(world.frame_b, guide.frame_a);
  connect(guide.frame_b, box.frame_a);
  connect(box.frame_b, hinge.frame_a);
  connect(hinge.frame_b, bob.frame_a);
  connect(strut.frame_a, wall.frame_b);
  connect(strut.frame_b, bob.frame_b);
end Spring;
