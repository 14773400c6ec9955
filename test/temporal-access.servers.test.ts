// How Joiner gets along with a Temporal that demands certificates, gives no administrator's rights, or holds only what is encrypted.
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, type Connection } from '@temporalio/client'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listRuns } from '../activities/workflow-runs.ts'
import { lifecycleId } from '../core/task-queues.ts'
import { Authority, type Issued } from '../deploy/local/authority.ts'
import { clusterName } from '../deploy/local/cluster.ts'
import { temporalSettings } from '../deploy/local/temporal.ts'
import { connectClient } from '../starter/temporal/connect.ts'
import { ensureAttributes } from '../starter/temporal/namespace-attributes.ts'
import { searchAttributes } from '../workflows/search-attributes.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { DenyingTemporal } from './denying-temporal.ts'
import { World } from './world.ts'

let world: World
let connection: Connection
let strangers: Authority

beforeAll(async () => {
  world = await World.start({ temporalMtls: true })
  connection = await connectClient(temporalSettings(world.cluster))
  strangers = await Authority.create('CN=strangers')
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
})

afterAll(async () => {
  await connection?.close()
  await world?.stop()
})

const lines = async () => (await world.cluster.supervisor.tail('joiner', 10_000)).split('\n').filter(Boolean)
let begun = 0

/** Starts Joiner and forgets what the one before it has logged. */
async function start(settings: Readonly<Record<string, string>>): Promise<void> {
  begun = (await lines()).length
  world.startJoiner('joiner', settings)
}

/** What this Joiner has logged that has a text in it. */
const logged = async (text: string) => (await lines()).slice(begun).filter((line) => line.includes(text))
const untilLogged = (text: string, ms?: number) =>
  world.until(`the log has "${text}"`, async () => (await logged(text))[0], ms)
const untilWorking = () => untilLogged('"started workers"')

async function readiness(): Promise<string> {
  const [line = '{}'] = await logged('serving health and metrics')
  return (await fetch(`${(JSON.parse(line) as { address: string }).address}/readyz`)).text()
}

/** A folder with the files of a client, as a Secret is mounted. */
async function mounted(name: string, client?: Issued): Promise<Record<string, string>> {
  const { pki, stateDir } = world.cluster
  const folder = join(stateDir, name)
  await mkdir(folder)
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  await (client === undefined ? copyFile(pki.temporalClientCertFile, cert) : writeFile(cert, client.cert))
  await (client === undefined ? copyFile(pki.temporalClientKeyFile, key) : writeFile(key, client.key))
  return { TEMPORAL_TLS_CLIENT_CERT_PATH: cert, TEMPORAL_TLS_CLIENT_KEY_PATH: key }
}

const stranger = () => strangers.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })

const failed = async (work: Promise<string>) =>
  work.then(String, (error: unknown) => (error as { stderr: string }).stderr)

