/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The evaluator: special forms, procedures, scope, budgets. A row is a text and the value of its
 * last form, or its errors with positions. */

#include <time.h>

#include "sbpl-maker.h"

static void test_forms(void)
{
    static const struct sbpl_row rows[] = {
        {"42", "42"},
        {"\"a\\\"b\"", "\"a\\\"b\""},
        {"'(a . (b \"c\" #t))", "(a b \"c\" #t)"},
        {"(quote x)", "x"},
        {"()", "()"},
        /* if: only #f is false */
        {"(if #t 1 2)", "1"},
        {"(if #f 1 2)", "2"},
        {"(if '() 1 2)", "1"},
        {"(if 0 1 2)", "1"},
        {"(if #f 1)", "#<no value>"},
        {"(when #t 1 2)", "2"},
        {"(when #f 1 2)", "#<no value>"},
        {"(unless #f 1 2)", "2"},
        {"(unless #t 1)", "#<no value>"},
        /* cond */
        {"(cond (#f 1) ((= 1 1) 2) (else 3))", "2"},
        {"(cond (#f 1) (else 2 3))", "3"},
        {"(cond (#f 1))", "()"},
        {"(cond (5))", "5"},
        {"(cond ((assq 'b '((a 1) (b 2))) => cadr) (else 0))", "2"},
        {"(cond (#f => car) (else 7))", "7"},
        /* case compares with eqv? */
        {"(case 3 ((1 2) 'a) ((3 4) 'b) (else 'c))", "b"},
        {"(case 'x ((y) 1) (else 2))", "2"},
        {"(case #\\a ((#\\a) 1))", "1"},
        {"(case 9 ((1) 1))", "#<no value>"},
        {"(case (+ 1 1) ((2) 'x 'y))", "y"},
        /* and, or */
        {"(and)", "#t"},
        {"(and 1 2 3)", "3"},
        {"(and 1 #f (error \"not reached\"))", "#f"},
        {"(or)", "#f"},
        {"(or #f 2 (error \"not reached\"))", "2"},
        {"(or #f #f)", "#f"},
        /* sequence and binding */
        {"(begin 1 2 3)", "3"},
        {"(begin)", "#<no value>"},
        {"(define x 5) x", "5"},
        {"(define x 5)", "#<no value>"},
        {"(define (f a b) (- a b)) (f 5 3)", "2"},
        {"(define (f . r) r) (f 1 2)", "(1 2)"},
        {"(define (f a . r) (list a r)) (f 1)", "(1 ())"},
        {"(define f (lambda r r)) (f)", "()"},
        {"((lambda (x) (* x x)) 7)", "49"},
        {"(let ((a 1) (b 2)) (+ a b))", "3"},
        {"(let () 5)", "5"},
        {"(let ((a 1)) (let ((a 2) (b a)) b))", "1"},
        {"(let* ((a 1) (b (+ a 1)) (c (* b 5))) (list a b c))", "(1 2 10)"},
        {"(let* () 3)", "3"},
        {"(letrec ((e? (lambda (n) (if (= n 0) #t (o? (- n 1)))))"
         "         (o? (lambda (n) (if (= n 0) #f (e? (- n 1))))))"
         "  (e? 11))",
         "#f"},
        {"(letrec* ((a 1) (b (+ a 1))) b)", "2"},
        {"(let loop ((i 0) (l '())) (if (= i 4) l (loop (+ i 1) (cons i l))))", "(3 2 1 0)"},
        {"(do ((i 0 (+ i 1)) (s 0 (+ s i))) ((= i 5) s))", "10"},
        {"(do ((i 0 (+ i 1)) (keep 'k)) ((= i 2) keep))", "k"},
        {"(define x 1) (set! x (+ x 1)) x", "2"},
        /* quasiquote */
        {"`(1 ,(+ 1 1) ,@(list 3 4) 5)", "(1 2 3 4 5)"},
        {"`(1 . ,(+ 1 1))", "(1 . 2)"},
        {"`(,@(list 1 2))", "(1 2)"},
        {"`(,@(list 1 2) . 3)", "(1 2 . 3)"},
        {"`x", "x"},
        {"`((a ,(* 2 3)) ,@'() b)", "((a 6) b)"},
        {"`(a (b . ,(+ 1 1)) . ,(list 3))", "(a (b . 2) 3)"},
        {"`(1 (2 (3 ,@(list 4) 5) 6) 7)", "(1 (2 (3 4 5) 6) 7)"},
        {"(define (t) `(1 (2 ,3))) (set-car! (t) 9) (set-car! (cadr (t)) 9) (t)", "(1 (2 3))"},
        {"(define l (list 1 2)) (set-car! `(,@l 3) 9) l", "(1 2)"},
    };
    CHECK_ROWS(rows);
}

/* Nested quasiquotation, as the Scheme reports define it: an unquote inside two quasiquotes belongs
 * to the inner one, and only an unquote inside that is evaluated. */
