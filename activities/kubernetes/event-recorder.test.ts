import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Json } from './client/answers.ts'
import { EventRecorder, type EventSubject } from './event-recorder.ts'

const minute = 60_000
const log = { debug: () => {} }

function pod(name: string): EventSubject {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'apps', uid: `uid-${name}` } }
}
const pool: EventSubject = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'main', uid: 'uid-main' },
}
const claim: EventSubject = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name: 'c', uid: 'uid-c' } }

interface Written {
  readonly reason: string
  readonly message: string
  readonly type: string
  readonly involvedObject: { readonly name: string }
}

/** An API server that answers as configured and keeps what it receives. */
function api(answer: () => Promise<Json> = () => Promise.resolve({})) {
  const written: Written[] = []
  const paths: string[] = []
  const create = (path: string, body: Json) => {
    paths.push(path)
    written.push(body as unknown as Written)
    return answer()
  }
  return { create, written, paths, messages: () => written.map(({ message }) => message) }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('deduplication', () => {
  test('the same reason about the same object is recorded once in its time, whatever the message', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    const fail = (message: string) => recorder.record({ about: pod('a'), reason: 'FailedScheduling', message })
    fail('first')
    await pass(5 * minute - 1)
    fail('too early')
    await pass(1)
    fail('second')
    await pass(0)
    expect(server.messages()).toEqual(['first', 'second'])
  })

  test('what was recorded at a time to come is recorded again after the clock was set back', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    const fail = (message: string) => recorder.record({ about: pod('a'), reason: 'FailedScheduling', message })
    const rightMs = Date.now()
    vi.setSystemTime(rightMs + 31 * 86_400_000)
    fail('ahead')
    vi.setSystemTime(rightMs)
    fail('right')
    fail('too early')
    await pass(0)
    expect(server.messages()).toEqual(['ahead', 'right'])
  })

  test('another object, another reason and other values are recorded', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    recorder.record({ about: pod('a'), reason: 'Evicted', message: '1' })
    recorder.record({ about: pod('b'), reason: 'Evicted', message: '2' })
    recorder.record({ about: pod('a'), reason: 'Disrupted', message: '3' })
    recorder.record({ about: pod('a'), reason: 'Evicted', message: '4', values: ['uid-a', 'again'] })
    recorder.record({ about: pod('a'), reason: 'Evicted', message: 'known', values: ['uid-a', 'again'] })
    await pass(0)
    expect(server.messages().toSorted()).toEqual(['1', '2', '3', '4'])
  })

  test('the time depends on the kind of the object where upstream has it so', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    const both = () => {
      recorder.record({ about: pool, reason: 'DisruptionBlocked', message: 'pool' })
      recorder.record({ about: claim, reason: 'DisruptionBlocked', message: 'claim' })
    }
    both()
    await pass(minute)
    both()
    await pass(minute)
    both()
    await pass(0)
    expect(server.messages()).toEqual(['pool', 'claim', 'pool', 'pool', 'claim'])
  })
})

describe('limits', () => {
  test('nominations: ten at once, then five a second; other reasons are not held back by them', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    const nominate = (from: number, count: number) => {
      for (let i = from; i < from + count; i++)
        recorder.record({ about: pod(`p${i}`), reason: 'Nominated', message: String(i) })
    }
    nominate(0, 50)
    recorder.record({ about: pod('x'), reason: 'FailedScheduling', message: 'other' })
    await pass(0)
    expect(server.messages()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'other'])
    await pass(1000)
    nominate(100, 20)
    await pass(0)
    expect(server.messages().slice(11)).toEqual(['100', '101', '102', '103', '104'])
  })

  test('control characters of terminals are escaped, and no message is longer than the API server accepts', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    const say = (name: string, message: string) =>
      recorder.record({ about: pod(name), reason: 'FailedScheduling', message })
    say('a', 'label "\u001b[31mred\u202e" is odd;\nremove it')
    say('b', '\u0007'.repeat(500))
    await pass(0)
    const [first, second] = server.messages()
    expect(first).toBe('label "\\u001b[31mred\\u202e" is odd;\nremove it')
    expect(second).toHaveLength(1024)
  })

  test('a burst is written at a pace, and nothing of it is lost', async () => {
    const server = api()
    const recorder = new EventRecorder(server, log)
    for (let i = 0; i < 300; i++) recorder.record({ about: pod(`p${i}`), reason: 'Evicted', message: String(i) })
    await pass(0)
    expect(server.written).toHaveLength(100)
    await pass(1000)
    expect(server.written.length).toBeLessThanOrEqual(121)
    await pass(10_000)
    expect(server.messages()).toEqual(Array.from({ length: 300 }, (_, i) => String(i)))
  })
})