describe('where clients must show a certificate', () => {
  afterAll(() => world.cluster.supervisor.stop('joiner'))

  test('a command without a certificate says that one is demanded, with one of strangers whose it is', async () => {
    const none = { TEMPORAL_TLS_CLIENT_CERT_PATH: '', TEMPORAL_TLS_CLIENT_KEY_PATH: '' }
    const strange = await mounted('strange', await stranger())
    // Each tries for some seconds.
    const [without, ofStrangers, inTheClear] = await Promise.all(
      [none, strange, { TEMPORAL_TLS: 'false' }].map((settings) => failed(world.joinerWith(settings, 'status'))),
    )
    expect(without).toContain('set TEMPORAL_TLS_CLIENT_CERT_PATH')
    expect(ofStrangers).toMatch(/refuses the client certificate "CN=joiner" in .*tls.crt, signed by "CN=strangers"/)
    expect(inTheClear).toContain('closes connections without TLS')
  })

  /** How many connections the server has refused. */
  const refused = async () => (await world.cluster.supervisor.tail('temporal-tls', 10_000)).split('\n').length
  let settings: Readonly<Record<string, string>> = {}
  /** Whole at once, as a Secret that changes. */
  const put = async (path: string, text: string) => {
    await writeFile(`${path}.next`, text)
    await rename(`${path}.next`, path)
  }
  const putFiles = async (cert: string, key: string) => {
    await put(settings['TEMPORAL_TLS_CLIENT_CERT_PATH'] ?? '', cert)
    await put(settings['TEMPORAL_TLS_CLIENT_KEY_PATH'] ?? '', key)
  }

  test('Joiner says once what is wrong with its files, stays, begins when they are right, and makes nodes', async () => {
    const strange = await stranger()
    const key = join(world.cluster.stateDir, 'late.key')
    settings = { ...(await mounted('late', strange)), TEMPORAL_TLS_CLIENT_KEY_PATH: key }
    await start(settings)
    await untilLogged('cannot be read (ENOENT)')
    const pid = world.cluster.supervisor.pids['joiner']
    expect(await readiness()).toMatch(/^waiting for temporal: /m)

    const before = await refused()
    await put(key, strange.key)
    await untilLogged('signed by \\"CN=strangers\\"')
    const ofOneAttempt = (await refused()) - before
    await world.until('a third attempt has begun', async () => (await refused()) > before + 2 * ofOneAttempt)
    expect(await logged('; trying again')).toHaveLength(2)

    const { pki } = world.cluster
    const files = [pki.temporalClientCertFile, pki.temporalClientKeyFile].map((path) => readFile(path, 'utf8'))
    const [ownCert = '', ownKey = ''] = await Promise.all(files)
    await putFiles(ownCert, ownKey)
    await untilWorking()
    expect(world.cluster.supervisor.pids['joiner']).toBe(pid)
    await world.untilReady('general')
    await world.scale('inflate', 1)
    await world.untilRunning(1)
    expect(await world.joiner('status')).toContain('general')
    expect(await world.joiner('pause', '--provisioning', '--reason', 'a test')).toContain('a test')
    expect(await world.joiner('resume', '--provisioning')).toContain('resumed')
  })

  test('it takes up a certificate that is replaced while it runs, also when the old one is refused already', async () => {
    const pid = world.cluster.supervisor.pids['joiner']
    const refusals = async () => (await logged('refuses the client certificate \\"CN=joiner\\"')).length
    const before = await refusals()
    // The server turns to another authority for its clients, and cuts all connections.
    const next = await Authority.create('CN=next-ca')
    const spec = await world.cluster.supervisor.stop('temporal-tls')
    if (spec === undefined) throw new Error('the proxy did not run')
    const own = await readFile(world.cluster.pki.caFile, 'utf8')
    const both = join(world.cluster.stateDir, 'next-ca.crt')
    await writeFile(both, next.cert)
    world.cluster.supervisor.start({
      ...spec,
      args: spec.args.map((arg, at) => (spec.args[at - 1] === '--client-ca' ? both : arg)),
    })
    await world.until('it says so', async () => (await refusals()) > before)
    expect(await readiness()).toContain('waiting for temporal: ')
    const client = await next.issue({ subject: 'CN=joiner', usages: ['clientAuth'] })
    await putFiles(client.cert, client.key)
    await untilLogged('reconnected to Temporal with changed credentials')
    await world.scale('inflate', 2)
    await world.untilRunning(2)
    expect(world.cluster.supervisor.pids['joiner']).toBe(pid)
    expect(await readiness()).toBe('ok')
    await writeFile(both, own)
    await world.cluster.supervisor.restart('temporal-tls')
  })
})

/** A namespace of its own, so that nothing in it was made by an administrator's Joiner. */
async function namespace(name: string): Promise<void> {
  await connection.workflowService.registerNamespace({
    namespace: name,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  })
  await world.until(`namespace ${name} is there`, () =>
    connection.workflowService.listWorkflowExecutions({ namespace: name }),
  )
}

const plain = { TEMPORAL_TLS: 'false' }

