import { type BodyEditor, EditingSink } from "../../message/editing-sink.ts";
import type { Exchange, ResponseSink } from "../../message/exchange.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { editedFields, editorFor, isEditedFixed } from "../../proto/semantics/edited-response.ts";
import { MediaTypes } from "../../proto/semantics/media-types.ts";
import { BodyReplacer, TextRules } from "./body-replacer.ts";
import type { BodyRewriteConfig } from "./body-settings.ts";

/** `rewrite_body` of a route: other texts in the bodies of its responses. docs/body-rewriting.md @returns what prepares a request for it */
export function bodyRewrite(config: BodyRewriteConfig): (ex: Exchange) => void {
  const policy = new BodyPolicy(config);
  return (ex) => {
    ex.sink = new BodyRewriteSink(ex.sink, policy);
  };
}

/** Shared by the responses of one route. */
class BodyPolicy {
  readonly types: MediaTypes;
  readonly rules: TextRules;
  private readonly forms: WeakMap<PrebuiltResponse, PrebuiltResponse> = new WeakMap();

  constructor(config: BodyRewriteConfig) {
    this.types = new MediaTypes(config.types);
    this.rules = new TextRules(config);
  }

  /** A prebuilt response, small files above all, as it becomes; kept as long as the response itself is. */
  formOf(response: PrebuiltResponse): PrebuiltResponse {
    let form = this.forms.get(response);
    if (form === undefined) {
      form = isEditedFixed(response, this.types)
        ? response.with(editedFields(response.fields), this.rules.apply(response.body))
        : response;
      this.forms.set(response, form);
    }
    return form;
  }
}

class BodyRewriteSink extends EditingSink {
  private readonly policy: BodyPolicy;

  constructor(inner: ResponseSink, policy: BodyPolicy) {
    super(inner);
    this.policy = policy;
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.inner.fixed(ex, this.policy.formOf(response));
  }

  protected override editorOf(ex: Exchange): BodyEditor | PrebuiltResponse | null {
    return editorFor(ex, this.policy.types, () => new BodyReplacer(this.policy.rules));
  }
}
