import type { FunctionModule } from "edge";

/** Adds a notice to the pages of an application that cannot be changed, loads images late, and keeps other sites from reaching back. */
const NOTICE = "Closed on Monday";

export default {
  async fetch(request, ctx) {
    const response = await ctx.upstream();
    if (!/^text\/html\b/i.test(response.headers.get("Content-Type") ?? "")) return response;
    const own = new URL(request.url).host;
    const rewriter = new HTMLRewriter()
      // html: true is for what is written here alone: without it, text is escaped.
      .on("body", { element: (body) => void body.prepend(`<p role="note">${NOTICE}</p>`, { html: true }) })
      .on("img:not([loading])", { element: (image) => void image.setAttribute("loading", "lazy") })
      .on("a[href]", {
        element(link) {
          const url = URL.parse(link.getAttribute("href") ?? "", request.url);
          if (url !== null && url.host !== own) link.setAttribute("rel", "noopener noreferrer");
        },
      });
    const rewritten = rewriter.transform(response);
    // Length and validators are those of the page before.
    for (const name of ["Content-Length", "ETag", "Content-MD5", "Accept-Ranges"]) rewritten.headers.delete(name);
    return rewritten;
  },
} satisfies FunctionModule;
