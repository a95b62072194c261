import { authorizationOf } from "../../features/ai/ai-handler.ts";
import { Template } from "../../proto/template/template.ts";
import type { OwnFields } from "../header-operations.ts";

/** The client's Authorization is not for the targets: the key of the model is there in its place. */
export function modelFields(): OwnFields {
  const key = new Template(["", ""], [{ name: "ai", read: authorizationOf, form: "word", isInQuery: false }]);
  return { gone: ["authorization"], added: [{ name: "Authorization", value: key }] };
}
