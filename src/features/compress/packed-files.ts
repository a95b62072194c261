/** Bytes of all compressed forms of files that a worker keeps. docs/compression.md#files */
const MAX_KEPT_PACKED_BYTES = 32 * 1024 * 1024;

/**
 * The compressed forms of larger files, so that each is made once a worker and not for each request: by what the file is and
 * the way it is packed, forms that no request has had for the longest leave first. docs/compression.md#files
 */
export class PackedFiles {
  private readonly maxBytes: number;
  /** The one asked for last is the last. */
  private readonly forms: Map<string, Uint8Array> = new Map();
  private bytes = 0;

  constructor(maxBytes: number = MAX_KEPT_PACKED_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** Null if there is none. */
  find(key: string): Uint8Array | null {
    const form = this.forms.get(key);
    if (form === undefined) return null;
    this.forms.delete(key);
    this.forms.set(key, form);
    return form;
  }

  put(key: string, form: Uint8Array): void {
    this.remove(key);
    this.forms.set(key, form);
    this.bytes += form.length;
    for (const oldest of this.forms.keys()) {
      if (this.bytes <= this.maxBytes) return;
      this.remove(oldest);
    }
  }

  private remove(key: string): void {
    const form = this.forms.get(key);
    if (form === undefined) return;
    this.forms.delete(key);
    this.bytes -= form.length;
  }
}
