// A module as the documentation of Cloudflare Workers has it: variables and secrets in env, work after the response by ctx.
interface Env {
  readonly GREETING: string;
}

interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    ctx.passThroughOnException();
    const url = new URL(request.url);
    if (url.pathname === "/app/") {
      ctx.waitUntil(Promise.resolve("counted"));
      return new Response(env.GREETING, { headers: { "X-Host": url.host, "X-Method": request.method } });
    }
    if (url.pathname === "/app/echo" && request.method === "POST") return new Response(request.body, request);
    if (url.pathname === "/app/rewrite") {
      return new HTMLRewriter()
        .on("h1", { element: (title) => void title.setInnerContent(env.GREETING) })
        .transform(new Response("<h1>x</h1>", { headers: { "Content-Type": "text/html" } }));
    }
    if (url.pathname === "/app/cookies") {
      const headers = new Headers();
      headers.append("Set-Cookie", "a=1");
      headers.append("Set-Cookie", "b=2");
      return new Response(null, { status: 204, headers });
    }
    if (url.pathname === "/app/redirect") return Response.redirect("https://example.com/", 302);
    return new Response("not found", { status: 404 });
  },
};
