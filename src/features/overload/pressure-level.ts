/** The highest level: everything is shed that ever is. */
const MAX_LEVEL = 3;
/** Below this share of a threshold there is calm. */
const CALM = 0.8;
/** Steps of a tenth of a second: up, down in calm, and down just below the threshold. */
export const UP = 0.25;
const DOWN = 0.25;
const DOWN_SLOWLY = 0.05;

/**
 * How much is shed for one shortage, from 0 (nothing) to MAX_LEVEL: it rises while a value is above its threshold, and falls to 0 within two
 * seconds of calm. It falls slowly while the value would not be calm without shedding, so that it does not swing. docs/pressure.md#shedding
 */
export class PressureLevel {
  value = 0;

  /** Takes the value of the last tenth of a second, as a share of its threshold. @param unshed the share without shedding */
  note(share: number, unshed: number = share): void {
    const step = share > 1 ? UP : unshed < CALM ? -DOWN : -DOWN_SLOWLY;
    // Without the errors of sums of fractions.
    this.value = Math.round(Math.min(MAX_LEVEL, Math.max(0, this.value + step)) * 1000) / 1000;
  }
}
