model FourBar
  import Modelica.Mechanics.MultiBody.*;
  inner World world(g=9.81);
  Joints.Revolute crank(phi(start=1.2, fixed=true), w(start=2, fixed=true));
  Parts.BodyShape bar(m=1, r={0.3,0,0}, r_CM={0.15,0,0});
  Joints.Revolute pin(phi(start=-0.9));
  Parts.BodyShape rod(m=2, r={1,0,0}, r_CM={0.5,0,0});
  Joints.RevolutePlanarLoopConstraint eye;
  Parts.BodyShape rocker(m=1.5, r={0,0.8,0}, r_CM={0,0.4,0});
  Joints.Revolute pivot;
  Parts.Fixed ground(r={0.9,0,0});
equation
  connect(world.frame_b, crank.frame_a);
  connect(crank.frame_b, bar.frame_a);
  connect(bar.frame_b, pin.frame_a);
  connect(pin.frame_b, rod.frame_a);
  connect(rod.frame_b, eye.frame_b);
  connect(eye.frame_a, rocker.frame_b);
  connect(rocker.frame_a, pivot.frame_b);
  connect(pivot.frame_a, ground.frame_b);
end FourBar;
