// Blocks without states.
block Gain
  parameter Real k;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = k*u;
end Gain;
block Add
  parameter Real k1 = 1;
  parameter Real k2 = 1;
  Modelica.Blocks.Interfaces.RealInput u1;
  Modelica.Blocks.Interfaces.RealInput u2;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = k1*u1 + k2*u2;
end Add;
block Add3
  parameter Real k1 = 1;
  parameter Real k2 = 1;
  parameter Real k3 = 1;
  Modelica.Blocks.Interfaces.RealInput u1;
  Modelica.Blocks.Interfaces.RealInput u2;
  Modelica.Blocks.Interfaces.RealInput u3;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = k1*u1 + k2*u2 + k3*u3;
end Add3;
block Product
  Modelica.Blocks.Interfaces.RealInput u1;
  Modelica.Blocks.Interfaces.RealInput u2;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = u1*u2;
end Product;
block Division
  Modelica.Blocks.Interfaces.RealInput u1;
  Modelica.Blocks.Interfaces.RealInput u2;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = u1/u2;
end Division;
block Feedback
  Modelica.Blocks.Interfaces.RealInput u1;
  Modelica.Blocks.Interfaces.RealInput u2;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = u1 - u2;
end Feedback;
block Abs
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = abs(u);
end Abs;
block Sin
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = sin(u);
end Sin;
block Cos
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = cos(u);
end Cos;
