import { signal } from '@preact/signals'

/** The time, for ages: coarse, so that little is drawn again. */
export const now = signal(Date.now())

export function startClock(): void {
  setInterval(() => {
    now.value = Date.now()
  }, 10_000)
}
