import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { ServerTime } from './server-time.ts'

const minute = 60_000
const yearMs = 365 * 24 * 60 * minute
const startMs = Date.parse('2026-11-28T12:00:00.250Z')

/** A process whose machine's clock is ahead by `skewMs`, beside an API server whose clock is right. */
class Process {
  skewMs = 0
  passedMs = 0
  readonly logged: { readonly level: number; readonly seconds: number; readonly msg: string }[] = []
  readonly time = new ServerTime({
    log: pino({}, { write: (line: string) => void this.logged.push(JSON.parse(line)) }),
    own: () => startMs + this.passedMs + this.skewMs,
    monotonicMs: () => 7 + this.passedMs,
  })

  /** An answer that is made some time after its request was sent, and takes as long to come. */
  answer(travelMs = 1, serverAheadMs = 0): void {
    const sentMs = 7 + this.passedMs
    this.passedMs += travelMs
    const date = new Date(startMs + this.passedMs + serverAheadMs).toUTCString()
    this.passedMs += travelMs
    this.time.answered(date, sentMs)
  }
}

describe("the API server's time", () => {
  test('is not known before two answers, and the own clock counts', () => {
    const process = new Process()
    process.skewMs = yearMs
    expect([process.time.offMs, process.time.isOwnWrong()]).toEqual([undefined, false])
    process.answer()
    expect([process.time.offMs, process.time.isOwnWrong()]).toEqual([undefined, false])
    expect(process.time.now()).toBe(startMs + 2 + yearMs)
    expect(process.time.ofServer()).toBe(startMs + 2 + yearMs)
    process.time.answered(undefined, 0)
    expect(process.time.isOwnWrong()).toBe(false)
  })

  test.each([yearMs, -31 * 24 * 60 * minute, 61_000, -61_000])(
    'counts while the own clock is off by %i ms, and is told once at the beginning and once at the end',
    (skewMs) => {
      const process = new Process()
      process.skewMs = skewMs
      process.answer()
      process.answer()
      expect(process.time.isOwnWrong()).toBe(true)
      for (let answers = 0; answers < 10; answers++) process.answer(100)
      expect(Math.abs(process.time.now() - startMs - process.passedMs)).toBeLessThanOrEqual(700)
      expect(process.logged).toMatchObject([{ level: 50, msg: expect.stringContaining('no node expires') }])
      expect(process.logged[0]?.seconds).toBeCloseTo(skewMs / 1000, -1)
      process.skewMs = 400
      expect(process.time.isOwnWrong()).toBe(false)
      for (let answers = 0; answers < 10; answers++) process.answer(100)
      expect(process.time.now()).toBe(startMs + process.passedMs + 400)
      expect(process.logged.map(({ level }) => level)).toEqual([50, 30])
    },
  )

  test('shows a jump of the own clock at once, and also while the API server is silent', () => {
    const process = new Process()
    process.answer()
    process.answer()
    process.passedMs += 60 * minute
    expect(process.time.isOwnWrong()).toBe(false)
    process.skewMs = yearMs
    expect(process.time.isOwnWrong()).toBe(true)
    expect(Math.abs(process.time.ofServer() - startMs - process.passedMs)).toBeLessThanOrEqual(501)
    expect(Number.isInteger(process.time.ofServer())).toBe(true)
  })

  test('is not that of one answer which differs, nor of one that took too long', () => {
    const process = new Process()
    process.answer()
    process.answer()
    process.answer(1, yearMs)
    process.answer(6000, yearMs)
    process.answer(6000, yearMs)
    expect([process.time.isOwnWrong(), process.logged]).toEqual([false, []])
    process.answer(1, yearMs)
    expect(process.time.isOwnWrong()).toBe(true)
  })
})
