/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_LOGIN_H
#define BK_WINDOW_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

struct evhttp_request;

/*
 * Who may use the page. A browser shows the one-use code once and gets a cookie. The cookie is only
 * for the page's own folder, which has a random name: browsers send cookies of 127.0.0.1 to every
 * port, also to a server that a sandboxed command runs there.
 */
enum { LOGIN_SECRET = 33 }; /* 128 bits as hexadecimal digits, and a NUL */

struct login {
    char folder[LOGIN_SECRET], code[LOGIN_SECRET], cookie[LOGIN_SECRET];
    char host[32], origin[48];
    bool used; /* the code */
};

int login_init(struct login *g, uint16_t port);
/* NULL, or why the request is refused whatever it asks for: peer, Host, Origin. */
const char *login_refuses(const struct login *g, struct evhttp_request *r);
/* Whether it has the cookie. */
bool login_knows(const struct login *g, struct evhttp_request *r);
/* Whether this is the code, and its first use. */
bool login_takes_code(struct login *g, const char *code);
/* The fields that every answer has. */
void login_fields(struct evhttp_request *r);

#endif
