import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import { SimulatedProcess } from '../simulated-process.ts'
import { randomNumbers } from '../virtual-clock.ts'

type Random = () => number

type Done = (error: Error | null, result?: Buffer) => void

/** What a thread of Node's pool does takes a time that is not virtual, so it is done at once. */
function atOnce<O>(work: (bytes: Buffer, options?: O) => Buffer) {
  return (bytes: Buffer, ...rest: readonly [Done] | readonly [O, Done]) => {
    const [options, done] = rest.length === 1 ? [undefined, rest[0]] : rest
    try {
      done(null, work(bytes, options))
    } catch (error) {
      done(error as Error)
    }
  }
}

/**
 * Replaces this process's sources of random numbers with ones that follow from a seed, until it is disposed of. Each simulated process draws from a
 * source of its own, so that what one of them does changes nothing for another.
 */
export class SeededRandom implements Disposable {
  readonly #seed: number
  readonly #sources = new WeakMap<SimulatedProcess, Random>()
  readonly #outside: Random
  readonly #restore: (() => void)[] = []
  #processes = 0

  constructor(seed: number) {
    this.#seed = seed
    this.#outside = randomNumbers(seed)
    const random = () => this.#source()()
    const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)))
    const integer = (first: number, second?: number) => {
      const [low, high] = second === undefined ? [0, first] : [first, second]
      return low + Math.floor(random() * (high - low))
    }
    const uuid = () => {
      const hex = bytes(16).toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    }
    this.#replace(Math, 'random', random)
    this.#replace(globalThis.crypto, 'randomUUID', uuid)
    this.#replace(crypto, 'randomBytes', bytes)
    this.#replace(crypto, 'randomInt', integer)
    this.#replace(crypto, 'randomUUID', uuid)
    this.#replace(zlib, 'gzip', atOnce(zlib.gzipSync))
    this.#replace(zlib, 'gunzip', atOnce(zlib.gunzipSync))
    syncBuiltinESMExports()
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore.splice(0)) restore()
    syncBuiltinESMExports()
  }

  #source(): Random {
    const process = SimulatedProcess.current
    if (process === undefined) return this.#outside
    const known = this.#sources.get(process)
    if (known !== undefined) return known
    this.#processes += 1
    const source = randomNumbers(this.#seed * 1000 + this.#processes)
    this.#sources.set(process, source)
    return source
  }

  #replace(object: object, name: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(object, name)
    this.#restore.push(() => {
      if (before === undefined) Reflect.deleteProperty(object, name)
      else Object.defineProperty(object, name, before)
    })
    Object.defineProperty(object, name, { value, configurable: true, writable: true })
  }
}
