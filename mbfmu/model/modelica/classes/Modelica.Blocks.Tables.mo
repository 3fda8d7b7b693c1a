// Tables: straight lines from row to row, of each column; beyond the first and last row they go on or hold.
block CombiTable1Ds
  parameter Boolean tableOnFile = false;
  parameter Boolean verboseRead = true;
  parameter Boolean verboseExtrapolation = false;
  parameter Real table[:,:];
  parameter Integer columns[:] = 2:size(table, 2);
  parameter Modelica.Blocks.Types.Smoothness smoothness = Modelica.Blocks.Types.Smoothness.LinearSegments;
  parameter Modelica.Blocks.Types.Extrapolation extrapolation = Modelica.Blocks.Types.Extrapolation.LastTwoPoints;
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y[size(columns, 1)];
protected
  parameter Real far = if extrapolation == Modelica.Blocks.Types.Extrapolation.LastTwoPoints then 1e30 else 0;
  Real part[size(columns, 1),size(table, 1)];
equation
  for k in 1:size(columns, 1) loop
    part[k,1] = table[1,columns[k]];
    for i in 2:size(table, 1) loop
      part[k,i] = (table[i,columns[k]] - table[i-1,columns[k]])/(table[i,1] - table[i-1,1])*
        (min(table[i,1] + (if i == size(table, 1) then far else 0),
        max(u, table[i-1,1] - (if i == 2 then far else 0))) - table[i-1,1]);
    end for;
    y[k] = sum(part[k]);
  end for;
end CombiTable1Ds;
block CombiTable1Dv
  parameter Boolean tableOnFile = false;
  parameter Boolean verboseRead = true;
  parameter Boolean verboseExtrapolation = false;
  parameter Real table[:,:];
  parameter Integer columns[:] = 2:size(table, 2);
  parameter Modelica.Blocks.Types.Smoothness smoothness = Modelica.Blocks.Types.Smoothness.LinearSegments;
  parameter Modelica.Blocks.Types.Extrapolation extrapolation = Modelica.Blocks.Types.Extrapolation.LastTwoPoints;
  Modelica.Blocks.Interfaces.RealInput u[size(columns, 1)];
  Modelica.Blocks.Interfaces.RealOutput y[size(columns, 1)];
protected
  parameter Real far = if extrapolation == Modelica.Blocks.Types.Extrapolation.LastTwoPoints then 1e30 else 0;
  Real part[size(columns, 1),size(table, 1)];
equation
  for k in 1:size(columns, 1) loop
    part[k,1] = table[1,columns[k]];
    for i in 2:size(table, 1) loop
      part[k,i] = (table[i,columns[k]] - table[i-1,columns[k]])/(table[i,1] - table[i-1,1])*
        (min(table[i,1] + (if i == size(table, 1) then far else 0),
        max(u[k], table[i-1,1] - (if i == 2 then far else 0))) - table[i-1,1]);
    end for;
    y[k] = sum(part[k]);
  end for;
end CombiTable1Dv;