static void test_nested_quasiquote(void)
{
    static const struct sbpl_row rows[] = {
        {"`(a `(b ,(c)))", "(a (quasiquote (b (unquote (c)))))"},
        {"`(a `(b ,(foo ,(+ 1 3) d) e) f)", "(a (quasiquote (b (unquote (foo 4 d)) e)) f)"},
        {"(let ((n1 'x) (n2 'y)) `(a `(b ,,n1 ,',n2 d) e))",
         "(a (quasiquote (b (unquote x) (unquote (quote y)) d)) e)"},
        {"`(a `(b ,@(c ,(+ 1 2))))", "(a (quasiquote (b (unquote-splicing (c 3)))))"},
    };
    CHECK_ROWS(rows);
}

static void test_scope(void)
{
    static const struct sbpl_row rows[] = {
        /* lexical, not dynamic */
        {"(define x 1) (define (f) x) (define (g x) (f)) (g 2)", "1"},
        {"(define (adder n) (lambda (m) (+ n m))) ((adder 3) 4)", "7"},
        {"(define (counter) (let ((n 0)) (lambda () (set! n (+ n 1)) n)))"
         "(define a (counter)) (define b (counter)) (a) (a) (list (a) (b))",
         "(3 1)"},
        {"(define (f) (define y 2) (* y y)) (f)", "4"},
        {"(define (f) (define y 2) y) (f) (defined? 'y)", "#f"},
        {"(define (f x) (set! x 9) x) (define x 1) (f 5) x", "1"},
        {"(let ((x 1)) (define x 2) x)", "2"},
        /* built-ins can be redefined without affecting what is built on them */
        {"(define (list . r) 'mine) (list 1)", "mine"},
        {"(define if list) (if 1 2 3)", "(1 2 3)"},
        {"(define if list) (and 1 2)", "2"},
        {"(define if list) (cond (#f 1) (else 2))", "2"},
        {"(define lambda list) (let ((a 5)) a)", "5"},
        {"(define cons list) `(1 ,(+ 1 1))", "(1 2)"},
        {"(define append list) `(1 ,@(list 2 3) 4)", "(1 2 3 4)"},
        {"(define begin list) (when #t 1 2)", "2"},
        {"(define define-it 3) (let ((define 1)) define)", "1"},
        {"(define car cdr) (car '(1 2))", "(2)"},
        {"(define old car) (set! car (lambda (x) (cons 'c (old x)))) (car '(1 . 2))", "(c . 1)"},
        {"(define subpath string-append) (subpath \"a\" \"b\")", "\"ab\""},
        {"(let ((+ *)) (+ 3 4))", "12"},
    };
    CHECK_ROWS(rows);
}

static void test_macros(void)
{
    static const struct sbpl_row rows[] = {
        {"(macro (swap form) (list 'list (caddr form) (cadr form))) (swap 1 2)", "(2 1)"},
        {"(define-macro (my-or a b) `(let ((t ,a)) (if t t ,b))) (my-or #f 7)", "7"},
        {"(define-macro (unless2 c . body) `(if ,c #f (begin ,@body))) (unless2 #f 1 2)", "2"},
        {"(define-macro (m . r) `(quote ,r)) (m a (b))", "(a (b))"},
        /* expanded where it is called: it sees the caller's variables */
        {"(define-macro (here) 'x) (define x 'global) (let ((x 'local)) (here))", "local"},
        {"(define-macro (twice e) `(begin ,e ,e)) (define n 0) (twice (set! n (+ n 1))) n", "2"},
        {"(define-macro (a) '(b)) (define-macro (b) 5) (a)", "5"},
        {"(define (f) (define-macro (k) 3) (k)) (f)", "3"},
        {"(macro (m) 1)", "bad-form@1:1"},
        {"(macro m 1)", "bad-form@1:1"},
        {"(define-macro m 1)", "bad-form@1:1"},
        {"(define-macro (m a) a) (m 1 2)", "argument-count@1:24"},
    };
    CHECK_ROWS(rows);
}