describe("without administrator's rights", () => {
  const administration = ['AddSearchAttributes', 'ListSearchAttributes', 'CreateSchedule']
  let temporal: DenyingTemporal

  beforeAll(async () => {
    temporal = await DenyingTemporal.start(world.cluster.ports.temporal, [...administration, 'DescribeNamespace'])
    await namespace('bare')
  })

  afterAll(async () => {
    await world.cluster.supervisor.stop('joiner')
    temporal?.stop()
  })

  const settings = () => ({
    ...plain,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: 'bare',
    JOINER_RESYNC_INTERVAL: '2s',
  })

  /** Brings up one more node. Returns a function that reads the search attributes of its lifecycle. */
  async function newLifecycle(namespace: string): Promise<() => Promise<readonly string[]>> {
    const before = new Set((await world.list('nodeclaims')).map(({ metadata }) => metadata.name))
    await world.scale('inflate', before.size + 1)
    await world.untilRunning(before.size + 1)
    const claim = (await world.list('nodeclaims')).find(({ metadata }) => !before.has(metadata.name))
    const id = lifecycleId(clusterName, claim?.metadata ?? { name: '', uid: '' })
    const handle = new Client({ connection, namespace }).workflow.getHandle(id)
    const own = new Set<string>(Object.values(searchAttributes).map(({ name }) => name))
    return async () => {
      const { typedSearchAttributes } = await handle.describe()
      return typedSearchAttributes.getAll().flatMap(({ key: { name } }) => (own.has(name) ? [name] : []))
    }
  }

  test('a caller that may do nothing is reported what it lacks', async () => {
    await start(settings())
    expect(await untilLogged('refuses the caller')).toContain('role \\"write\\"')
    temporal.denied = new Set(administration)
    await untilWorking()
  })

  test('without search attributes nodes come up, the log has the command that makes them, and once made they are used', async () => {
    const text = await untilLogged('search-attribute create')
    const command = /temporal (operator search-attribute create [^"]*--namespace bare)/.exec(text)?.[1] ?? ''
    for (const { name } of Object.values(searchAttributes)) expect(command).toContain(`--name ${name} --type Keyword`)
    expect(await (await newLifecycle('bare'))()).toEqual([])
    expect(await logged('search-attribute create')).toHaveLength(1)
    await world.temporalCli(command.split(' '))
    await world.cluster.supervisor.stop('joiner')
    await start(settings())
    await untilWorking()
    const attributes = await newLifecycle('bare')
    // The name of the Node follows once the lifecycle has seen it.
    await world.until('the lifecycle has all search attributes', async () => {
      const count = Object.values(searchAttributes).length
      return (await attributes()).length === count
    })
  })

  test('it says once that the Schedule is missing and how it is made', async () => {
    const before = temporal.refusals.get('CreateSchedule') ?? 0
    await world.until(
      'several resyncs have passed',
      async () => (temporal.refusals.get('CreateSchedule') ?? 0) > before + 2,
    )
    const reported = await logged('may not create the Schedule')
    expect(reported).toHaveLength(1)
    for (const line of reported) {
      const { msg } = JSON.parse(line) as { msg: string }
      await world.temporalCli((/temporal (schedule create .*)$/.exec(msg)?.[1] ?? '').split(' '))
    }
    const client = new Client({ connection, namespace: 'bare' })
    const ids: string[] = []
    for await (const { scheduleId } of client.schedule.list()) ids.push(scheduleId)
    expect(ids).toEqual([`maintenance/${clusterName}`])
    await client.schedule.getHandle(`maintenance/${clusterName}`).trigger()
    await world.until('what the Schedule starts is carried out', async () => {
      const query =
        "WorkflowType = 'maintenance' AND ExecutionStatus = 'Completed' AND TemporalScheduledById IS NOT NULL"
      return (await client.workflow.count(query)).count > 0
    })
  })

  const others = Array.from({ length: 10 }, (_, at) => ['--name', `Other${at}`, '--type', 'Keyword']).flat()
  test.each([
    [
      'has one of another type',
      'typed',
      ['--name', 'NodePool', '--type', 'Text'],
      'search attributes of another type than Keyword: NodePool',
    ],
    ['has no room for them', 'full', others, 'Temporal refuses to make them'],
  ])('a namespace that %s is named as a reason to do without them', async (_, name, attributes, expected) => {
    await namespace(name)
    await world.temporalCli(['operator', 'search-attribute', 'create', ...attributes, '--namespace', name])
    const log = pino({ level: 'silent' })
    expect(await ensureAttributes({ connection, namespace: name, log })).toEqual({
      kind: 'unusable',
      problem: expect.stringContaining(expected) as string,
    })
  })
})

describe('with encryption', () => {
  const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
  const settings = () => ({
    ...plain,
    TEMPORAL_ADDRESS: `127.0.0.1:${world.cluster.ports.temporal}`,
    TEMPORAL_NAMESPACE: 'sealed',
    TEMPORAL_CONFIG_FILE: world.cluster.temporalEnv['TEMPORAL_CONFIG_FILE'] ?? '',
  })
  const keys = (text: string) => ({ ...settings(), JOINER_TEMPORAL_ENCRYPTION_KEYS: text })

  interface Found {
    /** Where payloads are that are not encrypted, and the keys of those that are. Search attributes are readable by their nature. */
    readonly plain: Set<string>
    readonly keyIds: Set<string>
    /** All texts outside of payloads, such as messages of failures. */
    readonly texts: string[]
  }

  /** What Temporal's library writes by itself: names of patches; names and times of local activities. */
  const ofLibrary = ['patch-data', 'data'].map((name) => `/markerRecordedEventAttributes/details/${name}/payloads`)

  /** Walks through the events of a history. */
  function look(value: unknown, found: Found, path = ''): void {
    if (typeof value === 'string') found.texts.push(value)
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
    const { metadata } = value as { readonly metadata?: Readonly<Record<string, Uint8Array>> | null }
    if (metadata?.['encoding'] !== undefined) {
      if (Buffer.from(metadata['encoding']).toString() !== 'binary/encrypted') found.plain.add(path)
      else found.keyIds.add(Buffer.from(metadata['encryption-key-id'] ?? '').toString())
      return
    }
    for (const [name, inner] of Object.entries(value))
      if (name !== 'searchAttributes') look(inner, found, `${path}/${name}`.replaceAll(/\/\d+/g, ''))
  }

  /** What lies in all histories of the namespace. The loops are started in the clear, so that other clusters can read whose they are. */
  async function histories(): Promise<Found> {
    const found: Found = { plain: new Set(), keyIds: new Set(), texts: [] }
    const client = new Client({ connection, namespace: 'sealed' })
    for await (const { workflowId, runId, type } of listRuns(client, '')) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory()
      look(type.endsWith('Loop') ? events?.slice(1) : events, found)
    }
    return found
  }

  afterAll(() => world.cluster.supervisor.stop('joiner'))

  test('payloads and messages of failures cannot be read in Temporal, and Joiner and its commands read them', async () => {
    await namespace('sealed')
    await start(keys(`first:${key(1)}`))
    await untilWorking()
    await world.fault({ kind: 'failSync', code: 'InternalServerError', status: 500, count: 1 })
    const claims = (await world.list('nodeclaims')).length
    await world.scale('inflate', claims + 1)
    await world.untilRunning(claims + 1)
    // Lifecycles of nodes that were there before run in this namespace once Joiner has begun them again.
    const status = await world.until('status finds nothing broken', () =>
      world.joinerWith(keys(`first:${key(1)}`), 'status').catch(() => undefined),
    )
    expect(status).toContain('general')
    const found = await histories()
    const { plain, texts } = found
    expect([...plain].filter((path) => !ofLibrary.includes(path))).toEqual([])
    expect(found.keyIds).toEqual(new Set(['first']))
    expect(texts).toContain('nodeClaimLifecycle')
    expect(texts).toContain('Encoded failure')
    expect(texts.filter((text) => text.includes('InternalServerError'))).toEqual([])
  })

  test('a key is replaced: old histories are read with the old key, new ones with the new', async () => {
    await world.cluster.supervisor.stop('joiner')
    await start(keys(`second:${key(2)},first:${key(1)}`))
    await untilWorking()
    const claims = (await world.list('nodeclaims')).length
    await world.scale('inflate', claims + 1)
    await world.untilRunning(claims + 1)
    expect([...(await histories()).keyIds].toSorted()).toEqual(['first', 'second'])
    const both = keys(`second:${key(2)},first:${key(1)}`)
    expect(await world.joinerWith(both, 'pause', '--reason', 'sealed')).toContain('sealed')
    expect(await failed(world.joinerWith(settings(), 'status'))).toContain('encrypted with the key "second"')
    await world.joinerWith(both, 'resume')
  })
})
