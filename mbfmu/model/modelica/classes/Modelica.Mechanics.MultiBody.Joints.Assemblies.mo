// Assemblies of joints: the joints that they stand for, and the rods between these. A joint at frame_b has the flanges.
model JointUPS
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real n1_a[3] = {0,0,1};
  parameter Real nAxis_ia[3] = {1,0,0};
  parameter Real s_offset = 0;
  Modelica.Mechanics.MultiBody.Joints.Universal universal(n_a=n1_a, n_b={n1_a[2]*nAxis_ia[3] - n1_a[3]*nAxis_ia[2],
    n1_a[3]*nAxis_ia[1] - n1_a[1]*nAxis_ia[3], n1_a[1]*nAxis_ia[2] - n1_a[2]*nAxis_ia[1]});
  Modelica.Mechanics.MultiBody.Joints.Internal.PrismaticWithLengthConstraint prismatic(n=nAxis_ia, s_offset=s_offset);
  Modelica.Mechanics.MultiBody.Joints.Spherical spherical;
equation
  connect(frame_a, universal.frame_a);
  connect(universal.frame_b, prismatic.frame_a);
  connect(universal.frame_b, frame_ia);
  connect(prismatic.frame_b, spherical.frame_a);
  connect(prismatic.frame_b, frame_ib);
  connect(spherical.frame_b, frame_b);
  connect(prismatic.axis, axis);
  connect(prismatic.bearing, bearing);
end JointUPS;
model JointUSR
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b bearing;
  parameter Real n1_a[3] = {0,0,1};
  parameter Real n_b[3] = {0,0,1};
  parameter Real rRod1_ia[3] = {1,0,0};
  parameter Real rRod2_ib[3] = {-1,0,0};
  parameter Real phi_offset = 0;
  parameter Real phi_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.UniversalSpherical rod1(n1_a=n1_a, rRod_ia=rRod1_ia);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.RevoluteWithLengthConstraint revolute(n=n_b, phi_offset=phi_offset,
    phi_guess=phi_guess);
equation
  connect(frame_b, revolute.frame_a);
  connect(revolute.frame_b, rod2.frame_a);
  connect(revolute.frame_b, frame_ib);
  connect(rod2.frame_b, rod1.frame_b);
  connect(rod2.frame_b, frame_im);
  connect(rod1.frame_a, frame_a);
  connect(rod1.frame_ia, frame_ia);
  connect(revolute.axis, axis);
  connect(revolute.bearing, bearing);
end JointUSR;
model JointUSP
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real n1_a[3] = {0,0,1};
  parameter Real n_b[3] = {-1,0,0};
  parameter Real rRod1_ia[3] = {1,0,0};
  parameter Real rRod2_ib[3] = {-1,0,0};
  parameter Real s_offset = 0;
  parameter Real s_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.UniversalSpherical rod1(n1_a=n1_a, rRod_ia=rRod1_ia);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.PrismaticWithLengthConstraint prismatic(n=n_b, s_offset=s_offset,
    s_guess=s_guess);
equation
  connect(frame_b, prismatic.frame_a);
  connect(prismatic.frame_b, rod2.frame_a);
  connect(prismatic.frame_b, frame_ib);
  connect(rod2.frame_b, rod1.frame_b);
  connect(rod2.frame_b, frame_im);
  connect(rod1.frame_a, frame_a);
  connect(rod1.frame_ia, frame_ia);
  connect(prismatic.axis, axis);
  connect(prismatic.bearing, bearing);
end JointUSP;
model JointSSR
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b bearing;
  parameter Real rod1Length;
  parameter Real rod1Mass = 0;
  parameter Real n_b[3] = {0,0,1};
  parameter Real rRod2_ib[3] = {1,0,0};
  parameter Real phi_offset = 0;
  parameter Real phi_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.SphericalSpherical rod1(rodLength=rod1Length, m=rod1Mass);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.RevoluteWithLengthConstraint revolute(n=n_b, phi_offset=phi_offset,
    phi_guess=phi_guess);
equation
  connect(frame_b, revolute.frame_a);
  connect(revolute.frame_b, rod2.frame_a);
  connect(revolute.frame_b, frame_ib);
  connect(rod2.frame_b, rod1.frame_b);
  connect(rod2.frame_b, frame_im);
  connect(rod1.frame_a, frame_a);
  connect(revolute.axis, axis);
  connect(revolute.bearing, bearing);
