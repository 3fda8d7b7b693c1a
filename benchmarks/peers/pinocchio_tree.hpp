// Pinocchio's model of a tree of links, for its accelerations in a loop and for those that it generates as C.
#pragma once
#include <pinocchio/multibody.hpp>

// links: 12 numbers each: parent, kind (0 1 2: hinge about x y z; 3: slides along x), anchor in the parent (3), mass,
// centre of mass (3), diagonal of the inertia about it (3); parent -1 is the world.
inline pinocchio::Model tree(const double *links, int n_links, const double *gravity) {
    using namespace pinocchio;
    Model model;
    for (int i = 0; i < n_links; ++i) {
        const double *l = links + 12 * i;
        const JointIndex parent = JointIndex(l[0] + 1);
        const SE3 at(Eigen::Matrix3d::Identity(), Eigen::Vector3d(l[2], l[3], l[4]));
        const std::string name = "joint" + std::to_string(i);
        JointIndex id = 0;
        switch (int(l[1])) {
            case 0: id = model.addJoint(parent, JointModelRX(), at, name); break;
            case 1: id = model.addJoint(parent, JointModelRY(), at, name); break;
            case 2: id = model.addJoint(parent, JointModelRZ(), at, name); break;
            default: id = model.addJoint(parent, JointModelPX(), at, name);
        }
        const Eigen::Vector3d inertia(l[9], l[10], l[11]);
        model.appendBodyToJoint(
            id, Inertia(l[5], Eigen::Vector3d(l[6], l[7], l[8]), Symmetric3(Eigen::Matrix3d(inertia.asDiagonal()))));
    }
    model.gravity.linear() << gravity[0], gravity[1], gravity[2];
    return model;
}
