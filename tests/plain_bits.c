/* Prints the bits of all outputs of a model in plain C after STEPS steps, by a function `print` of its surroundings. */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define MY(name) JOIN(MODEL, name)
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#include TEXT(HEADER)

void print(const char *text);

static struct MY(model) model;

int MY(main)(void) {
    MY(defaults)(&model);
    int code = MY(start)(&model);
    for (int k = 0; k < STEPS && code == MY(OK); ++k) code = MY(step)(&model);
    for (int k = 0; k < MY(OUTPUTS) && code == MY(OK); ++k) {
        union {
            double value;
            unsigned long long bits;
        } y;
        char line[18];
        y.value = model.y[k];
        for (int i = 0; i < 16; ++i) line[i] = "0123456789abcdef"[y.bits >> (60 - 4 * i) & 15];
        line[16] = '\n', line[17] = 0;
        print(line);
    }
    return code;
}
