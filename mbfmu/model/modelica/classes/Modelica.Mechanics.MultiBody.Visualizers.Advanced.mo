// A surface that is only shown, by a function.
model Surface
  replaceable function surfaceCharacteristic = Modelica.Mechanics.MultiBody.Interfaces.partialSurfaceCharacteristic;
  parameter Boolean multiColoredSurface = false;
  parameter Boolean wireframe = false;
  parameter Integer nu = 2;
  parameter Integer nv = 2;
end Surface;
