// Processes whose machines' clocks are wrong, for all that they run: their TLS as well. Each role in turn; more of it is in scenarios/nodes/clocks.scenario.ts.
import { X509Certificate } from 'node:crypto'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { resolvePackaged } from '../deploy/local/debian/packages.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { lookAgain } from './scenarios/look-again.ts'
import { World } from './world.ts'

const processes = ['joiner', 'joiner-azure', 'joiner-planner']
const wrong = 'By it no node expires'

let world: World
let library = ''

beforeAll(async () => {
  const { executable } = await resolvePackaged(
    {
      name: 'faketime',
      packages: ['faketime', 'libfaketime'],
      megabytes: 1,
      versionArgs: ['--version'],
      remedy: 'run this test on a Debian',
      unpacked: (root) => ({ executable: join(root, 'usr/bin/faketime'), env: {} }),
    },
    console.log,
  )
  const lib = join(dirname(executable), '../lib')
  library = join(lib, globSync('*/faketime/libfaketimeMT.so.1', { cwd: lib })[0] ?? '')
  world = await World.start()
  world.startApart()
  const pool = nodePool({ consolidateAfter: 'Never', expireAfter: '720h' })
  await world.apply(pool, nodeClass(), deployment({ apart: true, replicas: 2 }))
  await world.until('two pods run', async () => (await world.running()) === 2)
})

afterAll(() => world?.stop())

/** Processes whose clock a test has set. */
const set = new Set<string>()

afterEach(async () => {
  for (const process of set) await restart(process, 0)
})

/** Starts a process again, on a machine whose clock is off by so many days. */
async function restart(process: string, days: number): Promise<void> {
  const off = `${days < 0 ? '' : '+'}${days}d`
  const settings = { LD_PRELOAD: library, FAKETIME: off, FAKETIME_DONT_FAKE_MONOTONIC: '1' }
  if (days === 0) set.delete(process)
  else set.add(process)
  await world.crash(process)
  const spec = world.installation.apartSpecs(days === 0 ? {} : settings).find(({ name }) => name === process)
  if (spec === undefined) throw new Error(`there is no process ${process}`)
  world.cluster.supervisor.start(spec)
}

/** Lines of all logs with a text. */
const told = async (text: string) =>
  (await world.servers.logs()).flatMap((log) => log.split('\n')).filter((line) => line.includes(text))

for (const process of processes)
  test.each([365, -31])(
    `while the clock of ${process} is %i days off, a node comes, none goes, and one line says it`,
    async (days) => {
      const before = await world.list('nodeclaims')
      const linesBefore = (await told(wrong)).length
      await restart(process, days)
      await world.until('it is told', async () => (await told(wrong)).length > linesBefore)
      const replicas = before.length + 1
      await world.scale('inflate', replicas)
      await world.until('another pod runs', async () => (await world.running()) === replicas)
      await lookAgain(world)
      const claims = await world.list('nodeclaims')
      expect(claims.map(({ metadata }) => metadata.uid)).toEqual(
        expect.arrayContaining(before.map(({ metadata }) => metadata.uid)),
      )
      expect(claims.filter(({ metadata }) => metadata.deletionTimestamp)).toEqual([])
      // Time without a worker would extend the limits of a launch for good.
      expect(claims.filter(({ metadata }) => metadata.annotations?.['joiner.sh/time-away'])).toEqual([])
      const off = (await world.metrics(process))['joiner_clock_off_seconds'] ?? 0
      expect(Math.round(off / 86_400)).toBe(days)
      expect(await told(wrong)).toHaveLength(linesBefore + 1)
    },
  )

test.each([900, -60])(
  'a clock that is %i days off, by which no certificate is valid, is named all the same',
  async (days) => {
    const text = "by this machine's clock"
    const before = (await told(text)).length
    await restart('joiner-planner', days)
    await world.until('it is told', async () => (await told(text)).length > before)
    await restart('joiner-planner', 0)
    const replicas = (await world.list('nodeclaims')).length + 1
    await world.scale('inflate', replicas)
    await world.until('another pod runs', async () => (await world.running()) === replicas)
  },
)

test.each([365, -31])(
  'the conversion webhook of a machine %i days off has a certificate that the API server takes',
  async (days) => {
    const secret = '/api/v1/namespaces/joiner/secrets/joiner-conversion'
    await restart('joiner-conversion', days)
    // As an installation has it at first.
    await world.operator.api('PATCH', secret, { data: { 'tls.crt': null } })
    const made = await world.until('a certificate is made', async () => {
      const { data } = await world.operator.api<{ data: Readonly<Record<string, string>> }>('GET', secret)
      return data['tls.crt']
    })
    const { validFromDate } = new X509Certificate(Buffer.from(made, 'base64'))
    expect(Math.round((Date.now() - validFromDate.getTime()) / 3_600_000)).toBe(1)
    await world.until('an old version is read', () =>
      world.operator.api('GET', '/apis/karpenter.sh/v1beta1/nodepools').catch(() => undefined),
    )
  },
)
