// Blocks that limit.
block Limiter
  parameter Real uMax;
  parameter Real uMin = -uMax;
  parameter Boolean strict = false;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = min(uMax, max(uMin, u));
end Limiter;
block DeadZone
  parameter Real uMax;
  parameter Real uMin = -uMax;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = max(0, u - uMax) + min(0, u - uMin);
end DeadZone;