describe('an API server that misbehaves', () => {
  test('a hanging one blocks no caller: few requests, bounded memory, and it goes on when the answer comes', async () => {
    let release: () => void = () => {}
    const hanging = new Promise<Json>((resolve) => {
      release = () => resolve({})
    })
    const server = api(() => hanging)
    const recorder = new EventRecorder(server, log)
    for (let i = 0; i < 5000; i++) recorder.record({ about: pod(`p${i}`), reason: 'Evicted', message: String(i) })
    await pass(minute)
    expect(server.written).toHaveLength(4)
    release()
    await pass(2 * minute)
    // The four in flight and the thousand that waited; the others were dropped.
    expect(server.written).toHaveLength(1004)
  })

  test('a failing one fails no caller, and the next event is written', async () => {
    const server = api(() => Promise.reject(new Error('no')))
    const reported: unknown[] = []
    const recorder = new EventRecorder(server, { debug: (...args: unknown[]) => void reported.push(args) })
    recorder.record({ about: pod('a'), reason: 'Evicted', message: '1' })
    recorder.record({ about: pod('b'), reason: 'Evicted', message: '2' })
    await pass(0)
    expect(server.messages()).toEqual(['1', '2'])
    expect(reported).toHaveLength(2)
  })

  test('a client that throws at once fails no caller either', async () => {
    const server = api(() => {
      throw new Error('not even a promise')
    })
    const recorder = new EventRecorder(server, log)
    expect(() => recorder.record({ about: pod('a'), reason: 'Evicted', message: '1' })).not.toThrow()
    await pass(0)
    expect(server.messages()).toEqual(['1'])
  })
})

test('an event has its type from the table and is in the namespace of its object', async () => {
  const server = api()
  const recorder = new EventRecorder(server, log)
  recorder.record({ about: pod('a'), reason: 'FailedScheduling', message: 'no room' })
  recorder.record({ about: pool, reason: 'DisruptionBlocked', message: 'budget' })
  await pass(0)
  expect(server.paths).toEqual(['/api/v1/namespaces/apps/events', '/api/v1/namespaces/default/events'])
  expect(server.written).toMatchObject([
    { type: 'Warning', reason: 'FailedScheduling', involvedObject: { name: 'a', uid: 'uid-a', namespace: 'apps' } },
    { type: 'Normal', reason: 'DisruptionBlocked', involvedObject: { kind: 'NodePool', name: 'main' } },
  ])
})

test('transitions are recorded each time', async () => {
  const server = api()
  const recorder = new EventRecorder(server, log)
  const is = (status: 'True' | 'False') => [{ type: 'Ready', status, reason: 'R', message: '' }]
  recorder.recordTransitions(claim, is('False'), is('True'))
  recorder.recordTransitions(claim, is('True'), is('False'))
  recorder.recordTransitions(claim, is('False'), is('True'))
  await pass(0)
  expect(server.written.map(({ reason, message }) => `${reason}: ${message.split(', Reason')[0]}`)).toEqual([
    'Ready: Status condition transitioned, Type: Ready, Status: False -> True',
    'Ready: Status condition transitioned, Type: Ready, Status: True -> False',
    'Ready: Status condition transitioned, Type: Ready, Status: False -> True',
  ])
})
