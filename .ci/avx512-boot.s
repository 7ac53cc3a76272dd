# The boot sector of the disk that .ci/avx512 builds. Enters protected mode, reads each part of the
# disk to its address, 256 sectors at a time and straight from the disk's ports, and jumps to the
# kernel's 32-bit entry with the zero page in esi.

        .equ    zero_page, 0x90000
        .equ    kernel, 0x100000
        .equ    code, 0x10                      # the selectors that the boot protocol asks for
        .equ    data, 0x18

        .code16
        cli
        xor     %ax, %ax
        mov     %ax, %ds
        in      $0x92, %al                      # address line 20
        or      $2, %al
        out     %al, $0x92
        lgdt    table
        mov     %cr0, %eax
        or      $1, %al
        mov     %eax, %cr0
        ljmp    $code, $protected

        .code32
protected:
        mov     $data, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        mov     $parts, %ebp
next_part:
        mov     0(%ebp), %edi
        test    %edi, %edi
        jz      start
        mov     4(%ebp), %ebx
        mov     8(%ebp), %esi

next_track:                                     # from sector ebx to edi, esi times
        mov     $0x1f2, %edx
        xor     %eax, %eax                      # 0 means 256 sectors
        out     %al, %dx
        mov     %ebx, %eax
        inc     %edx
        out     %al, %dx
        shr     $8, %eax
        inc     %edx
        out     %al, %dx
        shr     $8, %eax
        inc     %edx
        out     %al, %dx
        mov     $0xe0, %al                      # the first disk, by sector numbers
        inc     %edx
        out     %al, %dx
        mov     $0x20, %al                      # read
        inc     %edx
        out     %al, %dx
        mov     $256, %esp                      # a counter: there is no stack
        add     %esp, %ebx
wait:   mov     $0x1f7, %edx
        in      %dx, %al
        test    $0x80, %al                      # busy
        jnz     wait
        test    $0x08, %al                      # has data
        jz      wait
        mov     $0x1f0, %edx
        mov     $256, %ecx
        rep     insw
        dec     %esp
        jnz     wait
        dec     %esi
        jnz     next_track
        add     $12, %ebp
        jmp     next_part

start:  mov     $zero_page, %esi
        xor     %ebx, %ebx
        xor     %ebp, %ebp
        xor     %edi, %edi
        mov     $kernel, %eax
        jmp     *%eax

        .align  8
segments:
        .quad   0, 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
table:  .word   31
        .long   segments

        .org    0x1b0
parts:                                          # address, first sector, tracks; up to an address of 0
