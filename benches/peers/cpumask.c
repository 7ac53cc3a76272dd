/*
 * Hides CPU features from a whole process, peers included, at full speed: a library for LD_PRELOAD,
 * which the script `mask` builds and loads.
 *
 * It makes every CPUID fault, runs the instruction in the handler, and clears the bits of all features
 * above CPUMASK, which is one of the levels below. There are two ways to the fault:
 *
 * 1. Where /proc/cpuinfo shows cpuid_fault, the kernel arranges it (arch_prctl).
 * 2. Elsewhere, as in most virtual machines and on most AMD CPUs, each CPUID in memory becomes INT 0xa2,
 *    as long as it, which faults because no program may call that gate. Which bytes are CPUIDs only a
 *    disassembler can tell, so `mask` lists them in the file CPUMASK_SITES: an address as in the object
 *    file, and the path of the library, or nothing for the program itself.
 *
 * The dynamic loader and libc have asked before, so their string functions stay those of the real CPU.
 * XCR0 and leaf 0Dh stay real too, as they are where a hypervisor hides an extension.
 *
 * Link with -z initfirst: it puts this before the constructors of other libraries, and OpenSSL asks
 * CPUID in its own.
 */
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum level { SSE2, SSSE3, SSE41, AVX, AVX2, AVX512, LEVELS };

static const char *const level_names[LEVELS] = {"sse2", "ssse3", "sse41", "avx", "avx2", "avx512"};

enum output { EAX, EBX, ECX, EDX };

/* Bits of one output of one leaf, and the lowest level that shows them. */
static const struct feature {
    enum level from;
    unsigned leaf, subleaf;
    enum output output;
    unsigned bits;
} features[] = {
    /* SSE3, PCLMULQDQ and SSSE3. */
    {SSSE3, 1, 0, ECX, 1u << 0 | 1u << 1 | 1u << 9},
    /* SSE4.1 and SSE4.2. */
    {SSE41, 1, 0, ECX, 1u << 19 | 1u << 20},
    /* AVX and F16C. */
    {AVX, 1, 0, ECX, 1u << 28 | 1u << 29},
    /* FMA; AVX2; GFNI, VAES and VPCLMULQDQ in registers of 256 bits. */
    {AVX2, 1, 0, ECX, 1u << 12},
    {AVX2, 7, 0, EBX, 1u << 5},
    {AVX2, 7, 0, ECX, 1u << 8 | 1u << 9 | 1u << 10},
    /* AVX512 F, DQ, PF, ER, CD, BW, VL. */
    {AVX512, 7, 0, EBX, 1u << 16 | 1u << 17 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31},
    /* AVX-VNNI and AVX10: no machine has them that stops at AVX2 as Haswell and Zen 3 do. */
    {AVX512, 7, 1, EAX, 1u << 4},
    {AVX512, 7, 1, EDX, 1u << 19},
    /* IFMA in both encodings, and the later AVX512 extensions: level "avx512" is Skylake-X. */
    {LEVELS, 7, 0, EBX, 1u << 21},
    {LEVELS, 7, 0, ECX, 1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14},
    {LEVELS, 7, 0, EDX, 1u << 2 | 1u << 3 | 1u << 8 | 1u << 23},
    {LEVELS, 7, 1, EAX, 1u << 5 | 1u << 23},
};

static int visible;

static const unsigned char cpuid[2] = {0x0f, 0xa2}, instead[2] = {0xcd, 0xa2};

/* Switches CPUID on or off for this thread. Not through libc, which is not ready this early. */
static long set_cpuid(unsigned long on)
{
    enum { ARCH_SET_CPUID = 0x1012 };
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_arch_prctl), "D"((long)ARCH_SET_CPUID), "S"(on)
                     : "rcx", "r11", "memory");
    return result;
}

/* Stands in for a CPUID that faulted; any other fault happens again, and ends the process. */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX];
    unsigned out[4] = {leaf, 0, subleaf, 0};
    (void)info;

    const void *at = (const void *)registers[REG_RIP];
    if (memcmp(at, cpuid, sizeof cpuid) != 0 && memcmp(at, instead, sizeof instead) != 0) {
        signal(signal_number, SIG_DFL);
        return;
    }
    set_cpuid(1);
    __asm__ volatile("cpuid" : "+a"(out[EAX]), "=b"(out[EBX]), "+c"(out[ECX]), "=d"(out[EDX]));
    set_cpuid(0);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        const struct feature *feature = &features[i];
        int same_subleaf = leaf == 1 || feature->subleaf == subleaf;
        if ((int)feature->from > visible && feature->leaf == leaf && same_subleaf)
            out[feature->output] &= ~feature->bits;
    }
    registers[REG_RAX] = out[EAX];
    registers[REG_RBX] = out[EBX];
    registers[REG_RCX] = out[ECX];
    registers[REG_RDX] = out[EDX];
    registers[REG_RIP] += sizeof cpuid;
}

static void give_up(const char *what)
{
    dprintf(STDERR_FILENO, "cpumask: %s\n", what);
    _exit(99);
}

/* Puts `instead` in the place of one CPUID. */
static void patch(unsigned char *site)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)site & -page;
    size_t length = (uintptr_t)site + sizeof cpuid - start;

    if (memcmp(site, cpuid, sizeof cpuid) != 0)
        give_up("no CPUID where the list says one is");
    if (mprotect((void *)start, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        give_up("code cannot be written to");
    memcpy(site, instead, sizeof instead);
    mprotect((void *)start, length, PROT_READ | PROT_EXEC);
}

/* Replaces each CPUID of one loaded object that the list names. */
static int patch_object(struct dl_phdr_info *object, size_t size, void *sites)
{
    char line[4096], *path;
    (void)size;

    rewind(sites);
    while (fgets(line, sizeof line, sites) != NULL) {
        uintptr_t address = strtoul(line, &path, 16);
        path[strcspn(path, "\n")] = '\0';
        if (strcmp(path + 1, object->dlpi_name) == 0)
            patch((unsigned char *)object->dlpi_addr + address);
    }
    return 0;
}

/* libc hands the environment to constructors; getenv may not work yet. */
__attribute__((constructor)) static void start(int count, char **arguments, char **environment)
{
    const char *wanted = NULL, *list = NULL;
    (void)count;
    (void)arguments;

    for (; *environment != NULL; environment++) {
        if (strncmp(*environment, "CPUMASK=", 8) == 0)
            wanted = *environment + 8;
        if (strncmp(*environment, "CPUMASK_SITES=", 14) == 0)
            list = *environment + 14;
    }
    if (wanted == NULL)
        return;
    for (visible = 0; visible < LEVELS; visible++)
        if (strcmp(wanted, level_names[visible]) == 0)
            break;
    if (visible == LEVELS)
        give_up("no such level");

    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    if (set_cpuid(0) != 0) {
        FILE *sites = list == NULL ? NULL : fopen(list, "r");
        if (sites == NULL)
            give_up("this machine cannot fault on CPUID, and there is no list of them");
        dl_iterate_phdr(patch_object, sites);
        fclose(sites);
    }
}