end JointSSR;
model JointSSP
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real rod1Length;
  parameter Real rod1Mass = 0;
  parameter Real n_b[3] = {0,0,1};
  parameter Real rRod2_ib[3] = {1,0,0};
  parameter Real s_offset = 0;
  parameter Real s_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.SphericalSpherical rod1(rodLength=rod1Length, m=rod1Mass);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.PrismaticWithLengthConstraint prismatic(n=n_b, s_offset=s_offset,
    s_guess=s_guess);
equation
  connect(frame_b, prismatic.frame_a);
  connect(prismatic.frame_b, rod2.frame_a);
  connect(prismatic.frame_b, frame_ib);
  connect(rod2.frame_b, rod1.frame_b);
  connect(rod2.frame_b, frame_im);
  connect(rod1.frame_a, frame_a);
  connect(prismatic.axis, axis);
  connect(prismatic.bearing, bearing);
end JointSSP;
model JointRRR
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Rotational.Interfaces.Flange_b bearing;
  parameter Real n_a[3] = {0,0,1};
  parameter Real rRod1_ia[3] = {1,0,0};
  parameter Real rRod2_ib[3] = {-1,0,0};
  parameter Real phi_offset = 0;
  parameter Real phi_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.Revolute revolute_a(n=n_a);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod1(r=rRod1_ia);
  Modelica.Mechanics.MultiBody.Joints.Revolute revolute_m(n=n_a);
  Modelica.Mechanics.MultiBody.Joints.Internal.SameAxis same(n_a=n_a);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.RevoluteWithLengthConstraint revolute(n=same.n_b,
    phi_offset=phi_offset, phi_guess=phi_guess);
equation
  connect(frame_a, revolute_a.frame_a);
  connect(revolute_a.frame_b, rod1.frame_a);
  connect(revolute_a.frame_b, frame_ia);
  connect(rod1.frame_b, revolute_m.frame_a);
  connect(revolute_m.frame_b, same.frame_a);
  connect(same.frame_b, rod2.frame_b);
  connect(same.frame_b, frame_im);
  connect(rod2.frame_a, revolute.frame_b);
  connect(rod2.frame_a, frame_ib);
  connect(revolute.frame_a, frame_b);
  connect(revolute.axis, axis);
  connect(revolute.bearing, bearing);
end JointRRR;
model JointRRP
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_a;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_b;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_a frame_ia;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_ib;
  Modelica.Mechanics.MultiBody.Interfaces.Frame_b frame_im;
  Modelica.Mechanics.Translational.Interfaces.Flange_a axis;
  Modelica.Mechanics.Translational.Interfaces.Flange_b bearing;
  parameter Real n_a[3] = {0,0,1};
  parameter Real n_b[3] = {-1,0,0};
  parameter Real rRod1_ia[3] = {1,0,0};
  parameter Real rRod2_ib[3] = {-1,0,0};
  parameter Real s_offset = 0;
  parameter Real s_guess = 0;
  Modelica.Mechanics.MultiBody.Joints.Revolute revolute_a(n=n_a);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod1(r=rRod1_ia);
  Modelica.Mechanics.MultiBody.Joints.Revolute revolute_m(n=n_a);
  Modelica.Mechanics.MultiBody.Joints.Internal.SameAxis same(n_a=n_a);
  Modelica.Mechanics.MultiBody.Parts.FixedTranslation rod2(r=rRod2_ib);
  Modelica.Mechanics.MultiBody.Joints.Internal.PrismaticWithLengthConstraint prismatic(n=n_b, s_offset=s_offset,
    s_guess=s_guess);
equation
  connect(frame_a, revolute_a.frame_a);
  connect(revolute_a.frame_b, rod1.frame_a);
  connect(revolute_a.frame_b, frame_ia);
  connect(rod1.frame_b, revolute_m.frame_a);
  connect(revolute_m.frame_b, same.frame_a);
  connect(same.frame_b, rod2.frame_b);
  connect(same.frame_b, frame_im);
  connect(rod2.frame_a, prismatic.frame_b);
  connect(rod2.frame_a, frame_ib);
  connect(prismatic.frame_a, frame_b);
  connect(prismatic.axis, axis);
  connect(prismatic.bearing, bearing);
end JointRRP;
