// H3 2, whose application has fetch.
import { H3 } from "h3";

const app = new H3();

app.get("/app/", () => "hello");
app.get("/app/api/items/:id", (event) => ({
  id: event.context.params?.id,
  q: new URL(event.req.url).searchParams.get("q"),
}));
app.post("/app/api/items", async (event) => {
  event.res.status = 201;
  return { got: await event.req.json() };
});
app.get("/app/boom", () => {
  throw new Error("boom");
});

export default app;
