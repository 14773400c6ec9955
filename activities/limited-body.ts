import type { Readable } from 'node:stream'
import { printableStart } from '../core/values/printable.ts'

/** Limits of reading the body of an answer, after its headers. */
export interface BodyLimits {
  /** Longest wait for its next piece. */
  readonly idleMs: number
  /** Longest time of the whole body. */
  readonly wholeMs: number
}

export const bodyLimits: BodyLimits = { idleMs: 15_000, wholeMs: 30_000 }

/** Most bytes of an answer that is kept whole. The largest that any service sends (prices, sizes of a region) has some MiB. */
export const mostBodyBytes = 64 * 2 ** 20
/** Most pages of a list: a list that has no end is none. */
export const mostPages = 2000

/**
 * Passes on the pieces of a body as they come. A body that is not read to its end is closed. Errors: the next piece, or the end, is late; `what`
 * names the request.
 */
export async function* piecesOf(body: Readable, what: string, limits: BodyLimits = bodyLimits): AsyncGenerator<Buffer> {
  const { idleMs, wholeMs } = limits
  const fail = (why: string) => body.destroy(new Error(`${what}: ${why}`))
  const whole = setTimeout(() => fail(`the body of the answer did not end in ${wholeMs / 1000} s`), wholeMs)
  const late = () => fail(`the body of the answer stalled for ${idleMs / 1000} s`)
  let idle = setTimeout(late, idleMs)
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      clearTimeout(idle)
      yield piece
      idle = setTimeout(late, idleMs)
    }
  } finally {
    clearTimeout(whole)
    clearTimeout(idle)
  }
}

/** Returns the text of a body. Undefined when it has more than `most` bytes; then the rest was not read. Errors: as `piecesOf`. */
export async function readAtMost(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
): Promise<string | undefined> {
  const read: Uint8Array[] = []
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > most) return undefined
    read.push(piece)
  }
  return Buffer.concat(read).toString()
}

/** Returns the text of a body. Errors: as `piecesOf`; it is larger than any answer. */
export async function readWhole(body: Readable, what: string, limits?: BodyLimits): Promise<string> {
  const text = await readAtMost(piecesOf(body, what, limits), mostBodyBytes)
  if (text === undefined)
    throw new Error(`${what}: the body of the answer has more than ${mostBodyBytes / 2 ** 20} MiB`)
  return text
}

/** The text of an answer, and what it says it is. */
export interface AnswerText {
  readonly text: string
  readonly contentType: string | undefined
}

/** Says that an answer is not the JSON that it promised: it comes from something between, such as a proxy. */
export function notJson(what: string, { text, contentType = 'none' }: AnswerText): string {
  const start = text === '' ? 'no body' : `"${printableStart(text, 200)}"`
  return `${what}: the answer is not JSON but of content type ${printableStart(contentType, 100)}: ${start}; check what stands between Joiner and the server`
}
