// Hooks that do what the last segment of the path names.
interface Context {
  readonly requestId: string;
}

export default {
  onRequest(request: Request, _ctx: Context): unknown {
    switch (new URL(request.url).pathname.split("/").at(-1)) {
      case "deny":
        return new Response("denied", { status: 403, headers: { "X-By": "hook" } });
      case "move":
        return new Request(new URL("/h/moved?by=hook", request.url).href, request);
      case "escape":
        return new Request(new URL("/h/%252e%252e/secret", request.url).href, request);
      case "set":
        request.headers.set("X-Set", "in place");
        request.headers.delete("X-Gone");
        return;
      case "smuggle": {
        const changed = new Request(request);
        for (const [name, value] of [
          ["Host", "evil.test"],
          ["Content-Length", "5"],
          ["Transfer-Encoding", "chunked"],
          ["Connection", "x-mine"],
          ["X-Forwarded-For", "6.6.6.6"],
          ["X-Mine", "1"],
        ] as const)
          changed.headers.set(name, value);
        return changed;
      }
      case "method":
        return new Request(request.url, { method: "DELETE", headers: request.headers });
      case "get":
        return new Request(request.url, { headers: request.headers });
      case "head":
        return new Request(request.url, { method: "HEAD" });
      case "throw":
        throw new Error("secret: onRequest");
      case "never":
        return new Promise(() => {});
      case "nonsense":
        return 42;
      default:
        return;
    }
  },
  onResponse(response: Response, ctx: Context): unknown {
    switch (response.headers.get("x-do")) {
      case "replace":
        return new Response("replaced", { status: 201 });
      case "none":
        return new Response(null, { status: 204 });
      case "throw":
        throw new Error("secret: onResponse");
      case "stream": {
        let n = 0;
        const pull = (controller: ReadableStreamDefaultController) =>
          n++ === 20 ? controller.close() : controller.enqueue(new Uint8Array(50_000).fill(66));
        return new Response(new ReadableStream({ pull }));
      }
      default:
        response.headers.set("X-Hooked", ctx.requestId);
        return;
    }
  },
};
