// A server as Bun takes it from a default export: the port has no meaning here.
export default {
  port: 3000,
  async fetch(request: Request): Promise<Response> {
    const form = request.method === "POST" ? await request.formData() : new FormData();
    return Response.json({ fields: [...form.keys()], hash: Bun.hash.crc32("x") });
  },
};
