// Whose the CRDs are, asked for hours of virtual time.
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { markedCrd } from '../activities/kubernetes/client/installation.ts'
import { installationAnnotation, installationText } from '../core/installation.ts'
import { FakeCluster } from '../test/fakes/cluster.ts'
import { pass, useFakeTime } from '../test/fakes/time.ts'
import { askStillOwned, untilOwned, watchIdentity } from './identity.ts'
import { Readiness } from './readiness.ts'

useFakeTime()

const first = { release: 'first', namespace: 'joiner', uid: 'of-the-namespace' }

function world() {
  const cluster = new FakeCluster()
  cluster.put('namespaces', { metadata: { name: 'joiner', uid: first.uid } })
  cluster.put('customresourcedefinitions', { metadata: { name: markedCrd }, spec: {} })
  const mark = (release: string) =>
    cluster.edit('customresourcedefinitions', markedCrd, {
      metadata: { annotations: { [installationAnnotation]: installationText({ ...first, release }) } },
    })
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) })
  const ownership = { kubernetes: cluster.client, release: 'second', namespace: 'joiner', mayClaim: true, log } as never
  return { cluster, mark, lines, log, ownership }
}

test("an installation writes nothing on another's CRDs, says so once, and works once they are its own", async () => {
  const { cluster, mark, lines, log, ownership } = world()
  mark('first')
  let looks = 0
  cluster.intercept(({ path }) => void (looks += Number(path.endsWith(markedCrd))))
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const readiness = new Readiness()
  let own: unknown
  void untilOwned({ ownership, readiness, log, signal: stop.signal }).then((found) => {
    own = found
  })
  await pass(25 * 60_000)
  expect(looks).toBeGreaterThan(10)
  expect(cluster.attempts).toEqual([])
  expect(lines).toEqual([expect.stringMatching(/names release "first" in namespace "joiner".*; trying again$/)])
  expect(own).toBeUndefined()
  mark('second')
  await pass(60_000)
  expect(own).toEqual({ ...first, release: 'second' })
  expect(cluster.attempts).toEqual([])
})

test('an installation that lost the CRDs to another ends, once, and claims none that were released meanwhile', async () => {
  const { cluster, mark, log, ownership } = world()
  const lost: string[] = []
  const end = watchIdentity({
    everyMs: 2000,
    checks: [() => askStillOwned(ownership)],
    onLost: (problem) => lost.push(problem),
    log,
  })
  onTestFinished(end)
  await pass(60_000)
  expect(lost).toEqual([])
  expect(cluster.attempts).toEqual([])
  mark('first')
  await pass(60_000)
  expect(lost).toEqual([expect.stringContaining('names release "first"')])
})
