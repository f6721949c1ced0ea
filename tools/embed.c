/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Prints files as a C table: embed HEADER TABLE FILE… > table.c. A row has the file's name, its
 * text and its length. Runs at build time. */

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
    if (argc < 3)
        return 1;
    printf("#include \"%s\"\n\nconst struct %.*s %s[] = {\n", argv[1], (int)strlen(argv[2]) - 1,
           argv[2], argv[2]); /* the struct is the table without its s */
    for (int i = 3; i < argc; i++)
        if (embed(argv[i]) < 0)
            return 1;
    printf("    {NULL, NULL, 0},\n};\n");
    return 0;
}
