model Arm "An arm with a spring and a motor, whose torque and flanges are open"
  import Modelica.Mechanics.*;
  parameter Real m = 1;
  Modelica.Blocks.Interfaces.RealInput u(unit="N.m");
  MultiBody.Interfaces.Frame_a frame_a;
  MultiBody.Interfaces.Frame_b frame_b;
  Rotational.Interfaces.Flange_a axis;
  MultiBody.Joints.Revolute joint(useAxisFlange=true, phi(fixed=true), w(fixed=true));
  MultiBody.Parts.BodyShape link(m=m, r={1,0,0}, r_CM={0.5,0,0}, I_33=0.1);
  Rotational.Sources.Torque motor(useSupport=true);
  Rotational.Components.SpringDamper bush(c=3, d=0.2);
equation
  connect(frame_a, joint.frame_a);
  connect(joint.frame_b, link.frame_a);
  connect(link.frame_b, frame_b);
  connect(axis, joint.axis);
  connect(u, motor.tau);
  connect(motor.flange, joint.axis);
  connect(motor.support, joint.support);
  connect(bush.flange_a, joint.support);
  connect(bush.flange_b, joint.axis);
end Arm;
model One "One arm by its torque"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Blocks.Interfaces.RealInput tau(unit="N.m", start=0.5) "torque of the drive";
  output Real angle = arm.joint.phi;
  Arm arm;
equation
  connect(world.frame_b, arm.frame_a);
  connect(tau, arm.u);
end One;
model Two "Two arms: an input for each, one for both, and a force at the tip"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Blocks.Interfaces.RealInput drive[2](each unit="N.m", start={1.5,0}), f[3](each unit="N");
  input Real both;
  Arm arm[2](m={1,2});
  Modelica.Mechanics.Rotational.Sources.Torque extra(tau=both), more(tau=both), load(tau=-2);
  Modelica.Mechanics.MultiBody.Forces.WorldForce push(
    resolveInFrame=Modelica.Mechanics.MultiBody.Types.ResolveInFrameB.frame_b);
equation
  connect(world.frame_b, arm[1].frame_a);
  connect(arm[1].frame_b, arm[2].frame_a);
  connect(drive, arm.u);
  connect(extra.flange, arm[1].axis);
  connect(more.flange, arm[2].axis);
  connect(load.flange, arm[2].axis);
  connect(f, push.force);
  connect(push.frame_b, arm[2].frame_b);
end Two;
model Cart "A cart by its force, and a torque on the box it carries"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Blocks.Interfaces.RealInput push(unit="N"), turn[3](each unit="N.m");
  Modelica.Mechanics.MultiBody.Joints.Prismatic guide(useAxisFlange=true, s(fixed=true), v(fixed=true));
  Modelica.Mechanics.MultiBody.Joints.Revolute pin(phi(fixed=true), w(fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body box(m=4, r_CM={0,0,0}, I_33=0.5);
  Modelica.Mechanics.Translational.Sources.Force force;
  Modelica.Mechanics.MultiBody.Forces.WorldTorque torque;
equation
  connect(world.frame_b, guide.frame_a);
  connect(guide.frame_b, pin.frame_a);
  connect(pin.frame_b, box.frame_a);
  force.f = push;
  connect(force.flange, guide.axis);
  connect(turn, torque.torque);
  connect(torque.frame_b, box.frame_a);
end Cart;
