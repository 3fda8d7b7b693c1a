// Forces and torques together.
model ForceAndTorque
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_resolve;
  Modelica.Blocks.Interfaces.RealInput force[3];
  Modelica.Blocks.Interfaces.RealInput torque[3];
  parameter Modelica.Mechanics.MultiBody.Types.ResolveInFrameAB resolveInFrame =
    Modelica.Mechanics.MultiBody.Types.ResolveInFrameAB.frame_b;
  parameter Boolean animation = true;
  Modelica.Mechanics.MultiBody.Forces.Force basicForce(resolveInFrame=resolveInFrame);
  Modelica.Mechanics.MultiBody.Forces.Torque basicTorque(resolveInFrame=resolveInFrame);
equation
  connect(frame_a, basicForce.frame_a);
  connect(frame_b, basicForce.frame_b);
  connect(frame_a, basicTorque.frame_a);
  connect(frame_b, basicTorque.frame_b);
  connect(frame_resolve, basicForce.frame_resolve);
  connect(frame_resolve, basicTorque.frame_resolve);
  connect(force, basicForce.force);
  connect(torque, basicTorque.torque);
end ForceAndTorque;
model WorldForceAndTorque
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_resolve;
  Modelica.Blocks.Interfaces.RealInput force[3];
  Modelica.Blocks.Interfaces.RealInput torque[3];
  parameter Modelica.Mechanics.MultiBody.Types.ResolveInFrameB resolveInFrame =
    Modelica.Mechanics.MultiBody.Types.ResolveInFrameB.world;
  parameter Boolean animation = true;
  Modelica.Mechanics.MultiBody.Forces.WorldForce basicWorldForce(resolveInFrame=resolveInFrame);
  Modelica.Mechanics.MultiBody.Forces.WorldTorque basicWorldTorque(resolveInFrame=resolveInFrame);
equation
  connect(frame_b, basicWorldForce.frame_b);
  connect(frame_b, basicWorldTorque.frame_b);
  connect(frame_resolve, basicWorldForce.frame_resolve);
  connect(frame_resolve, basicWorldTorque.frame_resolve);
  connect(force, basicWorldForce.force);
  connect(torque, basicWorldTorque.torque);
end WorldForceAndTorque;
