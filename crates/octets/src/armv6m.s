@ Octets in bulk, and division, for ARMv6-M. There are no loads and stores across word borders here,
@ so what counts is how the two ends of a copy lie: both at words, four words take two instructions;
@ otherwise words are loaded and stored at words, and put together in between: halfwords, which lie
@ so half of the time, for a third less than the rest.
@
@ Symbols are weak: whoever brings routines of these names has them.

    .syntax unified
    .thumb

    .section .text.kinglet_copy, "ax", %progbits

@ memmove(to, from, len) gives `to`.
    .weak   memmove
    .weak   __aeabi_memmove
    .weak   __aeabi_memmove4
    .weak   __aeabi_memmove8
    .thumb_func
memmove:
    .thumb_func
__aeabi_memmove:
    .thumb_func
__aeabi_memmove4:
    .thumb_func
__aeabi_memmove8:
    subs    r3, r0, r1
    cmp     r3, r2
    bhs     memcpy_forward          @ `to` is before `from` or behind its end
    movs    r3, r0
    orrs    r3, r1
    orrs    r3, r2
    lsls    r3, r3, #30
    beq     2f
    b       4f
1:  ldr     r3, [r1, r2]            @ words from the end
    str     r3, [r0, r2]
2:  subs    r2, #4
    bhs     1b
    bx      lr
3:  ldrb    r3, [r1, r2]            @ octets from the end
    strb    r3, [r0, r2]
4:  subs    r2, #1
    bhs     3b
    bx      lr

@ memcpy(to, from, len) gives `to`. Copies from the start to the end, loading before it stores, so
@ `from` may overlap `to` from behind.
    .weak   memcpy
    .weak   __aeabi_memcpy
    .thumb_func
memcpy:
    .thumb_func
__aeabi_memcpy:
memcpy_forward:
    movs    r3, r0
    orrs    r3, r1
    lsls    r3, r3, #30
    bne     unlike
    .weak   __aeabi_memcpy4
    .weak   __aeabi_memcpy8
    .thumb_func
__aeabi_memcpy4:
    .thumb_func
__aeabi_memcpy8:
    mov     ip, r0
words:                              @ both ends lie at words; ip holds what is returned
    subs    r2, #16
    blo     2f
    push    {r4-r6}
1:  ldmia   r1!, {r3-r6}
    stmia   r0!, {r3-r6}
    subs    r2, #16
    bhs     1b
    pop     {r4-r6}
2:  adds    r2, #12                 @ what is left, less 4
    bcc     4f
3:  ldmia   r1!, {r3}
    stmia   r0!, {r3}
    subs    r2, #4
    bhs     3b
4:  lsls    r2, r2, #30             @ N: a halfword is left, the next bit: an octet
    bne     6f
5:  mov     r0, ip
    bx      lr
6:  bpl     7f
    ldrh    r3, [r1]
    strh    r3, [r0]
    adds    r1, #2
    adds    r0, #2
7:  lsls    r2, r2, #1
    beq     5b
    ldrb    r3, [r1]
    strb    r3, [r0]
    mov     r0, ip
    bx      lr

unlike:                             @ one end does not lie at a word
    mov     ip, r0
    cmp     r2, #16
    blo     octets
1:  lsls    r3, r0, #30             @ octets until `to` lies at a word
    beq     2f
    ldrb    r3, [r1]
    strb    r3, [r0]
    adds    r1, #1
    adds    r0, #1
    subs    r2, #1
    b       1b
2:  lsls    r3, r1, #30
    beq     words
    @ Words lie across two of `from`: r4 has the one whose end comes next, r3 says how many bits of
    @ it are gone, r6 how many are left. At least 13 octets are to come.
    push    {r4-r7, lr}
    adds    r7, r0, r2
    lsls    r4, r1, #31
    beq     5f
    lsrs    r2, r2, #3
    lsls    r2, r2, #3
    adds    r2, r0
    mov     lr, r2                  @ where pairs of words end
    push    {r7}                    @ where all ends
    lsrs    r3, r3, #27
    movs    r6, #32
    subs    r6, r6, r3
    lsrs    r2, r3, #3
    subs    r1, r1, r2
    ldmia   r1!, {r4}
3:  ldmia   r1!, {r5, r7}
    lsrs    r4, r3
    movs    r2, r5
    lsls    r2, r6
    orrs    r4, r2
    lsrs    r5, r3
    movs    r2, r7
    lsls    r2, r6
    orrs    r5, r2
    stmia   r0!, {r4, r5}
    movs    r4, r7
    cmp     r0, lr
    bne     3b
    lsrs    r6, r6, #3
    subs    r1, r1, r6
4:  pop     {r2}
    subs    r2, r2, r0
    pop     {r4-r7}
    pop     {r3}
    mov     lr, r3
octets:
    adds    r0, r2
    adds    r1, r2
    rsbs    r2, r2, #0
    beq     2f
1:  ldrb    r3, [r1, r2]
    strb    r3, [r0, r2]
    adds    r2, #1
    bne     1b
2:  mov     r0, ip
    bx      lr

5:  lsrs    r2, r2, #4              @ `from` lies at a halfword: r3 has the word whose end comes next
    lsls    r2, r2, #4
    adds    r2, r0
    mov     lr, r2                  @ where sixteens of octets end
    push    {r7}                    @ where all ends
    subs    r1, #2
    ldmia   r1!, {r3}
    b       7f
6:  ldmia   r1!, {r4-r7}
    lsrs    r3, r3, #16
    lsls    r2, r4, #16
    orrs    r3, r2
    lsrs    r4, r4, #16
    lsls    r2, r5, #16
    orrs    r4, r2
    lsrs    r5, r5, #16
    lsls    r2, r6, #16
    orrs    r5, r2
    lsrs    r6, r6, #16
    lsls    r2, r7, #16
    orrs    r6, r2
    stmia   r0!, {r3-r6}
    movs    r3, r7