static void test_numbers(void)
{
    static const struct sbpl_row rows[] = {
        {"(+)", "0"},
        {"(*)", "1"},
        {"(+ 1 2 3)", "6"},
        {"(- 5)", "-5"},
        {"(- 10 1 2)", "7"},
        {"(* 2 3 4)", "24"},
        {"(/ 12 3)", "4"},
        {"(/ 1 4)", "0.25"},
        {"(/ 2)", "0.5"},
        {"(+ 1 0.5)", "1.5"},
        {"(quotient 7 2)", "3"},
        {"(quotient -7 2)", "-3"},
        {"(remainder -7 2)", "-1"},
        {"(modulo -7 2)", "1"},
        {"(modulo 7 -2)", "-1"},
        {"(modulo 6 3)", "0"},
        {"(abs -5)", "5"},
        {"(abs 5)", "5"},
        {"(max 1 5 3)", "5"},
        {"(min 4 1 3)", "1"},
        {"(= 1 1 1)", "#t"},
        {"(= 1 1.0)", "#t"},
        {"(< 1 2 3)", "#t"},
        {"(< 1 3 2)", "#f"},
        {"(<= 1 1 2)", "#t"},
        {"(> 3 2 2)", "#f"},
        {"(>= 3 2 2)", "#t"},
        {"(list (zero? 0) (positive? 1) (negative? 1) (even? 4) (odd? -3))", "(#t #t #f #t #t)"},
        {"(list (floor 2.7) (floor -2.5) (round 3.5) (round 2.5) (truncate -2.7))",
         "(2 -3 4 2 -2)"},
        {"(exact->inexact 1)", "1"},
        {"(inexact->exact 3.0)", "3"},
        {"(list (number? 1) (number? 1.5) (number? \"1\") (integer? 1.5) (integer? 2.0) (real? 1))",
         "(#t #t #f #f #t #t)"},
        {"(number->string 255 16)", "\"ff\""},
        {"(number->string -5)", "\"-5\""},
        {"(number->string 5 2)", "\"101\""},
        {"(number->string -9223372036854775808)", "\"-9223372036854775808\""},
        {"(string->number \"ff\" 16)", "255"},
        {"(string->number \"12\")", "12"},
        {"(string->number \"x\")", "#f"},
        {"(string->number \" 1\")", "#f"},
        {"(string->number \"\")", "#f"},
        {"(string->number #f)", "#f"},
        {"(_IO \"h\" 47)", "26671"}, /* 'h' is 104: 104 * 256 + 47 */
        /* what does not fit into 64 bits becomes a real number */
        {"(+ 9223372036854775807 1)", "9.22337e+18"},
        {"(- -9223372036854775808 1)", "-9.22337e+18"},
        {"(* 4611686018427387904 2)", "9.22337e+18"},
        {"(- -9223372036854775808)", "9.22337e+18"},
        {"(abs -9223372036854775808)", "9.22337e+18"},
        {"(quotient -9223372036854775808 -1)", "9.22337e+18"},
        {"(remainder -9223372036854775808 -1)", "0"},
        {"(modulo -9223372036854775808 -1)", "0"},
        {"(/ -9223372036854775808 -1)", "9.22337e+18"},
        {"(inexact->exact 1e300)", "1e+300"},
        /* errors are reported at the argument */
        {"(/ 1 0)", "division-by-zero@1:6"},
        {"(/ 0)", "division-by-zero@1:4"},
        {"(/ 8 2 0 2)", "division-by-zero@1:8"},
        {"(quotient 1 0)", "division-by-zero@1:13"},
        {"(modulo 1 0)", "division-by-zero@1:11"},
        {"(remainder 1 0)", "division-by-zero@1:14"},
        {"(+ 1 \"2\")", "wrong-type@1:6"},
        {"(+ 1 2 3 'x 4)", "wrong-type@1:10"},
        {"(- 5 2 #f)", "wrong-type@1:8"},
        {"(< 1 2 \"3\")", "wrong-type@1:8"},
        {"(max 1 #t)", "wrong-type@1:8"},
        {"(even? 1.5)", "wrong-type@1:8"},
        {"(number->string 1 7)", "wrong-type@1:19"},
        {"(_IO \"hh\" 1)", "out-of-range@1:1"},
        {"(_IO \"h\" 256)", "out-of-range@1:1"},
    };
    CHECK_ROWS(rows);
}

