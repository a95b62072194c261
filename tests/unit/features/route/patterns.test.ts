import { describe, expect, test } from "bun:test";
import type { PathPattern } from "../../../../src/core/path-pattern.ts";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import type { Router } from "../../../../src/features/route/router.ts";
import { RouteKind } from "../../../../src/message/route.ts";
import { colonPattern, templatePattern } from "../../../../src/proto/grpc/path-template.ts";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { routeInit } from "./route-inits.ts";

/** Routes such as `GET /v1/:id`; with braces they are templates. */
function routerOf(...routes: string[]): Router {
  return buildRouter(
    routes.map((text) => {
      const [method, path] = text.split(" ") as [string, string];
      const pattern = (path.includes("{") ? templatePattern(path) : colonPattern(path)) as PathPattern;
      const init = routeInit({ kind: "upstream", label: text, path, exact: true, methods: [method] });
      return { ...init, kind: RouteKind.Transcoded, pattern };
    }),
  );
}

function find(router: Router, method: string, target: string): string | null {
  const head = headOfTarget(target, method);
  return (router.findExact(head) ?? router.findPattern(target, head))?.label ?? null;
}

describe("path patterns", () => {
  test("a parameter takes one segment that is not empty", () => {
    const router = routerOf("GET /v1/users/:id");
    expect(find(router, "GET", "/v1/users/42")).toBe("GET /v1/users/:id");
    expect(find(router, "HEAD", "/v1/users/42")).toBe("GET /v1/users/:id");
    expect(find(router, "GET", "/v1/users/a%2Fb")).toBe("GET /v1/users/:id");
    for (const target of ["/v1/users", "/v1/users/", "/v1/users/42/", "/v1/users/42/x", "/v1", "/", "/v2/users/42"]) {
      expect([target, find(router, "GET", target)]).toEqual([target, null]);
    }
  });

  test("routes that share a beginning do not hide each other", () => {
    const router = routerOf(
      "GET /v1/users/me",
      "GET /v1/users/:id",
      "GET /v1/users/:id/books",
      "GET /v1/users/:id/books/:book",
      "POST /v1/:kind/list",
      "GET /v1/:kind/:id/authors",
    );
    expect(find(router, "GET", "/v1/users/me")).toBe("GET /v1/users/me");
    expect(find(router, "GET", "/v1/users/you")).toBe("GET /v1/users/:id");
    expect(find(router, "GET", "/v1/users/me/books")).toBe("GET /v1/users/:id/books");
    expect(find(router, "GET", "/v1/users/me/books/1")).toBe("GET /v1/users/:id/books/:book");
    expect(find(router, "GET", "/v1/users/list")).toBe("GET /v1/users/:id");
    expect(find(router, "POST", "/v1/users/list")).toBe("POST /v1/:kind/list");
    expect(find(router, "GET", "/v1/users/1/authors")).toBe("GET /v1/:kind/:id/authors");
  });

  test("verbs with colons, the longest first", () => {
    const router = routerOf("POST /v1/{id}:do", "POST /v1/{id}:do:it", "POST /v1/{id}");
    expect(find(router, "POST", "/v1/7:do")).toBe("POST /v1/{id}:do");
    expect(find(router, "POST", "/v1/7:do:it")).toBe("POST /v1/{id}:do:it");
    expect(find(router, "POST", "/v1/a:b:do")).toBe("POST /v1/{id}:do");
    expect(find(router, "POST", "/v1/a:b")).toBe("POST /v1/{id}");
    expect(find(router, "POST", `/v1/${":".repeat(4000)}`)).toBe("POST /v1/{id}");
  });

  test("a wrong method is told apart from a path of no route", () => {
    const router = routerOf("GET /v1/users/:id", "DELETE /v1/users/:id", "POST /v1/:kind/list");
    const head = headOfTarget("/v1/users/list", "PUT");
    expect(router.findExact(head)).toBeNull();
    expect(router.findPattern("/v1/users/list", head)).toBeNull();
    expect(router.refused?.isTranscoded(head)).toBe(true);
    expect(router.ownAllowOf("/v1/users/list", head, "/v1/users/list")).toBe("GET, HEAD, POST, DELETE");
    expect(router.ownAllowOf("/v1/users/1", head, "/v1/users/1")).toBe("GET, HEAD, DELETE");
    expect(router.ownAllowOf("/v1/users/1", head, null)).toBe("");
    const other = headOfTarget("/v1/users/1/2", "PUT");
    expect(router.findExact(other)).toBeNull();
    expect(router.findPattern("/v1/users/1/2", other)).toBeNull();
    expect(router.refused).toBeNull();
  });

  test("templates: the rest of a path, several segments, verbs", () => {
    const router = routerOf(
      "GET /v1/{name=shelves/*/books/*}",
      "POST /v1/{name=shelves/*/books/*}:lend",
      "GET /files/{path=**}",
      "GET /files/{path}",
      "POST /v1/{id}:undo",
    );
    expect(find(router, "GET", "/v1/shelves/1/books/2")).toBe("GET /v1/{name=shelves/*/books/*}");
    expect(find(router, "POST", "/v1/shelves/1/books/2:lend")).toBe("POST /v1/{name=shelves/*/books/*}:lend");
    expect(find(router, "POST", "/v1/shelves/1/books/2:keep")).toBeNull();
    expect(find(router, "POST", "/v1/7:undo")).toBe("POST /v1/{id}:undo");
    expect(find(router, "GET", "/files/a")).toBe("GET /files/{path}");
    expect(find(router, "GET", "/files/a/b/c")).toBe("GET /files/{path=**}");
    expect(find(router, "GET", "/files/a:b")).toBe("GET /files/{path}");
  });

  test("literals are compared decoded", () => {
    const router = routerOf("GET /v1/users/:id");
    expect(find(router, "GET", "/v1/us%65rs/42")).toBe("GET /v1/users/:id");
    expect(find(router, "GET", "/v1%2Fusers/42")).toBeNull();
  });

  test("many routes and hostile paths are found in a moment", () => {
    const router = routerOf(...Array.from({ length: 300 }, (_, i) => `GET /a/:x/b${i}/:y/c/:z`));
    const path = `/${"a/".repeat(4000)}`;
    for (let i = 0; i < 200; i++) expect(find(router, "GET", path)).toBeNull();
    expect(find(router, "GET", "/a/1/b299/2/c/3")).toBe("GET /a/:x/b299/:y/c/:z");
  });
});
