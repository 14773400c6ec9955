import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** Who asks sooner than this after a scrape gets that one. */
const freshMs = 1000

/**
 * What `/metrics` answers, computed once for all who ask at a time. It is kept compressed, a twentieth of its size, so that a client that reads slowly
 * holds little memory.
 */
export class SharedScrape {
  readonly #metrics: () => AsyncIterable<string>
  readonly #now: () => number
  #scrape: Promise<Buffer> | undefined
  #endedAtMs = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a clock that is not set. */
  constructor(metrics: () => AsyncIterable<string>, now: () => number) {
    this.#metrics = metrics
    this.#now = now
  }

  /** The text of all metrics, by gzip. Errors: those of the metrics; whoever asks next begins anew. */
  gzipped(): Promise<Buffer> {
    if (this.#scrape === undefined || this.#now() - this.#endedAtMs > freshMs) {
      this.#endedAtMs = Number.POSITIVE_INFINITY
      const scrape = compressed(this.#metrics()).finally(() => {
        this.#endedAtMs = this.#now()
      })
      scrape.catch(() => {
        if (this.#scrape === scrape) this.#scrape = undefined
      })
      this.#scrape = scrape
    }
    return this.#scrape
  }
}

async function compressed(text: AsyncIterable<string>): Promise<Buffer> {
  // Hundreds of thousands of series are alike: little of the time and most of the size goes.
  const gzip = createGzip({ level: 1 })
  const [, bytes] = await Promise.all([pipeline(Readable.from(text, { objectMode: false }), gzip), buffer(gzip)])
  return bytes
}
