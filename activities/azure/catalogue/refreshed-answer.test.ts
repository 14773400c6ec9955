import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FoundAnswer, KeptAnswer } from './durable-document.ts'
import { type AnswerSource, RefreshedAnswer } from './refreshed-answer.ts'

const hour = 3_600_000
const start = Date.parse('2026-01-01T00:00:00Z')

/** One ConfigMap for all replicas that share it. */
class Document {
  stored: KeptAnswer<string> | undefined
  isDamaged = false
  readonly #followers = new Set<(document: KeptAnswer<string>) => void>()

  read(): Promise<FoundAnswer<string>> {
    if (this.isDamaged) return Promise.resolve({ kind: 'damaged', fault: { key: 'word', why: 'it is odd' } })
    return Promise.resolve(this.stored === undefined ? { kind: 'none' } : { kind: 'read', ...this.stored })
  }

  write(document: KeptAnswer<string>): Promise<void> {
    this.stored = document
    this.isDamaged = false
    for (const changed of this.#followers) changed(document)
    return Promise.resolve()
  }

  follow(changed: (document: KeptAnswer<string>) => void): () => void {
    this.#followers.add(changed)
    if (this.stored !== undefined) changed(this.stored)
    return () => this.#followers.delete(changed)
  }
}

let document: Document
let asked: string[]
const made: RefreshedAnswer<string>[] = []

/** A replica whose Azure gives these answers in a row, and fails after the last. */
function replica(name: string, answers: readonly string[], changes: Partial<AnswerSource<string>> = {}) {
  let next = 0
  const answer = new RefreshedAnswer<string>(
    {
      what: 'words',
      remedy: 'Speak up',
      ask: () => {
        asked.push(name)
        const word = answers[next++]
        return word === undefined ? Promise.reject(new Error('silence')) : Promise.resolve(word)
      },
      follows: false,
      asksAtStart: false,
      document,
      ...changes,
    },
    pino({ level: 'silent' }),
    Date.now,
  )
  made.push(answer)
  answer.start()
  return answer
}

beforeEach(() => {
  vi.useFakeTimers({ now: start })
  document = new Document()
  asked = []
})

afterEach(() => {
  for (const answer of made.splice(0)) answer.stop()
  vi.useRealTimers()
})

describe('a refreshed answer', () => {
  it('is asked for at the first start, and kept', async () => {
    const answer = replica('a', ['hello'])
    await vi.advanceTimersByTimeAsync(0)
    expect(answer.answer).toEqual({ value: 'hello', readAtMs: start, source: 'list' })
    expect(document.stored).toEqual({ value: 'hello', readAtMs: start })
  })

  it('is taken from what was kept, and not asked for while that is young', async () => {
    document.stored = { value: 'kept', readAtMs: start - hour }
    const answer = replica('a', ['hello'])
    await vi.advanceTimersByTimeAsync(hour)
    expect(answer.answer).toEqual({ value: 'kept', readAtMs: start - hour, source: 'durable' })
    expect(asked).toEqual([])
  })

  it('is there at once, though it is asked for at each start', async () => {
    document.stored = { value: 'kept', readAtMs: start - hour }
    const answer = replica('a', [], { asksAtStart: true })
    await vi.advanceTimersByTimeAsync(0)
    expect([answer.answer?.value, asked]).toEqual(['kept', ['a']])
  })

  it('is asked for once by all replicas each twelve hours', async () => {
    document.stored = { value: 'kept', readAtMs: start }
    const replicas = ['a', 'b', 'c'].map((name) => replica(name, [`of ${name}`]))
    await vi.advanceTimersByTimeAsync(12 * hour - 60_000)
    expect(asked).toEqual([])
    await vi.advanceTimersByTimeAsync(2 * hour)
    expect(new Set(replicas.map(({ answer }) => answer?.value))).toEqual(new Set([`of ${asked.at(-1)}`]))
  })

  it('outlives failures, which are repeated with growing pauses of ten minutes at most', async () => {
    const answer = replica('a', ['hello'])
    await vi.advanceTimersByTimeAsync(13 * hour)
    expect(answer.answer?.value).toBe('hello')
    const before = asked.length
    await vi.advanceTimersByTimeAsync(hour)
    expect(asked.length - before).toBeGreaterThanOrEqual(6)
    expect(asked.length - before).toBeLessThanOrEqual(9)
  })

  it('comes soon after a start without an answer', async () => {
    let isSilent = true
    const answer = replica('a', [], {
      ask: () => (isSilent ? Promise.reject(new Error('silence')) : Promise.resolve('hello')),
    })
    await vi.advanceTimersByTimeAsync(1000)
    isSilent = false
    expect(answer.answer).toBeUndefined()
    await vi.advanceTimersByTimeAsync(5000)
    expect(answer.answer?.value).toBe('hello')
  })

  it('is what was kept where there is no source to ask', async () => {
    document.stored = { value: 'kept', readAtMs: start - 100 * hour }
    const answer = replica('a', [], { ask: undefined })
    await vi.advanceTimersByTimeAsync(hour)
    expect(answer.answer?.value).toBe('kept')
  })

  it('is taken at once from the process that asks, by a process that follows and asks for nothing', async () => {
    const follower = replica('b', ['never'], { follows: true })
    replica('a', ['hello', 'again'])
    await vi.advanceTimersByTimeAsync(0)
    expect(follower.answer).toEqual({ value: 'hello', readAtMs: start, source: 'durable' })
    vi.spyOn(Math, 'random').mockReturnValue(0)
    await vi.advanceTimersByTimeAsync(12 * hour)
    expect(follower.answer).toEqual({ value: 'again', readAtMs: start + 12 * hour, source: 'durable' })
    await document.write({ value: 'old', readAtMs: start })
    expect(follower.answer?.value).toBe('again')
    expect(asked).toEqual(['a', 'a'])
  })

  it('replaces a document that is damaged, by the last good answer and without asking for it', async () => {
    const answer = replica('a', ['hello'])
    await vi.advanceTimersByTimeAsync(hour)
    document.isDamaged = true
    await vi.advanceTimersByTimeAsync(hour / 2)
    expect([answer.answer?.value, asked, document.isDamaged]).toEqual(['hello', ['a'], false])
    expect(document.stored).toEqual({ value: 'hello', readAtMs: start })
  })

  it('is what was just asked for, though one that is stored is of a clock that was ahead', async () => {
    document.stored = { value: 'kept', readAtMs: start + 3000 * hour }
    const answer = replica('a', ['hello'], { asksAtStart: true })
    await vi.advanceTimersByTimeAsync(0)
    expect(answer.answer?.value).toBe('hello')
  })

  it('is asked for again when the clock is right again that was a year ahead', async () => {
    const answer = replica('a', ['early', 'hello'])
    vi.setSystemTime(start + 8760 * hour)
    await vi.advanceTimersByTimeAsync(0)
    expect(answer.answer?.readAtMs).toBe(start + 8760 * hour)
    vi.setSystemTime(start)
    await vi.advanceTimersByTimeAsync(hour)
    expect(answer.answer?.value).toBe('hello')
  })

  it('survives a document that cannot be read or written', async () => {
    const answer = replica('a', ['hello'], {
      document: {
        read: () => Promise.reject(new Error('no')),
        write: () => Promise.reject(new Error('no')),
        follow: () => () => {},
      },
    })
    await vi.advanceTimersByTimeAsync(0)
    expect(answer.answer?.value).toBe('hello')
  })
})
