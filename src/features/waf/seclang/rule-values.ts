/** One value of a variable, one character a byte. */
export interface RuleValue {
  /** As it is written: of a parameter, field or cookie; "" if the variable is one text. */
  readonly name: string;
  readonly value: string;
}

/** What an application finds in a body, as rules see it. */
export interface BodyFacts {
  readonly processor: string;
  /** Why the body could not be taken apart; "" if it could. */
  readonly error: string;
  readonly args: readonly RuleValue[];
  /** Names of fields with names of files. */
  readonly files: readonly RuleValue[];
  readonly fileSizes: readonly RuleValue[];
  /** Texts and attributes of XML. */
  readonly texts: readonly RuleValue[];
  readonly attributes: readonly RuleValue[];
  /** Whether there was more than rules look at. */
  readonly isCut: boolean;
  readonly raw: string;
}

/** Takes values up to a number of them. */
export class ValueList {
  readonly list: RuleValue[] = [];
  isFull = false;
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  add(name: string, value: string): void {
    if (this.list.length < this.most) this.list.push({ name, value });
    else this.isFull = true;
  }
}
