/** Writes times as `2026-01-31T12:00:00.123Z`, the part before the milliseconds once a second. */
export class IsoTime {
  private second = Number.NaN;
  private prefix = "";

  /** @param ms milliseconds since the epoch */
  text(ms: number): string {
    const whole = Math.floor(ms);
    const second = Math.floor(whole / 1000);
    if (second !== this.second) {
      this.second = second;
      this.prefix = new Date(second * 1000).toISOString().slice(0, 20);
    }
    const rest = whole - second * 1000;
    return `${this.prefix}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
  }
}
