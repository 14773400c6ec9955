import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { ObjectMeta } from '../../../core/objects.ts'
import { threadMemory } from '../../thread-memory.ts'
import type { Json } from '../client/answers.ts'
import { type CachedKind, type CachedObject, kindRules } from './cached-kinds.ts'

/** Memory limit of a reading thread. Texts of some MiB become several times as large when they are parsed. */
const mostHeapMiB = 192
/** Time without work after which the thread is ended. */
const idleMs = 30_000

/** An object that was decoded in the reading thread. */
export interface ReadObject {
  readonly metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>
  readonly read: CachedObject | { readonly error: string }
}

export interface ToReader {
  readonly kind: CachedKind
  readonly text: string
}

export type FromReader = { readonly json: Json } | { readonly error: string }

interface Asked {
  readonly resolve: (json: Json) => void
  readonly reject: (error: Error) => void
}

/**
 * Reads objects of MiBs in a thread of its own, which bears their time and memory. The result is as small as decoded
 * objects are. Errors: the text is no JSON, or the thread ended.
 */
export class LargeReader {
  readonly #log: Logger
  #worker: Worker | undefined
  #asked: Asked[] = []
  #idle: NodeJS.Timeout | undefined

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the event or list of a text, with objects as `ReadObject`s. */
  async read(kind: CachedKind, text: string): Promise<Json> {
    this.#worker ??= this.#start()
    clearTimeout(this.#idle)
    try {
      return await new Promise<Json>((resolve, reject) => {
        this.#asked.push({ resolve, reject })
        this.#worker?.postMessage({ kind, text } satisfies ToReader)
      })
    } finally {
      if (this.#asked.length === 0) this.#endWhenIdle()
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./large-reader-thread.ts', import.meta.url), {
      name: 'reader',
      resourceLimits: threadMemory(mostHeapMiB),
    })
    worker.unref()
    worker.on('message', (answer: FromReader) => {
      const asked = this.#asked.shift()
      if ('json' in answer) asked?.resolve(answer.json)
      else asked?.reject(new Error(answer.error))
    })
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', (code) => this.#ended(worker, new Error(`the reader's thread ended with ${code}`)))
    return worker
  }

  #ended(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#log.warn({ err: error }, 'large-object reader ended')
    this.#worker = undefined
    for (const { reject } of this.#asked.splice(0)) reject(error)
  }

  #endWhenIdle(): void {
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      const worker = this.#worker
      this.#worker = undefined
      void worker?.terminate()
    }, idleMs)
    this.#idle.unref()
  }
}

/** Decodes an object, unless the reading thread did. Errors: it cannot be read. */
export function decoded(kind: CachedKind, json: Json): CachedObject {
  const { read } = json as Partial<ReadObject>
  if (read === undefined) return kindRules[kind].decode(json)
  if ('error' in read) throw new Error(read.error)
  return read
}
