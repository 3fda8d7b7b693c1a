model Slide "A body that turns about a rail and slides on it"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Mechanics.MultiBody.Joints.Cylindrical rail(n={2,0,0}, s(start=0.1, fixed=true), v(start=0.5, fixed=true),
    phi(start=0.4, fixed=true), w(start=0, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body body(m=2, r_CM={0,0.3,0}, I_11=0.1);
equation
  connect(world.frame_b, rail.frame_a);
  connect(rail.frame_b, body.frame_a);
end Slide;
model Fall "A disk that falls in the plane"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81, n={0,0,-1});
  Modelica.Mechanics.MultiBody.Joints.Planar plane(n={0,1,0}, n_x={0,0,1}, s_x(start=1, fixed=true),
    v_x(start=2, fixed=true), v_y(start=3, fixed=true), w(start=4, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body disk(m=2, r_CM={0,0,0});
equation
  connect(world.frame_b, plane.frame_a);
  connect(plane.frame_b, disk.frame_a);
end Fall;
model Cross "A body on a universal joint"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  Modelica.Mechanics.MultiBody.Joints.Universal cross(n_a={0,0,1}, n_b={1,0,0}, phi_a(start=0.3, fixed=true),
    phi_b(start=0.2, fixed=true), w_a(start=1, fixed=true), w_b(start=-2, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body body(m=2, r_CM={0.3,-0.2,0.1}, I_11=0.1, I_22=0.2, I_33=0.3);
equation
  connect(world.frame_b, cross.frame_a);
  connect(cross.frame_b, body.frame_a);
end Cross;
model Pull "Constant efforts on a turning arm and a cart"
  inner Modelica.Mechanics.MultiBody.World world(
    gravityType=Modelica.Mechanics.MultiBody.Types.GravityTypes.NoGravity);
  Modelica.Mechanics.MultiBody.Joints.Revolute hinge(useAxisFlange=true, phi(fixed=true), w(fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body arm(m=2, r_CM={0.5,0,0}, I_33=0.25);
  Modelica.Mechanics.Rotational.Sources.ConstantTorque motor(tau_constant=3, useSupport=true);
  Modelica.Mechanics.Rotational.Components.Fixed ground(phi0=1);
  Modelica.Mechanics.MultiBody.Joints.Prismatic guide(useAxisFlange=true, s(fixed=true), v(fixed=true));
  Modelica.Mechanics.MultiBody.Parts.PointMass cart(m=4);
  Modelica.Mechanics.Translational.Sources.ConstantForce push(f_constant=-6);
equation
  connect(world.frame_b, hinge.frame_a);
  connect(hinge.frame_b, arm.frame_a);
  connect(motor.flange, hinge.axis);
  connect(motor.support, ground.flange);
  connect(world.frame_b, guide.frame_a);
  connect(guide.frame_b, cart.frame_a);
  connect(push.flange, guide.axis);
end Pull;
model Orbit "A point mass that flies about a spring's end"
  inner Modelica.Mechanics.MultiBody.World world(
    gravityType=Modelica.Mechanics.MultiBody.Types.GravityTypes.NoGravity);
  Modelica.Mechanics.MultiBody.Parts.PointMass mass(m=2, r_0(start={1,0,0}, each fixed=true),
    v_0(start={0,3,0}, each fixed=true));
  Modelica.Mechanics.MultiBody.Forces.Spring spring(c=50, s_unstretched=0, fixedRotationAtFrame_b=true);
equation
  connect(world.frame_b, spring.frame_a);
  connect(spring.frame_b, mass.frame_a);
end Orbit;
model Rotors "A swinging arm with the inertia of its drive, and a cart with a sliding mass"
  inner Modelica.Mechanics.MultiBody.World world(g=9.81);
  parameter Real J = 0.4;
  Modelica.Mechanics.MultiBody.Joints.Revolute hinge(useAxisFlange=true, phi(start=0.2, fixed=true));
  Modelica.Mechanics.MultiBody.Parts.Body arm(m=2, r_CM={0.5,0,0}, I_33=0.1);
  Modelica.Mechanics.Rotational.Components.Inertia rotor(J=J, w(start=1.5, fixed=true));
  Modelica.Mechanics.Rotational.Components.SpringDamper bush(c=5, d=0.3);
  Modelica.Mechanics.Rotational.Components.Fixed ground;
  Modelica.Mechanics.MultiBody.Joints.Prismatic guide(useAxisFlange=true);
  Modelica.Mechanics.MultiBody.Parts.PointMass cart(m=4);
  Modelica.Mechanics.Translational.Components.Mass load(m=2, s(start=0.1, fixed=true), v(fixed=true));
  Modelica.Mechanics.Translational.Sources.ConstantForce push(f_constant=3);
equation
  connect(world.frame_b, hinge.frame_a);
  connect(hinge.frame_b, arm.frame_a);
  connect(ground.flange, bush.flange_a);
  connect(bush.flange_b, rotor.flange_a);
  connect(rotor.flange_b, hinge.axis);
  connect(world.frame_b, guide.frame_a);
  connect(guide.frame_b, cart.frame_a);
  connect(push.flange, load.flange_a);
  connect(load.flange_b, guide.axis);
end Rotors;