static void test_lists(void)
{
    static const struct sbpl_row rows[] = {
        {"(cons 1 2)", "(1 . 2)"},
        {"(list 1 '(2) \"3\")", "(1 (2) \"3\")"},
        {"(list)", "()"},
        {"(define l '((1 2) (3 4) 5 6 7))"
         "(list (car l) (cdr l) (caar l) (cadr l) (cdar l) (cddr l) (caddr l) (cdddr l) (cadddr "
         "l))",
         "((1 2) ((3 4) 5 6 7) 1 (3 4) (2) (5 6 7) 5 (6 7) 6)"},
        {"(define p (cons 1 2)) (set-car! p 3) (set-cdr! p 4) p", "(3 . 4)"},
        {"(length '(1 2 3))", "3"},
        {"(append '(1) '(2 3) '() '(4))", "(1 2 3 4)"},
        {"(append)", "()"},
        {"(append '(1) 2)", "(1 . 2)"},
        {"(define t '(3)) (define l (append '(1) t)) (set-car! t 9) l", "(1 9)"},
        {"(reverse '(1 2 3))", "(3 2 1)"},
        {"(define a '(1 2)) (define b (list-copy a)) (set-car! b 9) a", "(1 2)"},
        {"(list-tail '(1 2 3) 1)", "(2 3)"},
        {"(list-tail '(1 2 3) 3)", "()"},
        {"(list-ref '(a b c) 2)", "c"},
        {"(memq 'b '(a b c))", "(b c)"},
        {"(memq \"b\" '(\"b\"))", "#f"},
        {"(memv 2 '(1 2))", "(2)"},
        {"(member \"b\" '(\"a\" \"b\"))", "(\"b\")"},
        {"(member '(1) '((0) (1)))", "((1))"},
        {"(assq 'b '((a 1) (b 2)))", "(b 2)"},
        {"(assv 2 '((1 a) (2 b)))", "(2 b)"},
        {"(assoc \"k\" '((\"j\" . 1) (\"k\" . 2)))", "(\"k\" . 2)"},
        {"(assq 'x '((a 1)))", "#f"},
        {"(map + '(1 2) '(10 20))", "(11 22)"},
        {"(map (lambda (x) (* x x)) '(1 2 3))", "(1 4 9)"},
        {"(map car '())", "()"},
        {"(map list '(1 2 3) '(a b))", "((1 a) (2 b))"},
        {"(define s 0) (for-each (lambda (x y) (set! s (+ s (* x y)))) '(1 2) '(3 4)) s", "11"},
        {"(for-each car '())", "#<no value>"},
        {"(apply + '(1 2))", "3"},
        {"(apply + 1 2 '(3 4))", "10"},
        {"(apply list '())", "()"},
        {"(partition string? '(1 \"a\" 2 \"b\"))", "((\"a\" \"b\") (1 2))"},
        {"(eq? 'a 'a)", "#t"},
        {"(eq? '(1) '(1))", "#f"},
        {"(eqv? 1.5 1.5)", "#t"},
        {"(eqv? 1 1.0)", "#f"},
        {"(equal? '(1 (\"a\" #\\b)) '(1 (\"a\" #\\b)))", "#t"},
        {"(equal? '(1 2) '(1 3))", "#f"},
        {"(equal? \"a\" \"ab\")", "#f"},
        {"(equal? '(1 . 2) '(1 2))", "#f"},
        {"(list (null? '()) (pair? '()) (pair? '(1)) (list? '(1 . 2)) (list? '(1)))",
         "(#t #f #t #f #t)"},
        {"(list (boolean? #f) (symbol? 'a) (string? \"\") (char? #\\a) (procedure? car)"
         " (procedure? (lambda () 1)) (procedure? 'car))",
         "(#t #t #t #t #t #t #f)"},
        {"(not 1)", "#f"},
        {"(not #f)", "#t"},
        /* errors */
        {"(car '())", "wrong-type@1:6"},
        {"(cadr '(1))", "wrong-type@1:7"},
        {"(car 1 2)", "argument-count@1:1"},
        {"(length '(1 . 2))", "wrong-type@1:9"},
        {"(append '(1) 2 '(3))", "wrong-type@1:14"},
        {"(map car '(1) 5)", "wrong-type@1:15"},
        {"(apply + 1)", "wrong-type@1:10"},
        {"(apply + 1 2 3)", "wrong-type@1:14"},
        {"(list-ref '(1 2) 2)", "out-of-range@1:18"},
        {"(list-tail '(1 2) 3)", "out-of-range@1:19"},
        {"(list-ref '(1 2) -1)", "out-of-range@1:18"},
        {"(set-car! 5 1)", "wrong-type@1:11"},
        {"(partition (lambda (x) x) '(1))", "wrong-type@1:12"},
        {"(partition import '(\"system.sb\"))", "wrong-type@1:12"},
    };
    CHECK_ROWS(rows);
}

