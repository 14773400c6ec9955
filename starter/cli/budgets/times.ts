/** Writes times for people: in UTC, and in a time zone where that says something else. */
export class Times {
  /** Name of the zone, such as `Europe/Berlin`. */
  readonly zone: string
  readonly #utc: Intl.DateTimeFormat
  readonly #local: Intl.DateTimeFormat

  constructor(zone: string) {
    this.zone = zone
    this.#utc = formatOf('UTC')
    this.#local = formatOf(zone)
  }

  /** `Mon 23 Nov 09:00`. */
  utc(ms: number): string {
    return textOf(this.#utc, ms)
  }

  local(ms: number): string {
    return textOf(this.#local, ms)
  }

  /** Whether the zone's clocks show something else than UTC at one of these times. */
  differs(times: readonly number[]): boolean {
    return times.some((ms) => this.utc(ms) !== this.local(ms))
  }

  /** `Mon 23 Nov 09:00 UTC [Mon 23 Nov 10:00 Europe/Berlin]`. */
  both(ms: number): string {
    return `${this.utc(ms)} UTC${this.differs([ms]) ? ` [${this.local(ms)} ${this.zone}]` : ''}`
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    day: '2-digit',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}

function textOf(format: Intl.DateTimeFormat, ms: number): string {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const day = [parts.get('weekday'), parts.get('day'), parts.get('month')?.slice(0, 3)].join(' ')
  return `${day} ${parts.get('hour')}:${parts.get('minute')}`
}
