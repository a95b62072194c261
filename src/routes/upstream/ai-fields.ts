import { keyIn } from "../../features/ai/ai-handler.ts";
import type { Exchange } from "../../message/exchange.ts";
import { Template } from "../../proto/template/template.ts";
import type { OwnFields } from "../header-operations.ts";

/** Fields that hold keys, or name the organization that pays: a client's own do not go to the targets. */
const CREDENTIALS = [
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "openai-organization",
  "openai-project",
];

/** The client's credentials are not for the targets: the key of the model is there in their place. */
export function modelFields(models: readonly { readonly key: string; readonly keyHeader: string }[]): OwnFields {
  const withKey = models.filter(({ key }) => key !== "");
  const names = new Map(withKey.map(({ keyHeader }) => [keyHeader.toLowerCase(), keyHeader]));
  const added = [...names].map(([lower, name]) => {
    const part = { name: "ai", read: (ex: Exchange) => keyIn(lower, ex), form: "word", isInQuery: false } as const;
    return { name, value: new Template(["", ""], [part]) };
  });
  return { gone: [...new Set([...CREDENTIALS, ...names.keys()])], added };
}
