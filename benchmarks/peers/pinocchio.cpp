// Explicit Runge-Kutta steps around Pinocchio's accelerations: aba on a tree, constraintDynamics with pins that close
// loops. Built by pinocchio.py from the headers in Pinocchio's wheel.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>

#include "pinocchio_tree.hpp"

using namespace pinocchio;
using Eigen::VectorXd;

namespace {

struct Mechanism {
    Model model;
    Data data;
    std::vector<RigidConstraintModel> pins;
    std::vector<RigidConstraintData> pin_data;
    ProximalSettings settings{1e-12, 1e-12, 1};

    const VectorXd &acceleration(const VectorXd &q, const VectorXd &v, const VectorXd &tau) {
        if (pins.empty()) return aba(model, data, q, v, tau, Convention::WORLD);
        return constraintDynamics(model, data, q, v, tau, pins, pin_data, settings);
    }
};

SE3 point(const double *r) { return SE3(Eigen::Matrix3d::Identity(), Eigen::Vector3d(r[0], r[1], r[2])); }

}  // namespace

extern "C" {

// links, gravity: see pinocchio_tree.hpp. pins: 8 numbers each: link, point (3), link, point (3); -1 is the world.
// kp, kd: Baumgarte's gains.
void *make(const double *links, int n_links, const double *pins, int n_pins, const double *gravity, double kp,
           double kd) {
    auto *m = new Mechanism;
    m->model = tree(links, n_links, gravity);
    m->data = Data(m->model);
    for (int i = 0; i < n_pins; ++i) {
        const double *p = pins + 8 * i;
        RigidConstraintModel pin(CONTACT_3D, m->model, JointIndex(p[0] + 1), point(p + 1), JointIndex(p[4] + 1),
                                 point(p + 5), LOCAL);
        pin.baumgarte_corrector_parameters().Kp = kp;
        pin.baumgarte_corrector_parameters().Kd = kd;
        m->pins.push_back(pin);
        m->pin_data.push_back(RigidConstraintData(pin));
    }
    if (n_pins) initConstraintDynamics(m->model, m->data, m->pins, m->pin_data);
    return m;
}

void release(void *mechanism) { delete static_cast<Mechanism *>(mechanism); }

// n steps of length h of the method (A, b) with s stages; q and v are changed in place.
void run(void *mechanism, double *q_, double *v_, const double *A, const double *b, int s, double h, long n) {
    auto &m = *static_cast<Mechanism *>(mechanism);
    const int size = m.model.nv;
    Eigen::Map<VectorXd> q(q_, size), v(v_, size);
    const VectorXd tau = VectorXd::Zero(size);
    std::vector<VectorXd> w(s, VectorXd(size)), a(s, VectorXd(size));
    VectorXd at(size);
    for (long k = 0; k < n; ++k) {
        for (int i = 0; i < s; ++i) {
            at = q;
            w[i] = v;
            for (int j = 0; j < i; ++j)
                if (const double c = h * A[i * s + j]) {
                    at += c * w[j];
                    w[i] += c * a[j];
                }
            a[i] = m.acceleration(at, w[i], tau);
        }
        for (int i = 0; i < s; ++i)
            if (const double c = h * b[i]) {
                q += c * w[i];
                v += c * a[i];
            }
    }
}
}
