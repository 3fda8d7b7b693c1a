/* What the words of generated code mean for one instance at a time.
 *
 * Generated functions are written in these words alone. All are pure: results follow from the arguments, w is room to
 * work, and nothing is kept. Arguments and results are the nonzeros of matrices, column by column.
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
#define LT(x, y) ((x) < (y))
#define LE(x, y) ((x) <= (y))
#define EQ(x, y) ((x) == (y))
#define NE(x, y) ((x) != (y))
#define NOT(x) ((x) == 0)
#define AND(x, y) ((x) != 0 && (y) != 0)
#define OR(x, y) ((x) != 0 || (y) != 0)
#define SELECT(condition, x, y) ((condition) != 0 ? (x) : (y))
#define SIGN(x) ((x) < 0 ? -1.0 : (x) > 0 ? 1.0 : (x))
#define FMIN(x, y) ((x) < (y) || (y) != (y) ? (x) : (y))
#define FMAX(x, y) ((x) > (y) || (y) != (y) ? (x) : (y))
#define FABS fabs
#define COPYSIGN copysign
#define FMOD fmod
#define FLOOR floor
#define CEIL ceil
#define SQRT sqrt
#define HYPOT hypot
#define SIN mbfmu_sin
#define COS mbfmu_cos
#define TAN tan
#define ASIN asin
#define ACOS acos
#define ATAN atan
#define ATAN2 atan2
#define EXP exp
#define EXPM1 expm1
#define LOG log
#define LOG1P log1p
#define POW pow
#define SINH sinh
#define COSH cosh
#define TANH tanh
#define ASINH asinh
#define ACOSH acosh
#define ATANH atanh
#define ERF erf
