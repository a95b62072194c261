// An application as Hono's own guide has it for Workers, unchanged: routes, parameters, middleware, variables, streams.
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { streamSSE } from "hono/streaming";

const app = new Hono<{ Bindings: { GREETING: string } }>({ strict: false }).basePath("/app");

app.use("/api/*", cors({ origin: "https://shop.example.com" }));
app.use("/admin/*", basicAuth({ username: "admin", password: "secret" }));
app.get("/", (c) => c.text(c.env.GREETING));
app.get("/api/items/:id", (c) => c.json({ id: c.req.param("id"), q: c.req.query("q") ?? null }));
app.post("/api/items", async (c) => c.json({ got: await c.req.json() }, 201));
app.post("/upload", async (c) => {
  const body = await c.req.parseBody();
  const file = body.file as File;
  return c.json({ name: file.name, size: file.size, text: await file.text() });
});
app.get("/admin/page", (c) => c.text("in"));
app.get("/later", (c) => {
  c.executionCtx.waitUntil(Promise.resolve());
  return c.text("later");
});
app.get("/events", (c) =>
  streamSSE(c, async (stream) => {
    for (const n of [1, 2, 3]) await stream.writeSSE({ data: String(n), id: String(n) });
  }),
);
app.get("/boom", () => {
  throw new Error("boom");
});
app.onError((error, c) =>
  error instanceof HTTPException ? error.getResponse() : c.text(`caught ${error.message}`, 500),
);
app.notFound((c) => c.text("hono has no such page", 404));

export default app;
