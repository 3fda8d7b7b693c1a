/* The start of a program on an Arm Cortex-M7, and what it prints through the debugger's host (Arm semihosting). */
extern unsigned char stack_top[], data_begin[], data_end[], data_image[], bss_begin[], bss_end[];
int MAIN(void);

static int host(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text) { host(4, text); } /* SYS_WRITE0 */

void begin(void) {
    unsigned char *to = data_begin, *from = data_image;
    *(volatile unsigned *)0xe000ed88u |= 0xfu << 20; /* CPACR: the unit for floating point */
    __asm__ volatile("dsb\n isb");
    while (to < data_end) *to++ = *from++;
    for (to = bss_begin; to < bss_end;) *to++ = 0;
    MAIN();
    host(0x18, (const void *)0x20026); /* SYS_EXIT, ADP_Stopped_ApplicationExit */
    for (;;) {}
}

static void stop(void) {
    print("fault\n");
    host(0x18, (const void *)0x20026);
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, (const void *)begin, (const void *)stop, (const void *)stop, (const void *)stop, (const void *)stop, (const void *)stop,
};
