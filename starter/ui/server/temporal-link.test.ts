import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { OpenedTemporal } from '../../cli/operate/temporal-access.ts'
import { CommandError } from '../../document/reported-error.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import { TemporalLink } from './temporal-link.ts'

const closed: string[] = []
const opened = (address: string): OpenedTemporal => ({
  kind: 'open',
  access: { address } as TemporalAccess,
  explain: async (error) => `explained: ${(error as Error).message}`,
  close: async () => {
    closed.push(address)
  },
})
const problem: OpenedTemporal = { kind: 'problem', message: 'nobody answers', exitCode: 1 }
const unavailable = () => Object.assign(new Error('no connection'), { code: 14 })

/** A link whose attempts to connect come to these, one after the other. */
function linkOf(...outcomes: readonly OpenedTemporal[]): TemporalLink {
  const left = [...outcomes]
  return new TemporalLink(async () => left.shift() ?? problem)
}

const addressOf = (link: TemporalLink) => link.use(async ({ address }) => address)

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  closed.length = 0
})

test('until Temporal answers the problem is told, and it is tried again by itself', async () => {
  const link = linkOf(problem, opened('a'))
  await link.start()
  expect(link.problem).toBe('nobody answers')
  await expect(addressOf(link)).rejects.toThrow(new CommandError('nobody answers'))
  await vi.advanceTimersByTimeAsync(15_000)
  expect(link.problem).toBeUndefined()
  expect(await addressOf(link)).toBe('a')
  await link.close()
  expect(closed).toEqual(['a'])
})

test('a lost connection is replaced at once, and closed when its requests have ended', async () => {
  const link = linkOf(opened('a'), opened('b'))
  await link.start()
  const lost = () =>
    link.use(async () => {
      throw unavailable()
    })
  await expect(Promise.all([lost(), lost()])).rejects.toThrow(new CommandError('explained: no connection'))
  await vi.advanceTimersByTimeAsync(1)
  expect(await addressOf(link)).toBe('b')
  expect(closed).toEqual([])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(closed).toEqual(['a'])
  await link.close()
  expect(closed).toEqual(['a', 'b'])
})

test('a refusal is no lost connection', async () => {
  const link = linkOf(opened('a'), opened('b'))
  await link.start()
  const failing = (error: Error) =>
    link.use(async () => {
      throw error
    })
  await expect(failing(new CommandError('no such node'))).rejects.toThrow('no such node')
  await expect(failing(Object.assign(new Error('denied'), { code: 7 }))).rejects.toThrow('explained: denied')
  expect(await addressOf(link)).toBe('a')
  await link.close()
})

test('what fails to be opened is a problem, and nothing is opened after the end', async () => {
  const link = new TemporalLink(async () => {
    throw new Error('kubeconfig /x: there is no such file')
  })
  await link.start()
  expect(link.problem).toBe('kubeconfig /x: there is no such file')
  await link.close()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(vi.getTimerCount()).toBe(0)
})

test('what is being opened at the end is closed once it is open, and keeps nobody waiting', async () => {
  const { promise, resolve } = Promise.withResolvers<OpenedTemporal>()
  const link = new TemporalLink(() => promise)
  void link.start()
  await link.close()
  resolve(opened('late'))
  await vi.advanceTimersByTimeAsync(1)
  expect([closed, link.access]).toEqual([['late'], undefined])
})