static void test_strings(void)
{
    static const struct sbpl_row rows[] = {
        {"(string-append)", "\"\""},
        {"(string-append \"a\" \"\" \"bc\")", "\"abc\""},
        {"(string-length \"abc\")", "3"},
        {"(string-length \"\\x00\\x00\")", "2"},
        {"(string-ref \"abc\" 1)", "#\\b"},
        {"(substring \"hello\" 1 3)", "\"el\""},
        {"(substring \"hello\" 2)", "\"llo\""},
        {"(substring \"hello\" 5)", "\"\""},
        {"(string-copy \"x\")", "\"x\""},
        {"(string-upcase \"aZ9/\xc3\xa9\")", "\"AZ9/\xc3\xa9\""},
        {"(string-downcase \"AbC\")", "\"abc\""},
        {"(string=? \"a\" \"a\")", "#t"},
        {"(string=? \"a\" \"ab\")", "#f"},
        {"(string=? \"a\\x00b\" \"a\\x00c\")", "#f"},
        {"(list (string<? \"a\" \"b\") (string>? \"a\" \"b\") (string<=? \"a\" \"a\")"
         " (string>=? \"a\" \"b\"))",
         "(#t #f #t #f)"},
        {"(string<? \"a\" \"ab\")", "#t"},
        {"(list (string-ci=? \"aB\" \"Ab\") (string-ci=? \"a\\x00b\" \"a\\x00c\"))", "(#t #f)"},
        {"(string #\\a #\\b)", "\"ab\""},
        {"(string)", "\"\""},
        {"(string->list \"ab\")", "(#\\a #\\b)"},
        {"(list->string '(#\\x #\\y))", "\"xy\""},
        {"(list->string '())", "\"\""},
        {"(string->symbol \"a b\")", "a b"},
        {"(symbol->string 'abc)", "\"abc\""},
        {"(eq? (string->symbol \"abc\") 'abc)", "#t"},
        {"(list (char=? #\\a #\\a) (char<? #\\a #\\b #\\c) (char>? #\\a #\\b))", "(#t #t #f)"},
        {"(list (char-alphabetic? #\\z) (char-alphabetic? #\\1) (char-numeric? #\\7)"
         " (char-whitespace? #\\space))",
         "(#t #f #t #t)"},
        {"(list (char-upcase #\\a) (char-downcase #\\Q) (char-upcase #\\xe9))",
         "(#\\A #\\q #\\xe9)"},
        {"(char->integer #\\A)", "65"},
        {"(integer->char 66)", "#\\B"},
        {"(regex-quote \"/a.b[c]+(d)*{2}|^$?\\\\\")",
         "\"/a\\\\.b\\\\[c\\\\]\\\\+\\\\(d\\\\)\\\\*\\\\{2\\\\}\\\\|\\\\^\\\\$\\\\?\\\\\\\\\""},
        /* reading from a string, and evaluating what was read */
        {"(read (open-input-string \"(+ 1 2) x\"))", "(+ 1 2)"},
        {"(eval (read (open-input-string \"(+ 1 2)\")))", "3"},
        {"(define p (open-input-string \"1 (2) \")) (list (read p) (read p) (eof-object? (read "
         "p)))",
         "(1 (2) #t)"},
        {"(eval '(* 6 7))", "42"},
        {"(let ((x 1)) (eval '(defined? 'x)))", "#f"},
        {"(close-input-port (open-input-string \"\"))", "#<no value>"},
        {"(newline)", "#<no value>"},
        /* errors */
        {"(string-append \"a\" 1 \"b\")", "wrong-type@1:20"},
        {"(string-ref \"abc\" 3)", "out-of-range@1:19"},
        {"(string-ref \"\" 0)", "out-of-range@1:1"},
        {"(substring \"abc\" 2 1)", "out-of-range@1:20"},
        {"(substring \"abc\" 4)", "out-of-range@1:18"},
        {"(substring \"abc\" -1)", "out-of-range@1:18"},
        {"(integer->char 256)", "wrong-type@1:16"},
        {"(integer->char -1)", "wrong-type@1:16"},
        {"(list->string '(1))", "wrong-type@1:15"},
        {"(char<? #\\a #\\b 3)", "wrong-type@1:17"},
        {"(read (open-input-string \"(a\"))", "bad-datum@1:26"},
        {"(read 5)", "wrong-type@1:7"},
        {"(error \"broken:\" 'x 5)", "profile-error@1:1"},
        {"(throw)", "profile-error@1:1"},
    };
    CHECK_ROWS(rows);
}

static void test_names(void)
{
    static const struct sbpl_row rows[] = {
        {"(defined? 'file-read*)", "#t"},
        {"(defined? \"subpath\")", "#t"},
        {"(defined? 'no-such-name)", "#f"},
        {"(defined? 'if)", "#t"},
        {"(define zork 1) (defined? 'zork)", "#t"},
        {"(defined? file-read*)", "#t"},
        {"file-read*", "file-read*"},
        {"process-exec", "process-exec*"},
        {"(eq? process-exec process-exec*)", "#t"},
        {"(list (eq? literal path-literal) (eq? literal subpath))", "(#t #f)"},
        {"(sbpl-operation? file-read*)", "#t"},
        {"(sbpl-filter? (subpath \"/a\"))", "#t"},
        {"(sbpl-filter? file-read*)", "#f"},
        {"(sbpl-modifier? (with report))", "#t"},
        {"(sbpl-filter? (tty))", "#t"},
        {"*ios-sandbox-container*", "\"com.apple.sandbox.container\""},
        {"tcp4", "tcp4"},
        {"1024-2048", "1024-2048"},
        {"SIGKILL", "9"},
        {"(sbpl-filter? (path-ancestors \"/a/b/c\"))", "#t"},
        {"(path-ancestors \"relative\")", "wrong-type@1:17"},
        {"no-such-name", "unbound@1:1"},
        {"(car no-such-name)", "unbound@1:6"},
        {"(set! no-such-name 1)", "unbound@1:1"},
        {"(5 6)", "not-a-procedure@1:1"},
        {"(\"a\")", "not-a-procedure@1:1"},
        {"(file-read* 1)", "not-a-procedure@1:1"},
        {"(report)", "not-a-procedure@1:1"},
        {"(eval (string->symbol \"\"))", "unbound@1:1"},
        {"(eval (string->symbol \"if\\x00and much more text behind it\"))", "unbound@1:1"},
    };
    CHECK_ROWS(rows);
}

