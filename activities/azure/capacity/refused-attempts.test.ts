import { describe, expect, it } from 'vitest'
import { RefusedAttempts } from './refused-attempts.ts'

const token = (secretUid: string) => ({ token: `of ${secretUid}`, secretUid })

describe('what a refused attempt leaves', () => {
  it('is for the attempt right after it, once', () => {
    const refused = new RefusedAttempts(() => 0)
    refused.leave('uid', 1, token('x'))
    expect(refused.take('uid', 2)).toEqual({ token: token('x') })
    expect(refused.take('uid', 2)).toBeUndefined()
  })

  it.each([1, 3, 4])('is not for attempt %i', (attempt) => {
    const refused = new RefusedAttempts(() => 0)
    refused.leave('uid', 1, token('x'))
    expect(refused.take('uid', attempt)).toBeUndefined()
    expect(refused.take('uid', 2)).toBeUndefined()
  })

  it('is for its claim, and for half a minute', () => {
    let nowMs = 0
    const refused = new RefusedAttempts(() => nowMs)
    refused.leave('a', 1, token('a'))
    refused.leave('b', 1, token('b'))
    expect(refused.take('other', 2)).toBeUndefined()
    nowMs = 29_999
    expect(refused.take('a', 2)).toEqual({ token: token('a') })
    nowMs = 30_000
    expect(refused.take('b', 2)).toBeUndefined()
  })

  it('does not pile up', () => {
    const refused = new RefusedAttempts(() => 0)
    for (let claim = 0; claim <= 1000; claim++) refused.leave(String(claim), 1, token('x'))
    expect(refused.take('0', 2)).toBeUndefined()
    expect(refused.take('1', 2)).toEqual({ token: token('x') })
  })
})
