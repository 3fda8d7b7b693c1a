// Sources of signals: formulas of the time. Each is written from the definition in the documentation of its class.
block Constant
  parameter Real k = 1;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = k;
end Constant;
block ContinuousClock
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else time - startTime);
end ContinuousClock;
block Step
  parameter Real height = 1;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else height);
end Step;
block Ramp
  parameter Real height = 1;
  parameter Real duration;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else if time < startTime + duration
    then (time - startTime)*height/duration else height);
end Ramp;
block Sine
  parameter Real amplitude = 1;
  parameter Real f;
  parameter Real phase = 0;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else amplitude*sin(2*3.141592653589793*f*(time - startTime) + phase));
end Sine;
block Cosine
  parameter Real amplitude = 1;
  parameter Real f;
  parameter Real phase = 0;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else amplitude*cos(2*3.141592653589793*f*(time - startTime) + phase));
end Cosine;
block ExpSine
  parameter Real amplitude = 1;
  parameter Real f;
  parameter Real phase = 0;
  parameter Real damping;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
equation
  y = offset + (if time < startTime then 0 else
    amplitude*exp(-damping*(time - startTime))*sin(2*3.141592653589793*f*(time - startTime) + phase));
end ExpSine;
block Pulse
  parameter Real amplitude = 1;
  parameter Real width = 50;
  parameter Real period;
  parameter Integer nperiod = -1;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
protected
  Real phase;
equation
  phase = (time - startTime)/period - floor((time - startTime)/period);
  y = offset + (if time < startTime then 0 else if phase < width/100 then
    (if nperiod < 0 then amplitude else if time < startTime + nperiod*period then amplitude else 0) else 0);
end Pulse;
block Trapezoid
  parameter Real amplitude = 1;
  parameter Real rising = 0;
  parameter Real width = 0.5;
  parameter Real falling = 0;
  parameter Real period;
  parameter Real offset = 0;
  parameter Real startTime = 0;
  Modelica.Blocks.Interfaces.RealOutput y;
protected
  Real within_;
equation
  within_ = time - startTime - period*floor((time - startTime)/period);
  y = offset + (if time < startTime then 0 else if within_ < rising then amplitude*within_/rising else
    if within_ < rising + width then amplitude else
    if within_ < rising + width + falling then amplitude*(rising + width + falling - within_)/falling else 0);
end Trapezoid;
block CombiTimeTable
  parameter Boolean tableOnFile = false;
  parameter Boolean verboseRead = true;
  parameter Boolean verboseExtrapolation = false;
  parameter Real table[:,:];
  parameter Integer columns[:] = 2:size(table, 2);
  parameter Modelica.Blocks.Types.Smoothness smoothness = Modelica.Blocks.Types.Smoothness.LinearSegments;
  parameter Modelica.Blocks.Types.Extrapolation extrapolation = Modelica.Blocks.Types.Extrapolation.LastTwoPoints;
  parameter Real timeScale = 1;
  parameter Real offset[:] = {0};
  parameter Real startTime = 0;
  parameter Real shiftTime = startTime;
  Modelica.Blocks.Interfaces.RealOutput y[size(columns, 1)];
protected
  parameter Real far = if extrapolation == Modelica.Blocks.Types.Extrapolation.LastTwoPoints then 1e30 else 0;
  Real part[size(columns, 1),size(table, 1)];
  Real u;
equation
  u = (time - shiftTime)/timeScale;
  for k in 1:size(columns, 1) loop
    part[k,1] = table[1,columns[k]];
    for i in 2:size(table, 1) loop
      part[k,i] = (table[i,columns[k]] - table[i-1,columns[k]])/(table[i,1] - table[i-1,1])*
        (min(table[i,1] + (if i == size(table, 1) then far else 0),
        max(u, table[i-1,1] - (if i == 2 then far else 0))) - table[i-1,1]);
    end for;
    y[k] = offset[1] + (if time < startTime then 0 else sum(part[k]));
  end for;
end CombiTimeTable;
