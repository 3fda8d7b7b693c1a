within Modelica.Mechanics.MultiBody.Examples;
package Mechanisms "Mechanisms of the library's examples, in words of their own, by names as they are short at this place"
  extends Modelica.Icons.ExamplesPackage;
  model Pendulum
    extends Modelica.Icons.Example;
    inner World world;
    Joints.Revolute rev(useAxisFlange=true, phi(fixed=true), w(fixed=true));
    Rotational.Components.Damper damper(d=0.1, phi_nominal=1e-3);
    Parts.Body body(m=1, r_CM={0.5,0,0});
  equation
    connect(world.frame_b, rev.frame_a);
    connect(rev.frame_b, body.frame_a);
    connect(rev.support, damper.flange_a);
    connect(rev.axis, damper.flange_b);
  end Pendulum;
  model DoublePendulum
    extends Modelica.Icons.Example;
    parameter SI.Length L=0.5;
    inner MultiBody.World world;
    MultiBody.Joints.Revolute revolute1(useAxisFlange=true, phi(fixed=true), w(fixed=true));
    MultiBody.Joints.Revolute revolute2(phi(fixed=true), w(fixed=true));
    MultiBody.Parts.BodyBox boxBody1(r={L,0,0}, width=0.06), boxBody2(r={L,0,0}, width=boxBody1.width);
    Modelica.Mechanics.Rotational.Components.Damper damper(d=0.1);
  equation
    connect(world.frame_b, revolute1.frame_a);
    connect(revolute1.frame_b, boxBody1.frame_a);
    connect(boxBody1.frame_b, revolute2.frame_a);
    connect(revolute2.frame_b, boxBody2.frame_a);
    connect(damper.flange_a, revolute1.support);
    connect(damper.flange_b, revolute1.axis);
  end DoublePendulum;
  model PendulumWithSpringDamper
    inner World world(axisLength=0.6);
    Parts.FixedTranslation bar(r={0.3,0,0});
    Joints.Revolute revolute(phi(fixed=true), w(fixed=true));
    Joints.Prismatic prismatic(s(start=0.5, fixed=true), v(fixed=true));
    Parts.Body body(m=1, r_CM={0,0,0}, I_11=1, I_22=1, I_33=1);
    Forces.SpringDamperParallel strut(c=20, s_unstretched=0.2, d=1);
  equation
    connect(world.frame_b, bar.frame_a);
    connect(bar.frame_b, revolute.frame_a);
    connect(revolute.frame_b, prismatic.frame_a);
    connect(prismatic.frame_b, body.frame_a);
    connect(bar.frame_b, strut.frame_a);
    connect(strut.frame_b, body.frame_a);
  end PendulumWithSpringDamper;
  model SpringMassSystem
    inner World world;
    Joints.Prismatic p1(useAxisFlange=true, n={0,-1,0}, s(start=0.1, fixed=true), v(fixed=true));
    Joints.Prismatic p2(n={0,-1,0}, s(start=0.1, fixed=true), v(fixed=true));
    Translational.Components.Spring spring1(c=30, s_rel0=0.1);
    Forces.Spring spring2(c=30, s_unstretched=0.1);
    Parts.PointMass body1(m=1), body2(m=1);
  equation
    connect(world.frame_b, p1.frame_a);
    connect(world.frame_b, p2.frame_a);
    connect(p1.frame_b, body1.frame_a);
    connect(p2.frame_b, body2.frame_a);
    connect(spring1.flange_a, p1.support);
    connect(spring1.flange_b, p1.axis);
    connect(spring2.frame_a, world.frame_b);
    connect(spring2.frame_b, body2.frame_a);
  end SpringMassSystem;
  model SpringDamperSystem
    inner World world;
    Parts.Fixed left(r={0.3,0,0}), right(r={0.9,0,0});
    Parts.Body body1(m=1, r_CM={0,-0.2,0}, I_11=0.1, I_22=0.1, I_33=0.1, r_0(start={0.3,-0.2,0}, each fixed=true),
      v_0(each fixed=true), angles_fixed=true, w_0_fixed=true, w_0_start={0,0,C.pi/90});
    Forces.Spring spring1(c=30, s_unstretched=0.1);
    Forces.Damper damper1(d=2);
    Joints.Prismatic p2(n={0,-1,0}, s(start=0.1, fixed=true), v(fixed=true));
    Parts.Body body2(m=1, r_CM={0,0,0});
    Forces.Spring spring2(c=30, s_unstretched=0.1);
  equation
    connect(left.frame_b, spring1.frame_a);
    connect(left.frame_b, damper1.frame_a);
    connect(spring1.frame_b, body1.frame_a);
    connect(damper1.frame_b, body1.frame_a);
    connect(right.frame_b, p2.frame_a);
    connect(p2.frame_b, body2.frame_a);
    connect(right.frame_b, spring2.frame_a);
    connect(spring2.frame_b, body2.frame_a);
  end SpringDamperSystem;
  model FreeBody
    inner World world;
    Parts.Fixed wall(r={0.8,0,0});
    Forces.Spring spring1(c=20, fixedRotationAtFrame_a=false), spring2(c=20);
    Parts.BodyShape body(m=1, r={0.4,0,0}, r_CM={0.2,0,0}, I_11=1, I_22=1, I_33=1,
      r_0(start={0.2,-0.5,0.1}, each fixed=true), v_0(each fixed=true), angles_fixed=true, w_0_fixed=true,
      angles_start=fill(Cv.from_deg(10), 3));
  equation
    connect(world.frame_b, spring1.frame_a);
    connect(spring1.frame_b, body.frame_a);
    connect(wall.frame_b, spring2.frame_a);
    connect(spring2.frame_b, body.frame_b);
  end FreeBody;
  model Fourbar1
    output SI.Angle j1_phi;
    inner World world;
    Joints.Revolute j1(n={1,0,0}, phi(fixed=true), w(start=5.235987755982989, fixed=true));
    Joints.Prismatic j2(n={1,0,0}, s(start=-0.2));
    Parts.BodyCylinder b1(r={0,0.5,0.1}, diameter=0.05), b2(r={0,0.2,0}, diameter=0.05);
    Parts.BodyCylinder b3(r={-1,0.3,0.1}, diameter=0.05);
    Joints.Revolute rev(n={0,1,0}), rev1, j3(n={1,0,0}), j4(n={0,1,0}), j5(n={0,0,1});
    Parts.Fixed b0(r={1.2,0,0});
  equation
    j1_phi = j1.phi;
    connect(world.frame_b, j1.frame_a);
    connect(j1.frame_b, b1.frame_a);
    connect(b1.frame_b, j3.frame_a);
    connect(j3.frame_b, j4.frame_a);
    connect(j4.frame_b, j5.frame_a);
    connect(j5.frame_b, b3.frame_b);
    connect(b0.frame_b, j2.frame_a);
    connect(j2.frame_b, b2.frame_a);
    connect(b2.frame_b, rev.frame_a);
    connect(rev.frame_b, rev1.frame_a);
    connect(rev1.frame_b, b3.frame_a);
  end Fourbar1;
  model PlanarFourbar
    inner World world;
    Joints.Revolute revolute1(useAxisFlange=true, phi(fixed=true), w(fixed=true)), revolute2, revolute3;
    Joints.RevolutePlanarLoopConstraint cut;
    Parts.BodyBox body1(r={0.4,0,0}, width=0.5*world.defaultJointLength), body2(r={0.1,1.1,0}, width=body1.width);
    Parts.BodyBox body3(r={-0.15,1,0}, width=body1.width), body4(r=body1.r + body2.r - body3.r, width=body1.width);
    Rotational.Components.Damper damper(d=0.1);
    Sensors.RelativeSensor sensor(get_angles=true);
    Visualizers.FixedShape shape(shapeType="box", r_shape={0.1,0,0});
  equation
    connect(world.frame_b, revolute1.frame_a);
    connect(revolute1.frame_b, body1.frame_a);
    connect(body1.frame_b, revolute2.frame_a);
    connect(revolute2.frame_b, body2.frame_a);
    connect(world.frame_b, body3.frame_a);
    connect(body3.frame_b, revolute3.frame_a);
    connect(revolute3.frame_b, body4.frame_a);
    connect(body4.frame_b, cut.frame_a);
    connect(body2.frame_b, cut.frame_b);
    connect(damper.flange_b, revolute1.axis);
    connect(damper.flange_a, revolute1.support);
    connect(sensor.frame_a, cut.frame_a);
    connect(sensor.frame_b, cut.frame_b);
    connect(shape.frame_a, body1.frame_b);
  end PlanarFourbar;
end Mechanisms;