static void test_malformed(void)
{
    static const struct sbpl_row rows[] = {
        {"(if)", "bad-form@1:1"},
        {"(if 1 2 3 4)", "bad-form@1:1"},
        {"(quote)", "bad-form@1:1"},
        {"(quote a b)", "bad-form@1:1"},
        {"(define)", "bad-form@1:1"},
        {"(define 5 6)", "bad-form@1:1"},
        {"(define x 1 2)", "#<no value>"},
        {"(define (f 5) 1)", "bad-form@1:1"},
        {"(lambda (x))", "bad-form@1:1"},
        {"(lambda (1) 1)", "bad-form@1:1"},
        {"(lambda \"x\" 1)", "bad-form@1:1"},
        {"(let)", "bad-form@1:1"},
        {"(let ((a 1)))", "bad-form@1:1"},
        {"(let ((a 1 2)) a)", "1"},
        {"(let (5) 1)", "bad-form@1:1"},
        {"(let x)", "bad-form@1:1"},
        {"(let loop ((i 0)))", "bad-form@1:1"},
        {"(let ((a 1) . b) a)", "bad-form@1:1"},
        {"(letrec (a) 1)", "bad-form@1:1"},
        {"(do)", "bad-form@1:1"},
        {"(do ((i)) (#t))", "bad-form@1:1"},
        {"(do () ())", "bad-form@1:1"},
        {"(cond)", "bad-form@1:1"},
        {"(cond 5)", "bad-form@1:1"},
        {"(case)", "bad-form@1:1"},
        {"(case 1 5)", "bad-form@1:1"},
        {"(set! 5 1)", "bad-form@1:1"},
        {"(set! x)", "bad-form@1:1"},
        {"(and . 1)", "bad-form@1:1"},
        {"(car . 1)", "bad-form@1:1"},
        {"(quasiquote ((unquote-splicing)))", "bad-form@1:1"},
        {"(quasiquote (a) 2)", "bad-form@1:1"},
        {"`(1 ,@5)", "wrong-type@1:1"},
        {"`(1 ,@(cons 1 2))", "wrong-type@1:1"},
        {"(with-filter)", "bad-form@1:1"},
        {"((lambda (x) x))", "argument-count@1:1"},
        {"((lambda (x) x) 1 2)", "argument-count@1:1"},
        {"((lambda (a b . c) a) 1)", "argument-count@1:1"},
        {"(cons 1)", "argument-count@1:1"},
        {"\n (begin\n  (if))", "bad-form@3:3"},
    };
    CHECK_ROWS(rows);
    OWN(program) struct program p;
    program_load(&p, "(define (f a b . c) a)\n(f 1)", &sbpl_any);
    const struct diag *g = find_finding(&p.unit, "argument-count");
    is_str(g ? g->msg : NULL, "this procedure takes at least 2 arguments, not 1",
           "the count is worded");
}

/* Data that a program changes during evaluation, circular lists, and other ways to confuse. */
static void test_hostile_data(void)
{
    static const struct sbpl_row rows[] = {
        {"(define r (list 1 2)) (set-cdr! (cdr r) r) (list? r)", "#f"},
        {"(define r (list 1 2)) (set-cdr! (cdr r) r) (length r)", "wrong-type@1:52"},
        {"(define r (list 1 2)) (set-cdr! (cdr r) r) (map car r)", "wrong-type@1:53"},
        {"(define r (list 1 2)) (set-cdr! (cdr r) r) (apply + r)", "wrong-type@1:53"},
        {"(define r (list 'car 2)) (set-cdr! (cdr r) r) (eval r)", "bad-form@1:47"},
        {"(define r (list 'begin 2)) (set-cdr! (cdr r) r) (eval r)", "bad-form@1:49"},
        {"(define r (list 'a 'b)) (set-cdr! (cdr r) r) (eval (list 'lambda r 1))", "bad-form@1:46"},
        {"(define r (list 1 2)) (set-cdr! (cdr r) r) (eval (list 'case 5 (list r 1)))",
         "bad-form@1:44"},
        {"(define c (list (list (list 1) 2)))"
         "(eval (cons 'case (cons '(begin (set-cdr! c c) 5) c)))",
         "bad-form@1:36"},
        {"(define c (list 'cond (list '(begin (set-car! (cdr c) 5) #t) 7))) (eval c)", "7"},
        {"(define i (list 'if '(begin (set-cdr! (cdr i) 5) #f) 1 2)) (eval i)", "2"},
        {"(define o (list 'or '(begin (set-cdr! (cdr o) '()) #f) 2)) (eval o)", "2"},
        {"(define p (list 'a)) (define f (eval (list 'lambda p 1))) (set-car! p 5) (f 2)", "1"},
        {"(define l (list file-read* file-write*))"
         "(with-operations l (set-cdr! l l) (set-car! l 5) (allow (literal \"/x\")))",
         "#<no value>"},
        {"(define l (list 1 2)) (define (f x) (set-cdr! l '()) x) (map f l)", "(1 2)"},
    };
    CHECK_ROWS(rows);
    OWN(buf) struct buf out = {0};
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_steps = 100000};
    show_value("(define a (list 1)) (set-cdr! a a) (define b (list 1)) (set-cdr! b b) (equal? a b)",
               &opt, &out);
    is_str(out.s, "step-budget@1:71", "comparing two rings ends");
}

/* ---- budgets ---- */

struct budget_row {
    const char *text;
    struct sbpl_options opt;
    const char *want;
};

