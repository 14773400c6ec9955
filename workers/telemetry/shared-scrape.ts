import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/**
 * What `/metrics` answers, computed once for all who ask at a time. Who asks soon after gets the same, for as long as it took to compute: whoever
 * asks without end takes half of a processor at most. It is kept compressed, a twentieth of its size, so that a client that reads slowly holds little.
 */
export class SharedScrape {
  readonly #metrics: () => AsyncIterable<string>
  readonly #now: () => number
  #scrape: Promise<Buffer> | undefined
  #isFreshUntilMs = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a clock that is not set. */
  constructor(metrics: () => AsyncIterable<string>, now: () => number) {
    this.#metrics = metrics
    this.#now = now
  }

  /** The text of all metrics, by gzip. Errors: those of the metrics; whoever asks next starts again. */
  gzipped(): Promise<Buffer> {
    const begunAtMs = this.#now()
    if (this.#scrape === undefined || begunAtMs > this.#isFreshUntilMs) {
      this.#isFreshUntilMs = Number.POSITIVE_INFINITY
      const scrape = compressed(this.#metrics()).finally(() => {
        this.#isFreshUntilMs = 2 * this.#now() - begunAtMs
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
