import type { Method, RequestHead } from "../../message/request-head.ts";
import { ANY_METHOD, type RegexLookup, type RegexPlace } from "./router.ts";

/** The routes by expressions of one host, one after another in the order of the file. docs/routing.md#routes-by-expressions */
export class RegexRoutes implements RegexLookup {
  private readonly places: RegexPlace[] = [];

  add(place: RegexPlace): void {
    this.places.push(place);
  }

  find(path: string, head: RequestHead, method: number, regex = ""): RegexPlace | null {
    for (const place of this.places) {
      if (regex !== "" && place.regex !== regex) continue;
      if (method !== ANY_METHOD && place.route.allowedMethods[method] !== 1) continue;
      const asked = method === ANY_METHOD ? head.method : (method as Method);
      if (place.route.init.match?.fits(head, asked, path) !== false) return place;
    }
    return null;
  }
}
