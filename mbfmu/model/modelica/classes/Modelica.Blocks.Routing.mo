// Blocks that pass signals on.
block RealPassThrough
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = u;
end RealPassThrough;
