/* Operations of generated code, for one instance at a time.
 *
 * Generated functions use these names alone. All functions are pure: results follow from the arguments, w is workspace,
 * and nothing is kept. Arguments and results are the nonzeros of matrices, column by column.
 */
#include <math.h>

typedef double V;
typedef void (*function)(const V *const *arg, V *const *res, V *w);

#define ADD(x, y) ((x) + (y))
#define SUB(x, y) ((x) - (y))
#define MUL(x, y) ((x) * (y))
#define DIV(x, y) ((x) / (y))
#define NEG(x) (-(x))
#define SQUARE(x) ((x) * (x))
#define SAME(x) (x)
#define ENTRY(x) x
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define NOT(x) ((x) == 0)
#define AND(x, y) ((x) != 0 && (y) != 0)
#define OR(x, y) ((x) != 0 || (y) != 0)
#define SELECT(condition, x, y) ((condition) != 0 ? (x) : (y))
#define SIGN(x) ((x) < 0 ? -1.0 : (x) > 0 ? 1.0 : (x))
#define FMIN mbfmu_fmin
#define FMAX mbfmu_fmax
#define FABS fabs
#define COPYSIGN copysign
#define FMOD fmod
#define FLOOR floor
#define CEIL ceil
#define SQRT sqrt
#define HYPOT mbfmu_hypot
#define SIN mbfmu_sin
#define COS mbfmu_cos
#define TAN mbfmu_tan
#define ASIN mbfmu_asin
#define ACOS mbfmu_acos
#define ATAN mbfmu_atan
#define ATAN2 mbfmu_atan2
#define EXP mbfmu_exp
#define EXPM1 mbfmu_expm1
#define LOG mbfmu_log
#define LOG1P mbfmu_log1p
#define POW mbfmu_pow
#define SINH mbfmu_sinh
#define COSH mbfmu_cosh
#define TANH mbfmu_tanh
#define ASINH mbfmu_asinh
#define ACOSH mbfmu_acosh
#define ATANH mbfmu_atanh
