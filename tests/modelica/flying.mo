model Fly
  inner Modelica.Mechanics.MultiBody.World world(n={0,-1,0}, g=9.81);
  Modelica.Mechanics.MultiBody.Joints.FreeMotion free(r_rel_a(start={0.1,0.2,0.3}, each fixed=true), v_rel_a(start={1,2,3}, each fixed=true), angles_fixed=true, angles_start={0.3,0,0}, w_rel_a_fixed=true, w_rel_a_start={0.5,0,0});
  Modelica.Mechanics.MultiBody.Parts.Body body(m=2, r_CM={0,0,0}, I_11=0.1, I_22=0.2, I_33=0.3);
equation
  connect(world.frame_b, free.frame_a);
  connect(free.frame_b, body.frame_a);
end Fly;