7:  cmp     r0, lr
    bne     6b
    subs    r1, #2
    b       4b

    .section .text.kinglet_set, "ax", %progbits

@ __aeabi_memclr(to, len), __aeabi_memset(to, len, octet); memset(to, octet, len) gives `to`.
    .weak   __aeabi_memclr
    .weak   __aeabi_memclr4
    .weak   __aeabi_memclr8
    .thumb_func
__aeabi_memclr:
    .thumb_func
__aeabi_memclr4:
    .thumb_func
__aeabi_memclr8:
    movs    r2, #0
    .weak   __aeabi_memset
    .weak   __aeabi_memset4
    .weak   __aeabi_memset8
    .thumb_func
__aeabi_memset:
    .thumb_func
__aeabi_memset4:
    .thumb_func
__aeabi_memset8:
    movs    r3, r1
    movs    r1, r2
    movs    r2, r3
    .weak   memset
    .thumb_func
memset:
    mov     ip, r0
    uxtb    r1, r1
1:  lsls    r3, r0, #30             @ octets until `to` lies at a word
    beq     2f
    subs    r2, #1
    blo     7f
    strb    r1, [r0]
    adds    r0, #1
    b       1b
2:  lsls    r3, r1, #8
    orrs    r1, r3
    lsls    r3, r1, #16
    orrs    r1, r3
    subs    r2, #16
    blo     4f
    push    {r4, r5}
    movs    r3, r1
    movs    r4, r1
    movs    r5, r1
3:  stmia   r0!, {r1, r3, r4, r5}
    subs    r2, #16
    bhs     3b
    pop     {r4, r5}
4:  adds    r2, #12                 @ what is left, less 4
    bcc     6f
5:  stmia   r0!, {r1}
    subs    r2, #4
    bhs     5b
6:  lsls    r2, r2, #30             @ N: a halfword is left, the next bit: an octet
    bpl     8f
    strh    r1, [r0]
    adds    r0, #2
8:  lsls    r2, r2, #1
    beq     7f
    strb    r1, [r0]
7:  mov     r0, ip
    bx      lr

    .section .text.kinglet_sum_words, "ax", %progbits

@ kinglet_sum_words(words, number of words, sum) gives the sum. What is carried out of four additions
@ is added at the low end at once; that cannot carry again.
    .global kinglet_sum_words
    .thumb_func
kinglet_sum_words:
    push    {r4-r7}
    movs    r7, #0
    subs    r1, #4
    blo     2f
1:  ldmia   r0!, {r3-r6}
    adds    r2, r2, r3
    adcs    r2, r4
    adcs    r2, r5
    adcs    r2, r6
    adcs    r2, r7
    subs    r1, #4
    bhs     1b
2:  adds    r1, #3                  @ what is left, less 1
    bcc     4f
3:  ldmia   r0!, {r3}
    adds    r2, r2, r3
    adcs    r2, r7
    subs    r1, #1
    bhs     3b
4:  movs    r0, r2
    pop     {r4-r7}
    bx      lr

    .section .text.kinglet_divide, "ax", %progbits

@ __aeabi_uidivmod(n, d) gives quotient and remainder: a bit of the quotient at a turn, of which there
@ are 8, 16 or 32. The compiler's own has eight times the octets, and few divide here.
    .weak   __aeabi_uidiv
    .weak   __aeabi_uidivmod
    .thumb_func
__aeabi_uidiv:
    .thumb_func
__aeabi_uidivmod:
divide:
    movs    r3, #8
    lsrs    r2, r0, #8
    cmp     r2, r1
    blo     1f                      @ the quotient has 8 bits: the rest of n is a remainder
    movs    r3, #16
    lsrs    r2, r0, #16
    cmp     r2, r1
    blo     2f
    movs    r3, #32
    movs    r2, #0
    b       3f
1:  lsls    r0, r0, #8
2:  lsls    r0, r0, #16
3:  adds    r0, r0, r0              @ the next bit of n, through the carry
    adcs    r2, r2
    cmp     r2, r1                  @ the bits so far: no more than n, so none was lost
    blo     4f
    subs    r2, r2, r1
    adds    r0, #1
4:  subs    r3, #1
    bne     3b
    movs    r1, r2
    bx      lr

@ The same with 64 bits: n in r0 and r1, d in r2 and r3, and so the results.
    .weak   __aeabi_uldivmod
    .thumb_func
__aeabi_uldivmod:
    push    {r4, r5, r6, r7, lr}
    movs    r6, #32
    movs    r4, r1
    movs    r5, #0
    cmp     r3, #0
    bne     1f
    cmp     r1, #0
    beq     5f
    cmp     r1, r2
    blo     1f
    movs    r6, #64
    movs    r4, #0
    b       2f
1:  movs    r1, r0                  @ the upper half of the quotient is zero
    movs    r0, #0
2:  adds    r0, r0, r0
    adcs    r1, r1
    adcs    r4, r4
    adcs    r5, r5
    movs    r7, r5
    cmp     r4, r2
    sbcs    r7, r3
    blo     3f
    subs    r4, r4, r2
    sbcs    r5, r3
    adds    r0, #1
3:  subs    r6, #1
    bne     2b
4:  movs    r2, r4
    movs    r3, r5
    pop     {r4, r5, r6, r7, pc}
5:  movs    r1, r2                  @ no more than 32 bits
    bl      divide
    movs    r4, r1
    movs    r1, #0
    b       4b
