import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json, WatchEvent } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'
import { type KubernetesClient } from '../client/client.ts'
import { ListWatch, readList } from './list-watch.ts'

useFakeTime()

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
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

/** Script of one watch: its events, then its end or an error. */
type Script = readonly (WatchEvent | Error)[]

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
    watch: async function* (_: string, { resourceVersion, signal }: { resourceVersion: string; signal: AbortSignal }) {
      asked.push(`watch ${resourceVersion}`)
      for (const step of leftWatches.shift() ?? []) {
        if (step instanceof Error) throw step
        yield step
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
    const { asked } = watching([[]], [[event('ADDED', 'a', 11)], [event('BOOKMARK', '', 40)], []])
    await pass(0)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11', 'watch 40'])
  })

  test('whose version is forgotten lists again at once', async () => {
    const gone = new ApiError(410, 'Expired', 'too old')
    const { reported, asked } = watching([[object('a', 1)], [object('b', 2)]], [[gone], []])
    await pass(0)
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
    await pass(10_000)
    expect(asked).toEqual(['list', 'watch 10', 'watch 11', 'watch 11', 'watch 11', 'watch 11'])
  })

  test('waits no longer than ten seconds between two attempts, however often it fails', async () => {
    const broken = new Error('ECONNREFUSED')
    const { asked } = watching(
      Array.from({ length: 60 }, () => broken),
      [],
    )
    await pass(5 * 60_000)
    expect(asked.length).toBeGreaterThan(30)
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
