// Blocks with states. Each is written from the definition in the documentation of its class.
block Integrator
  parameter Real k = 1;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.InitialState;
  parameter Real y_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y(start=y_start);
equation
  der(y) = k*u;
end Integrator;
block Derivative
  parameter Real k = 1;
  parameter Real T = 0.01;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.NoInit;
  parameter Real x_start = 0;
  parameter Real y_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
  Real x(start=x_start);
equation
  der(x) = (u - x)/T;
  y = k*(u - x)/T;
end Derivative;
block FirstOrder
  parameter Real k = 1;
  parameter Real T;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.NoInit;
  parameter Real y_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y(start=y_start);
equation
  der(y) = (k*u - y)/T;
end FirstOrder;
block SecondOrder
  parameter Real k = 1;
  parameter Real w;
  parameter Real D;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.NoInit;
  parameter Real y_start = 0;
  parameter Real yd_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y(start=y_start);
  Real yd(start=yd_start);
equation
  der(y) = yd;
  der(yd) = w*(w*(k*u - y) - 2*D*yd);
end SecondOrder;
block PI
  parameter Real k = 1;
  parameter Real T;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.NoInit;
  parameter Real x_start = 0;
  parameter Real y_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
  Real x(start=x_start);
equation
  der(x) = u/T;
  y = k*(x + u);
end PI;
block PID
  parameter Real k = 1;
  parameter Real Ti;
  parameter Real Td;
  parameter Real Nd = 10;
  parameter Real xi_start = 0;
  parameter Real xd_start = 0;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
  Modelica.Blocks.Continuous.Integrator I(k=1/Ti, y_start=xi_start);
  Modelica.Blocks.Continuous.Derivative D(k=Td, T=Td/Nd, x_start=xd_start);
equation
  connect(u, I.u);
  connect(u, D.u);
  y = k*(u + I.y + D.y);
end PID;
block CriticalDamping
  parameter Integer n = 2;
  parameter Real f;
  parameter Boolean normalized = true;
  parameter Modelica.Blocks.Types.Init initType = Modelica.Blocks.Types.Init.NoInit;
  parameter Real x_start[n] = zeros(n);
  parameter Real y_start = 0;
  parameter Real alpha = if normalized then sqrt(10^(3/(10*n)) - 1) else 1;
  parameter Real w_u = 2*3.141592653589793*f/alpha;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y;
  Real x[n](start=x_start);
equation
  der(x[1]) = (u - x[1])*w_u;
  for i in 2:n loop
    der(x[i]) = (x[i-1] - x[i])*w_u;
  end for;
  y = x[n];
end CriticalDamping;
