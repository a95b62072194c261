export default { fetch: () => new Response("hello\n") };
