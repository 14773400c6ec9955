import pino from 'pino'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { pauseOf } from '../../abortable-wait.ts'
import type { Json, WatchEvent } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { type KubernetesClient } from '../client/client.ts'
import { ListWatch, readList } from './list-watch.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  vi.restoreAllMocks()
})

const object = (name: string, version: number): Json => ({
  metadata: { name, resourceVersion: String(version) },
  data: 'x',
})
const event = (type: WatchEvent['type'], name: string, version: number): WatchEvent => ({
  type,
  object: object(name, version),
  size: 1,
})

/** Script of one watch: its events and the milliseconds before them, then its end or an error. */
type Script = readonly (WatchEvent | Error | number)[]

interface WatchOptions {
  readonly resourceVersion: string
  readonly signal: AbortSignal
  readonly onOpen: () => void
}

/** Runs scripted lists and watches; the last watch stays open. */
function watching(lists: readonly (readonly Json[] | Error)[], watches: readonly Script[]) {
  const reported: string[] = []
  const asked: string[] = []
  const [leftLists, leftWatches] = [[...lists], [...watches]]
  const client = {
    listPages: async function* () {
      asked.push('list')
      const next = leftLists.shift() ?? []
      if (next instanceof Error) throw next
      yield { items: next, resourceVersion: '10' }
    },
    watch: async function* (_: string, { resourceVersion, signal, onOpen }: WatchOptions) {
      asked.push(`watch ${resourceVersion}`)
      const [first, ...others] = leftWatches.shift() ?? []
      if (first instanceof ApiError) throw first
      onOpen()
      for (const step of first === undefined ? [] : [first, ...others]) {
        if (step instanceof Error) throw step
        if (typeof step === 'number') await pauseOf(step, signal)
        else yield step
      }
      if (leftWatches.length === 0)
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  } as unknown as KubernetesClient
  const name = ({ metadata }: Json) => (metadata as { name: string }).name
  const handlers = {
    replaced: (objects: readonly Json[], version: string) =>
      void reported.push(`replaced ${objects.map(name).join()} ${version}`),
    changed: (one: Json) => void reported.push(`changed ${name(one)}`),
    deleted: (one: Json) => void reported.push(`deleted ${name(one)}`),
    reached: (version: string) => void reported.push(`reached ${version}`),
  }
  const watch = new ListWatch({ client, path: '/objects', log: pino({ level: 'silent' }) }, handlers)
  stops.push(() => watch.stop())
  void watch.run()
  return { reported, asked, watch }
}

describe('a watch', () => {
  test('reports the whole list and then each change, in their order', async () => {
    const { reported, asked } = watching(
      [[object('a', 1), object('b', 2)]],
      [[event('ADDED', 'c', 11), event('MODIFIED', 'a', 12), event('DELETED', 'b', 13), event('BOOKMARK', '', 20)]],
    )
    await pass(0)
    expect(reported).toEqual([
      'replaced a,b 10',
      'changed c',
      'reached 11',
      'changed a',
      'reached 12',
      'deleted b',
      'reached 13',
      'reached 20',
    ])
    expect(asked).toEqual(['list', 'watch 10'])
  })

  test('that ends goes on from the last version that it received, without a list', async () => {
    const { asked } = watching([[]], [[10_000, event('ADDED', 'a', 11)], [540_000, event('BOOKMARK', '', 40)], []])
    await pass(550_000)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11', 'watch 40'])
  })

  test('whose version is forgotten lists again, each replica at another moment', async () => {
    const gone = new ApiError(410, 'Expired', 'too old')
    const { reported, asked } = watching([[object('a', 1)], [object('b', 2)]], [[60_000, gone], []])
    await pass(60_000)
    expect(asked).toEqual(['list', 'watch 10'])
    await pass(1001)
    expect(asked).toEqual(['list', 'watch 10', 'list', 'watch 10'])
    expect(reported).toEqual(['replaced a 10', 'replaced b 10'])
  })

  test('that breaks goes on from where it was, with growing delays', async () => {
    const broken = new Error('ECONNRESET')
    const { asked } = watching([[]], [[event('ADDED', 'a', 11), broken], [broken], [broken], [broken], []])
    await pass(0)
    expect(asked).toEqual(['list', 'watch 10'])
    await pass(200)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11'])
    await pass(800)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11', 'watch 11'])
    await pass(10_000)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11', 'watch 11', 'watch 11', 'watch 11'])
  })

  test('waits no longer than fifteen seconds between two attempts, however often it fails', async () => {
    const broken = new Error('ECONNREFUSED')
    const { asked } = watching(
      Array.from({ length: 60 }, () => broken),
      [],
    )
    await pass(5 * 60_000)
    expect(asked.length).toBeGreaterThan(20)
  })

  test('whose first list fails is not reported as empty', async () => {
    const { reported } = watching([new ApiError(403, 'Forbidden', 'no'), [object('a', 1)]], [[]])
    await pass(0)
    expect(reported).toEqual([])
    await pass(1000)
    expect(reported).toEqual(['replaced a 10'])
  })

  test('that is stopped asks nothing more', async () => {
    const { asked, watch } = watching([[]], [[new Error('x')], [new Error('x')], []])
    await pass(0)
    watch.stop()
    await pass(60_000)
    expect(asked).toEqual(['list', 'watch 10'])
  })
})

describe('a server that answers what it should not', () => {
  const gone = new ApiError(410, 'Expired', 'too old resource version')
  const status = (code: number, retryAfterSeconds?: number) =>
    Object.assign(new ApiError(code, 'Unknown', 'no'), retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
  const cases: Readonly<Record<string, Script>> = {
    'the end at once': [],
    'a bookmark and the end': [event('BOOKMARK', '', 20)],
    'a change and an error': [event('MODIFIED', 'a', 20), new Error('this is no event')],
    'the end after a second without anything': [1500],
    'the end after nine seconds without anything': [9000],
    'a version that is forgotten': [gone],
    'a version that is forgotten by an event': [0, gone],
    'a version that is forgotten after a moment': [500, gone],
    'a version that is forgotten after ten seconds': [11_000, gone],
    'status 500': [status(500)],
    'status 401': [status(401)],
    'a redirect': [status(302)],
    'status 429 that asks for no time': [status(429, 0)],
    'a reset': [new Error('ECONNRESET')],
  }
  // The shortest pauses that jitter can draw.
  const shortest = () => vi.spyOn(Math, 'random').mockReturnValue(0)

  test.each(Object.entries(cases))('%s: at most ten requests in the first minute', async (_, script) => {
    shortest()
    const many = Array.from({ length: 100 }, () => script)
    const { asked } = watching([[object('a', 1)]], [...many, []])
    await pass(59_999)
    expect(asked.length - 2).toBeLessThanOrEqual(10)
    expect(asked.length).toBeGreaterThan(3)
    // One list for each step of the back-off.
    expect(asked.filter((what) => what === 'list').length).toBeLessThanOrEqual(
      asked.filter((what) => what !== 'list').length,
    )
  })

  test('a time that the server asks for is respected, within reason', async () => {
    shortest()
    const { asked } = watching([[]], [[status(429, 20)], [status(429, 3600)], []])
    await pass(19_999)
    expect(asked).toEqual(['list', 'watch 10'])
    await pass(1)
    expect(asked).toEqual(['list', 'watch 10', 'watch 10'])
    await pass(60_000)
    expect(asked).toEqual(['list', 'watch 10', 'watch 10', 'watch 10'])
  })

  test('after a watch of ten seconds earlier failures count no more', async () => {
    shortest()
    const broken = new Error('ECONNRESET')
    const { asked } = watching([[]], [[broken], [broken], [broken], [broken], [10_000, broken], []])
    await pass(60_000)
    expect(asked).toHaveLength(7)
    const before = 150 + 450 + 1350 + 4050 + 10_000
    const again = watching([[]], [[broken], [broken], [broken], [broken], [10_000, broken], []])
    await pass(before + 149)
    expect(again.asked).toHaveLength(6)
    await pass(1)
    expect(again.asked).toHaveLength(7)
  })
})

describe('a list of several pages', () => {
  const pages = async function* () {
    yield { items: [object('a', 1)], resourceVersion: '7', continue: 'x' }
    yield {
      items: [{ metadata: { name: 'b', namespace: 'n', resourceVersion: '2' }, data: 'large' }],
      resourceVersion: '8',
    }
  }

  test('is whole, at the version of its last page', async () => {
    const { objects, resourceVersion } = await readList(pages(), undefined)
    expect([objects.length, resourceVersion]).toEqual([2, '8'])
    expect(objects[1]).toMatchObject({ data: 'large' })
  })

  test('is not kept where each page is taken as it comes: names are', async () => {
    const taken: number[] = []
    const { objects } = await readList(pages(), ({ items }) => void taken.push(items.length))
    expect(taken).toEqual([1, 1])
    expect(objects).toEqual([{ metadata: { name: 'a' } }, { metadata: { name: 'b', namespace: 'n' } }])
  })
})