static void test_budgets(void)
{
    static const struct budget_row rows[] = {
        {"1\n(let loop () (loop))", {.max_steps = 1000}, "step-budget@2:"},
        {"(define-macro (m) '(m))\n(m)", {.max_steps = 1000}, "step-budget@"},
        {"\n(define (f n) (+ 1 (f n))) (f 1)", {.max_depth = 100}, "depth-budget@2:"},
        {"(define (f s) (f (string-append s s))) (f \"aaaaaaaa\")",
         {.max_bytes = 1 << 20},
         "memory-budget@1:"},
        {"(define (f l) (f (cons 1 l))) (f '())", {.max_bytes = 1 << 20}, "memory-budget@1:"},
        {"(define l (list 1 2)) (set-cdr! (cdr l) l)\n"
         "(define-macro (m) (list 'quasiquote l))\n(m)",
         {.max_bytes = 1 << 20},
         "memory-budget@"},
        {"(define (f e n) (if (= n 0) e (f (require-all e e) (- n 1))))"
         "(allow file-read* (f (literal \"/a\") 40))",
         {0},
         "condition-budget@1:"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(program) struct program p;
        struct sbpl_options opt = rows[i].opt;
        opt.os = VOCAB_OS_ANY;
        bool loaded = program_load(&p, rows[i].text, &opt);
        OWN(buf) struct buf out = {0};
        show_findings(&p.unit, DIAG_ERROR, &out);
        ok(!loaded && out.s && strncmp(out.s, rows[i].want, strlen(rows[i].want)) == 0 &&
               !strchr(out.s, ' '),
           "%s: %s", rows[i].want, rows[i].text);
        ok(p.err.code == BK_E_LIMIT && p.err.line && p.err.msg[0], "and the caller learns of it");
    }
}

/* Variadic procedures look at each argument once: with fifty thousand of them, quadratic time would
 * take minutes. */
static void test_wide_calls(void)
{
    static const struct {
        const char *call, *element;
    } rows[] = {
        {"(apply + l)", "1"},
        {"(apply * l)", "1"},
        {"(apply - l)", "1"},
        {"(apply / l)", "1"},
        {"(apply = l)", "1"},
        {"(apply max l)", "1"},
        {"(apply list l)", "1"},
        {"(apply append l)", "'()"},
        {"(apply map list l)", "'()"},
        {"(apply string-append l)", "\"/\""},
        {"(apply literal l)", "\"/\""},
        {"(apply path-ancestors l)", "\"/\""},
        {"(apply char=? l)", "#\\a"},
        {"(apply require-any l)", "(literal \"/\")"},
        {"(apply allow file-read* l)", "(literal \"/\")"},
    };
    clock_t start = clock();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 "(define (make n x l) (if (= n 0) l (make (- n 1) x (cons x l))))"
                 "(define l (make 50000 %s '()))%s 'done",
                 rows[i].element, rows[i].call);
        struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_bytes = (size_t)1 << 30};
        OWN(buf) struct buf out = {0};
        show_value(text, &opt, &out);
        is_str(out.s, "done", "%s", rows[i].call);
    }
    ok((double)(clock() - start) / CLOCKS_PER_SEC < 15, "in a time that grows with their number");
}

/* Looking a name up is charged by the number of environments on the way. */
static void test_deep_scopes(void)
{
    static const struct {
        int depth;
        const char *want;
    } rows[] = {{10, "done"}, {500, "step-budget@1:"}};
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_steps = 1000000};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[400];
        snprintf(
            text, sizeof(text),
            "(define-macro (nest n) (if (= n 0) '(lambda () car) `(let ((x ,n)) (nest ,(- n 1)))))"
            "(define deep (nest %d)) (do ((i 0 (+ i 1))) ((= i 25000) 'done) (deep))",
            rows[i].depth);
        OWN(buf) struct buf out = {0};
        show_value(text, &opt, &out);
        ok(out.s && strncmp(out.s, rows[i].want, strlen(rows[i].want)) == 0, "scopes %d deep: %s",
           rows[i].depth, out.s ? out.s : "");
    }
}

/* Work hidden in one step is charged: these loops take few steps, each with much work. */
static void test_charges(void)
{
    static const char *const setup =
        "(define (dup s n) (if (= n 0) s (dup (string-append s s) (- n 1))))"
        "(define (make n l) (if (= n 0) l (make (- n 1) (cons 1 l))))"
        "(define a (dup \"abcdefgh\" 16)) (define b (string-copy a)) (define l (make 20000 '()))"
        "(define f (eval (list 'lambda '() (cons 'or l)))) (define-macro (pick) (list 'case 5 "
        "(list l 1) '(else 2)))";
    static const char *const hidden[] = {
        "(equal? a b)",
        "(member a (list b))",
        "(assoc (list a) (list (list (list b))))",
        "(list? l)",
        "(length l)",
        "(f)",
        "(string=? a b)",
        "(string-length a)",
        "(defined? a)",
        "(open-input-string a)",
        "(pick)",
        "(list-tail l 20000)",
        "(for-each car (list-tail l 20000))",
    };
    static const char *const cheap = "(car l)";
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_steps = 1000000};
    for (size_t i = 0; i <= sizeof(hidden) / sizeof(*hidden); i++) {
        bool last = i == sizeof(hidden) / sizeof(*hidden);
        char text[2000];
        snprintf(text, sizeof(text), "%s(do ((i 0 (+ i 1))) ((= i 1500) 'done) %s)", setup,
                 last ? cheap : hidden[i]);
        OWN(buf) struct buf out = {0};
        show_value(text, &opt, &out);
        if (last)
            is_str(out.s, "done", "%s, which hides nothing", cheap);
        else
            ok(out.s && strncmp(out.s, "step-budget@", 12) == 0, "%s is charged (%s)", hidden[i],
               out.s ? out.s : "");
    }
}

