// Parts of drive trains on frames: a rotor is an inertia there, a mounting a fixed flange, a bevel gear a gear.
model Rotor1D
  outer Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a if world.driveTrainMechanics3D;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter Real J;
  parameter Real n[3] = {1,0,0};
  parameter Real r_center[3] = {0,0,0};
  parameter Real cylinderLength;
  parameter Real cylinderDiameter;
  parameter StateSelect stateSelect;
  parameter Boolean animation = true;
  parameter Boolean exact = true;
  Real phi(start=0);
  Real w(start=0);
  Real a(start=0);
  Modelica.Mechanics.Rotational.Components.Inertia inertia(J=J);
  Modelica.Mechanics.MultiBody.Parts.Housing housing(n=n) if world.driveTrainMechanics3D;
equation
  phi = inertia.phi;
  w = inertia.w;
  a = inertia.a;
  connect(flange_a, inertia.flange_a);
  connect(inertia.flange_b, flange_b);
  connect(frame_a, housing.frame_a);
end Rotor1D;
model Mounting1D
  outer Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a if world.driveTrainMechanics3D;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter Real phi0 = 0;
  parameter Real n[3] = {1,0,0};
  Modelica.Mechanics.Rotational.Components.Fixed fixed(phi0=phi0);
  Modelica.Mechanics.MultiBody.Parts.Housing housing(n=n) if world.driveTrainMechanics3D;
equation
  connect(fixed.flange, flange_b);
  connect(frame_a, housing.frame_a);
end Mounting1D;
model BevelGear1D
  outer Modelica.Mechanics.MultiBody.World world;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a if world.driveTrainMechanics3D;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b;
  parameter Real ratio;
  parameter Real n_a[3] = {1,0,0};
  parameter Real n_b[3] = {1,0,0};
  Modelica.Mechanics.Rotational.Components.IdealGear gear(ratio=ratio);
  Modelica.Mechanics.MultiBody.Parts.Housing housing_a(n=n_a) if world.driveTrainMechanics3D;
  Modelica.Mechanics.MultiBody.Parts.Housing housing_b(n=n_b) if world.driveTrainMechanics3D;
equation
  connect(flange_a, gear.flange_a);
  connect(gear.flange_b, flange_b);
  connect(frame_a, housing_a.frame_a);
  connect(frame_a, housing_b.frame_a);
end BevelGear1D;
// A wheel that rolls on the ground z = 0, with mass.
model RollingWheel
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  parameter Boolean animation = true;
  parameter Real radius;
  parameter Real m;
  parameter Real I_axis;
  parameter Real I_long;
  parameter StateSelect stateSelect;
  parameter Real width;
  parameter Real hollowFraction;
  parameter Integer color[3];
  Real x(start=0, fixed=true);
  Real y(start=0, fixed=true);
  Real angles[3](start={0,0,0}, each fixed=true);
  Real der_angles[3](start={0,0,0}, each fixed=true);
  Modelica.Mechanics.MultiBody.Parts.Body body(r_CM={0,0,0}, m=m, I_11=I_long, I_22=I_axis, I_33=I_long);
  Modelica.Mechanics.MultiBody.Joints.RollingWheel rollingWheel(radius=radius);
equation
  x = rollingWheel.x;
  y = rollingWheel.y;
  angles = rollingWheel.angles;
  der_angles = rollingWheel.der_angles;
  connect(body.frame_a, frame_a);
  connect(rollingWheel.frame_a, frame_a);
end RollingWheel;
// Two wheels with mass on an axle.
model RollingWheelSet
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frameMiddle;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame1;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame2;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis1;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis2;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b support;
  parameter Boolean animation = true;
  parameter Real R_wheel;
  parameter Real m_wheel;
  parameter Real I_wheelAxis;
  parameter Real I_wheelLong;
  parameter Real track;
  parameter StateSelect stateSelect;
  parameter Real width_wheel = 0.01;
  parameter Real hollowFraction;
  parameter Integer color[3];
  Real x(start=0, fixed=true);
  Real y(start=0, fixed=true);
  Real phi(start=0, fixed=true);
  Real theta1(start=0, fixed=true);
  Real theta2(start=0, fixed=true);
  Real der_theta1(start=0, fixed=true);
  Real der_theta2(start=0, fixed=true);
  Modelica.Mechanics.MultiBody.Parts.Body body1(r_CM={0,0,0}, m=m_wheel, I_11=I_wheelLong, I_22=I_wheelAxis, I_33=I_wheelLong);
  Modelica.Mechanics.MultiBody.Parts.Body body2(r_CM={0,0,0}, m=m_wheel, I_11=I_wheelLong, I_22=I_wheelAxis, I_33=I_wheelLong);
  Modelica.Mechanics.MultiBody.Joints.RollingWheelSet wheelSetJoint(radius=R_wheel, track=track);
equation
  x = wheelSetJoint.x;
  y = wheelSetJoint.y;
  phi = wheelSetJoint.phi;
  theta1 = wheelSetJoint.theta1;
  theta2 = wheelSetJoint.theta2;
  der_theta1 = wheelSetJoint.der_theta1;
  der_theta2 = wheelSetJoint.der_theta2;
  connect(body1.frame_a, frame1);
  connect(body2.frame_a, frame2);
  connect(wheelSetJoint.frame1, frame1);
  connect(wheelSetJoint.frame2, frame2);
  connect(wheelSetJoint.frameMiddle, frameMiddle);
  connect(wheelSetJoint.axis1, axis1);
  connect(wheelSetJoint.axis2, axis2);
  connect(wheelSetJoint.support, support);
end RollingWheelSet;
