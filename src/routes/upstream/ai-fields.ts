import { authorizationOf } from "../../features/ai/ai-handler.ts";
import { Template } from "../../proto/template/template.ts";
import type { OwnFields } from "../header-operations.ts";

/** The client's Authorization is not for the targets: the key of the model is there in its place. */
export function modelFields(models: readonly { readonly key: string }[]): OwnFields {
  const gone = ["authorization"];
  if (models.every((model) => model.key === "")) return { gone, added: [] };
  const key = new Template(["", ""], [{ name: "ai", read: authorizationOf, form: "word", isInQuery: false }]);
  return { gone, added: [{ name: "Authorization", value: key }] };
}
