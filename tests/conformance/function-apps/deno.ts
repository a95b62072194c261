// `deno serve` takes the same: a default export with fetch.
export default {
  fetch(request: Request): Response {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`${request.method} `));
        controller.enqueue(new TextEncoder().encode(new URL(request.url).pathname));
        controller.close();
      },
    });
    return new Response(stream, { headers: { "Content-Type": "text/plain" } });
  },
};
