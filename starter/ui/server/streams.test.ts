import { EventEmitter } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import type { ClusterChange, ClusterView } from '../contract.ts'
import { type Receiver, Streams } from './streams.ts'

const sums = {
  nodes: 0,
  pricePerHour: 0,
  unpriced: 0,
  phases: {},
  allocatable: { cpu: 0, memory: 0 },
  requested: { cpu: 0, memory: 0 },
}
const viewAt = (atMs: number): ClusterView => ({
  atMs,
  totals: { ...sums, pods: 0, pending: 0 },
  pools: [],
  nodes: [],
  pending: [],
  missing: [],
  damaged: [],
  unlisted: [],
})
const changeAt = (atMs: number): ClusterChange => ({ ...viewAt(atMs), gone: [] })

/** A client that reads, or stops reading. */
class Reader extends EventEmitter {
  destroyed = false
  reads = true
  readonly events: string[] = []

  write(text: string): boolean {
    const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)\n\n$/.exec(text) ?? []
    const { atMs } = JSON.parse(data) as { readonly atMs?: number }
    this.events.push(atMs === undefined ? `${event} ${data}` : `${event} ${atMs}`)
    return this.reads
  }

  end(text: string): this {
    this.write(text)
    return this.destroy()
  }

  destroy(): this {
    this.destroyed = true
    this.emit('close')
    return this
  }

  readOn(): void {
    this.reads = true
    this.emit('drain')
  }
}

let now = 0
let missing: readonly string[] = []
let streams: Streams
const open = (most = 10) => {
  streams = new Streams({ view: () => viewAt(now), missing: () => missing }, { most, now: () => now })
}
const add = () => {
  const reader = new Reader()
  streams.add(reader as unknown as Receiver)
  return reader
}

afterEach(() => {
  streams.close('over')
  now = 0
  missing = []
})

test('who does not read gets the whole view afterwards, and delays nobody', () => {
  open()
  const [slow, quick] = [add(), add()]
  slow.reads = false
  for (const at of [1, 2, 3]) streams.change(changeAt(at))
  now = 4
  slow.readOn()
  streams.change(changeAt(5))
  expect(quick.events).toEqual(['cluster 0', 'missing []', 'change 1', 'change 2', 'change 3', 'change 5'])
  expect(slow.events).toEqual(['cluster 0', 'missing []', 'change 1', 'cluster 4', 'change 5'])
})

test('who reads nothing for half a minute is let go', () => {
  open()
  const [gone, quick] = [add(), add()]
  gone.reads = false
  streams.change(changeAt(1))
  now = 30_000
  streams.beat()
  expect([gone.destroyed, streams.count]).toEqual([false, 2])
  now = 30_001
  streams.beat()
  expect([gone.destroyed, quick.destroyed, streams.count]).toEqual([true, false, 1])
  expect(quick.events.slice(2)).toEqual(['change 1', 'beat 30000', 'beat 30001'])
})

test('what is missing is told when it changes, also what the view knows nothing of', () => {
  open()
  missing = ['Temporal']
  const reader = add()
  streams.beat()
  missing = []
  streams.beat()
  expect(reader.events).toEqual(['cluster 0', 'missing ["Temporal"]', 'beat 0', 'missing []', 'beat 0'])
})

test('the end is told, and no more clients than allowed are counted', () => {
  open(1)
  const reader = add()
  expect(streams.isFull).toBe(true)
  streams.close('over')
  expect(reader.events.at(-1)).toBe('end {"message":"over"}')
  expect([reader.destroyed, streams.isFull]).toEqual([true, false])
})
