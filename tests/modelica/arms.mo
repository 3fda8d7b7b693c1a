model Arm
  import MB = Modelica.Mechanics.MultiBody;
  parameter Real L = 1;
  final parameter Real half = L/2;
  MB.Interfaces.Frame_a frame_a;
  MB.Interfaces.Frame_b frame_b;
  MB.Joints.Revolute joint(useAxisFlange=true, w(fixed=true));
  MB.Parts.BodyShape link(r={L,0,0}, r_CM={half,0,0}, m=1);
equation
  connect(frame_a, joint.frame_a);
  connect(joint.frame_b, link.frame_a);
  connect(link.frame_b, frame_b);
end Arm;

model Double
  parameter Real a = 0.8;
  parameter Real M = 2;
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Arm one(L=a, joint(phi(start=0.2, fixed=true)));
  Arm two(L=2*a, link(m=M), joint(phi(start=-0.4, fixed=true)));
  Modelica.Mechanics.Rotational.Components.SpringDamper bush(c=3, d=0.2, phi_rel0=0.1);
equation
  connect(world.frame_b, one.frame_a);
  connect(one.frame_b, two.frame_a);
  connect(bush.flange_a, two.joint.axis);
  connect(bush.flange_b, two.joint.support);
end Double;
