/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Prints the shipped profiles as a C table: embed FILE… > builtins.c. Runs at build time. */

#include <stdio.h>
#include <string.h>

static int embed(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return -1;
    }
    const char *slash = strrchr(path, '/');
    printf("    {\"%s\",\n     \"", slash ? slash + 1 : path);
    size_t len = 0;
    for (int c; (c = getc(f)) != EOF; len++) {
        if (c == '\n')
            printf("\\n\"\n     \"");
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c >= ' ' && c < 0x7f && c != '?') /* no trigraphs */
            putchar(c);
        else
            printf("\\%03o", (unsigned)c);
    }
    fclose(f);
    printf("\",\n     %zu},\n", len);
    return 0;
}

int main(int argc, char **argv)
{
    printf("#include \"sbpl/sbpl.h\"\n\nconst struct sbpl_builtin sbpl_builtins[] = {\n");
    for (int i = 1; i < argc; i++)
        if (embed(argv[i]) < 0)
            return 1;
    printf("    {NULL, NULL, 0},\n};\n");
    return 0;
}
