import { isKeptIn304, PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { CODING_COUNT, Coding } from "../../proto/semantics/accept-encoding.ts";
import { type Codecs, wholeBytes } from "./codecs.ts";
import { Compressible, compressedFields, judgeFixed, varying } from "./compressible.ts";
import type { CompressionPolicy } from "./compression-policy.ts";
import type { FixedForm } from "./compression-services.ts";

/**
 * Prebuilt responses, small files above all, in each coding: compressed when they are first asked for, and kept as long as
 * the response itself is.
 */
export class FixedForms {
  private readonly forms: WeakMap<PrebuiltResponse, (FixedForm | undefined)[]> = new WeakMap();
  private readonly policy: CompressionPolicy;
  private readonly codecs: Codecs;

  constructor(policy: CompressionPolicy, codecs: Codecs) {
    this.policy = policy;
    this.codecs = codecs;
  }

  /** The response in a coding; the same one if nothing is to be done. */
  of(reply: PrebuiltResponse, coding: Coding): FixedForm {
    let forms = this.forms.get(reply);
    if (forms === undefined) {
      forms = new Array(CODING_COUNT).fill(undefined);
      this.forms.set(reply, forms);
    }
    forms[coding] ??= this.make(reply, coding);
    return forms[coding];
  }

  private make(reply: PrebuiltResponse, coding: Coding): FixedForm {
    if (reply.whole !== null) return { response: this.unchangedForm(reply, reply.whole, coding), isCompressed: false };
    const { policy } = this;
    const { fields, body } = reply;
    const judged = judgeFixed(reply, policy);
    if (judged === Compressible.No) return { response: reply, isCompressed: false };
    const isPlain =
      coding === Coding.Identity || judged === Compressible.Varies || body.length > wholeBytes(coding, policy);
    if (isPlain) return { response: reply.with(varying(fields)), isCompressed: false };
    const packed = this.codecs.whole(coding, policy.levels[coding]!, body);
    return { response: reply.with(compressedFields(fields, coding), packed), isCompressed: true };
  }

  /** A 304 says of tag and Vary what the form of its response would say. */
  private unchangedForm(reply: PrebuiltResponse, whole: PrebuiltResponse, coding: Coding): PrebuiltResponse {
    const form = this.of(whole, coding).response;
    if (form === whole) return reply;
    const own = reply.fields.filter(([name]) => !isKeptIn304(name));
    return new PrebuiltResponse(304, [...own, ...form.fields.filter(([name]) => isKeptIn304(name))], "");
  }
}