static void test_tail_calls(void)
{
    static const struct sbpl_row rows[] = {
        {"(define (f n) (if (= n 0) 'done (f (- n 1)))) (f 200000)", "done"},
        {"(let loop ((n 200000)) (cond ((= n 0) 'done) (else (loop (- n 1)))))", "done"},
        {"(define (f n) (and #t (or #f (when #t (begin (if (= n 0) 'done (f (- n 1)))))))) (f "
         "50000)",
         "done"},
        {"(define (f n) (case n ((0) 'done) (else (f (- n 1))))) (f 100000)", "done"},
        {"(define (e? n) (if (= n 0) #t (o? (- n 1)))) (define (o? n) (if (= n 0) #f (e? (- n 1))))"
         "(e? 100000)",
         "#t"},
        {"(define (f n) (if (= n 0) 'done (apply f (list (- n 1))))) (f 50000)", "done"},
        {"(do ((i 0 (+ i 1))) ((= i 100000) 'done))", "done"},
    };
    static const struct sbpl_options shallow = {
        .os = VOCAB_OS_ANY, .max_depth = 50, .max_bytes = (size_t)1 << 30, .max_steps = 1u << 30};
    check_rows(rows, sizeof(rows) / sizeof(*rows), &shallow);
    static const struct sbpl_row million[] = {
        {"(let loop ((n 1000000)) (if (= n 0) 'done (loop (- n 1))))", "done"}};
    check_rows(million, 1, &shallow);
}

/* Every built-in procedure survives every number of arguments of every kind. */
static void test_all_prims(void)
{
    static const char *const names[] = {
#define PRIM(name, min, max, fn) name,
#include "sbpl/prims.def"
#undef PRIM
    };
    static const char *const values[] = {"",
                                         " '()",
                                         " #f",
                                         " 'a",
                                         " \"s\"",
                                         " -1",
                                         " 1.5",
                                         " #\\a",
                                         " '(1 2)",
                                         " '(1 . 2)",
                                         " car",
                                         " (lambda (x) x)",
                                         " file-read*",
                                         " subpath",
                                         " (subpath \"/\")",
                                         " (with report)",
                                         " (open-input-string \"x\")",
                                         " if",
                                         " report"};
    size_t n = sizeof(values) / sizeof(*values), ended = 0, tried = 0;
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_steps = 10000, .max_bytes = 1 << 20};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (size_t k = 0; k < n * n; k++) {
            char text[200];
            snprintf(text, sizeof(text), "(%s%s%s)", names[i], values[k / n], values[k % n]);
            struct buf out = {0};
            show_value(text, &opt, &out);
            ended += out.n > 0;
            tried++;
            buf_free(&out);
        }
    is_int((intmax_t)ended, (intmax_t)tried, "each call gives a value or an error");
}

/* What all machines share must never be written to. */
static void test_shared_values(void)
{
    ok(val_nil.type == V_NIL && !val_nil.car && !val_nil.cdr && !val_nil.pos, "() is untouched");
    ok(val_true.type == V_BOOL && val_true.num == 1 && val_false.type == V_BOOL && !val_false.num,
       "so are #t and #f");
    ok(val_void.type == V_VOID && !val_void.car && val_eof.type == V_EOF && !val_eof.car,
       "and the others");
}

static void test_printing(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct val *ring = val_cons(&a, &val_true, &val_nil, 0);
    ring->cdr = ring;
    OWN(buf) struct buf out = {0}, deep = {0}, text = {0};
    val_print(ring, 10, &out);
    is_str(out.s, "(#t #t #t …", "a ring is shown up to the limit");
    struct val *nest = &val_nil;
    for (int i = 0; i < 1000; i++)
        nest = val_cons(&a, nest, &val_nil, 0);
    val_print(nest, 10000, &deep);
    ok(deep.n < 100, "so is what nests too deeply");
    val_print(val_string(&a, "abcdefghij", 10), 4, &text);
    is_str(text.s, "\"abcd\"…", "and a long string");
    arena_free(&a);
}

int main(void)
{
    test_forms();
    test_nested_quasiquote();
    test_scope();
    test_macros();
    test_numbers();
    test_lists();
    test_strings();
    test_names();
    test_malformed();
    test_hostile_data();
    test_budgets();
    test_deep_scopes();
    test_charges();
    test_wide_calls();
    test_tail_calls();
    test_all_prims();
    test_shared_values();
    test_printing();
    return done_testing();
}
