// The application that is called: it says who its sidecar says has called.
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.APP_PORT),
  fetch: ({ headers }) => {
    const caller = /URI=([^;]+)/.exec(headers.get("x-forwarded-client-cert") ?? "")?.[1] ?? "unknown";
    return new Response(`Hello, ${caller}\n`);
  },
});
