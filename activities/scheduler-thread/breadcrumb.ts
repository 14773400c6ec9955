/** Bytes for an id: a kind, a namespace and a name. */
const mostBytes = 512
const idBegins = 8

/** Work of a thread on an object: `reading` enters it into the thread's index, `planning` finds places. */
export type Doing = 'reading' | 'planning'

/** The object that a thread was working on. */
export interface InHand {
  readonly doing: Doing
  /** As `quarantineId` makes it. */
  readonly id: string
}

/** The object that a thread is working on, in shared memory: it stays readable after the thread was ended or ran out of memory. */
export class Breadcrumb {
  readonly shared: SharedArrayBuffer
  readonly #head: Int32Array
  readonly #id: Buffer

  /** Uses its own memory unless another thread's is given. */
  constructor(shared = new SharedArrayBuffer(idBegins + mostBytes)) {
    this.shared = shared
    this.#head = new Int32Array(shared, 0, 2)
    this.#id = Buffer.from(shared, idBegins, mostBytes)
  }

  set(doing: Doing, id: string): void {
    this.#head[0] = 0
    const length = this.#id.write(id, 'latin1')
    this.#head[1] = doing === 'reading' ? 0 : 1
    this.#head[0] = length
  }

  clear(): void {
    this.#head[0] = 0
  }

  read(): InHand | undefined {
    const [length = 0, doing] = this.#head
    if (length === 0) return undefined
    return { doing: doing === 0 ? 'reading' : 'planning', id: this.#id.toString('latin1', 0, length) }
  }
}
