// AutoRouter as its documentation has it for Workers: the router itself is the default export.
import { AutoRouter, type IRequest, withParams } from "itty-router";

const router = AutoRouter({ base: "/app" });

router
  .all("*", withParams)
  .get("/", (_: IRequest, env: { readonly GREETING: string }) => new Response(env.GREETING))
  .get("/api/items/:id", ({ id, query }: IRequest) => ({ id, q: query.q ?? null }))
  .post("/api/items", async (request: IRequest) => Response.json({ got: await request.json() }, { status: 201 }))
  .get("/boom", () => {
    throw new Error("boom");
  });

export default router;
