// Old versions of NodePool and NodeClaim, converted by Joiner for a real API server; the last test floods what converts them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chosenKubernetes } from '../../deploy/local/server-binaries.ts'
import { makeCertificate, secretData } from '../../workers/conversion/certificate-secret.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { flood } from '../webhook-flood/flood.ts'
import { World } from '../world.ts'
import {
  bundles,
  callsFor,
  claim,
  convertsOne,
  crdOf,
  crdPath,
  type Json,
  oldPool,
  pathOf,
  plurals,
  untilConverted,
  writeClaims,
} from './converted.ts'

interface Pool {
  readonly metadata: { readonly labels?: Json; readonly managedFields: readonly { readonly apiVersion: string }[] }
}

const asked = { 'conversion.nodeClaims.serveV1beta1': true }
const secretPath = '/api/v1/namespaces/joiner/secrets/joiner-conversion'
const pool = (version: string) => pathOf('nodepools', version, 'old')
const claims = (version: string) => pathOf('nodeclaims', version)
const clientConfig = (config: object) => ({ spec: { conversion: { webhook: { clientConfig: config } } } })

let world: World

beforeAll(async () => {
  world = await World.start()
})

afterAll(() => world?.stop())

/** Nothing listens there: old versions are converted before Temporal is up, and no workflow writes to what the tests make. */
const start = (name = 'joiner') => world.startJoiner(name, { TEMPORAL_ADDRESS: '127.0.0.1:1' })

describe('old versions of NodePool', () => {
  it('are accepted and served by every replica, Temporal or not', async () => {
    for (const name of ['first', 'joiner']) {
      start(name)
      // Both listen at one port, so an answer does not tell whose it is.
      await world.until(`${name} listens`, async () =>
        (await world.cluster.supervisor.tail(name, 1000)).includes('serving conversion webhook'),
      )
    }
    await untilConverted(world)
    await world.apply(oldPool('Never'))
    expect(await world.operator.api<Json>('GET', pool('v1'))).toMatchObject({
      spec: {
        disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' },
        template: {
          spec: {
            expireAfter: 'Never',
            nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          },
        },
      },
    })
    const served = await world.operator.api<Json>('GET', pool('v1beta1'))
    const { spec } = oldPool('Never')
    expect(served['spec']).toEqual({ ...spec, disruption: { ...spec.disruption, budgets: [{ nodes: '10%' }] } })
    await world.crash('first')
    for (let read = 0; read < 20; read++) await world.operator.api<Json>('GET', pool('v1beta1'))
  })

  it('are kept by server-side apply in v1 while Joiner runs', async () => {
    await world.apply(oldPool('48h', { name: 'old', labels: { 'example.com/by': 'v1beta1' } }))
    const { metadata } = await world.operator.api<Pool>('GET', pool('v1'))
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'kubectl', apiVersion: 'karpenter.sh/v1beta1', operation: 'Apply' }),
    )
    await world.apply(oldPool('48h'))
    expect((await world.operator.api<Pool>('GET', pool('v1'))).metadata.labels).toBeUndefined()
  })

  // The API server compares what each manager owns, in the manager's own version. When it cannot, it forgets that managers owned
  // anything in that version and goes on; a webhook that hangs has 30 s to answer before. A request fails after a minute.
  it.each([
    { state: 'hangs', stop: () => world.cluster.supervisor.kill('joiner', 'SIGSTOP') },
    { state: 'is down', stop: () => world.crash('joiner') },
  ])('are no hindrance to v1 requests for such an object while Joiner $state', async ({ state, stop }) => {
    if (world.cluster.supervisor.pids['joiner'] === undefined) start()
    await untilConverted(world)
    await world.apply(oldPool('Never'))
    await stop()
    expect(await world.operator.api('GET', pool('v1'))).toMatchObject({ metadata: { name: 'old' } })
    const list = await world.operator.api<{ items: readonly Json[] }>('GET', pathOf('nodepools', 'v1'))
    expect(list.items).toHaveLength(1)
    const resources = { cpu: state === 'hangs' ? '1' : '2' }
    expect(await world.operator.api('PATCH', `${pool('v1')}/status`, { status: { resources } })).toMatchObject({
      status: { resources },
    })
    const labels = { 'example.com/team': state.replace(' ', '-') }
    await world.apply({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'old', labels } })
    const { metadata } = await world.operator.api<Pool>('GET', pool('v1'))
    expect(metadata.labels).toEqual(labels)
    expect(metadata.managedFields.map(({ apiVersion }) => apiVersion)).not.toContain('karpenter.sh/v1beta1')
    await world.crash('joiner')
  })
})

describe('what the conversion needs', () => {
  it('is a certificate that is replaced in time, with nothing refused in between', async () => {
    const almostYear = 350 * 24 * 3_600_000
    const names = ['joiner-conversion.joiner.svc', 'localhost']
    const old = await makeCertificate(names, new Date(Date.now() - almostYear))
    const base64 = Buffer.from(old.cert).toString('base64')
    await world.operator.api('PATCH', secretPath, {
      data: secretData({ served: old, trusted: old.cert, path: `/convert/${'0'.repeat(32)}` }),
    })
    for (const plural of plurals) await world.operator.api('PATCH', crdPath(plural), clientConfig({ caBundle: base64 }))
    start()
    await untilConverted(world)
    await world.until('another certificate is served', async () => {
      await convertsOne(world)
      const { data } = await world.operator.api<{ data: Record<string, string> }>('GET', secretPath)
      return data['tls.crt'] !== base64 && data['next.crt'] === undefined
    })
    expect((await bundles(world)).every((bundle) => bundle.includes(old.cert.trim()))).toBe(true)
    await convertsOne(world)
  })

  it.each(plurals)('is put back when the CA bundle of %s is wiped', async (plural) => {
    const before = await bundles(world)
    await world.operator.api('PATCH', crdPath(plural), clientConfig({ caBundle: null }))
    await world.until('the CA bundle is back', async () => String(await bundles(world)) === String(before))
  })

  it('is put back when the CRD is replaced by that of the chart, which names a Service', async () => {
    const crd = await crdOf(world, 'nodepools')
    const service = { namespace: 'elsewhere', name: 'joiner-conversion', path: '/convert', port: 443 }
    const write = (webhook: object) =>
      world.operator.kubectl(
        ['replace', '-f', '-'],
        JSON.stringify({
          ...crd,
          metadata: { name: 'nodepools.karpenter.sh' },
          spec: { ...crd.spec, conversion: { strategy: 'Webhook', webhook } },
        }),
      )
    await write({ conversionReviewVersions: ['v1'], clientConfig: { service } })
    await world.until('the CRD names this installation', async () => {
      const { caBundle, service: found } = (await crdOf(world, 'nodepools')).spec.conversion.webhook.clientConfig
      const isSecret = /^\/convert\/[0-9a-f]{32}$/.test(found?.path ?? '')
      return caBundle !== undefined && found?.namespace === 'joiner' && isSecret
    })
    await write(crd.spec.conversion.webhook)
    await untilConverted(world)
  })

  it('is made again, certificate and path, when somebody empties the Secret', async () => {
    const read = () => world.operator.api<{ data?: Record<string, string> }>('GET', secretPath)
    const { data: before = {} } = await read()
    await world.operator.api('PATCH', secretPath, { data: null })
    await world.until('the Secret is filled', async () => Object.keys((await read()).data ?? {}).length >= 4)
    const { data: after = {} } = await read()
    for (const key of ['tls.key', 'path']) expect(after[key]).not.toBe(before[key])
    await untilConverted(world)
  })
})

describe('kubectl', () => {
  it('prints the columns that Karpenter users know', async () => {
    const joined = async (kind: string, wide: boolean) => {
      const table = await world.operator.kubectl(['get', kind, ...(wide ? ['-o', 'wide'] : [])])
      return table.split('\n')[0]?.split(/ {2,}/).join(' ').trim()
    }
    await world.apply(nodeClass(), claim('shown'), nodePool())
    expect(await joined('nodepools', true)).toBe('NAME NODECLASS NODES READY AGE WEIGHT CPU MEMORY')
    expect(await joined('nodeclaims', true)).toBe('NAME TYPE CAPACITY ZONE NODE READY AGE NODEPOOL NODECLASS DRIFTED')
    expect(await joined('aksnodeclasses', true)).toBe('NAME READY AGE IMAGEFAMILY')
    expect(await joined('nodepools', false)).toBe('NAME NODECLASS NODES READY AGE')
    expect(await joined('aksnc', false)).toBe('NAME READY AGE')
  })

  it('explains the fields', async () => {
    const text = await world.operator.kubectl(['explain', 'nodepool.spec.disruption.budgets'])
    for (const word of ['nodes', 'schedule', 'duration', 'reasons'])
      expect(text).toMatch(new RegExp(`^  ${word}\t<.*>`, 'm'))
    expect(text).toMatch(/percentage/)
    expect(text).toMatch(/cron/)
    expect(
      await world.operator.kubectl(['explain', 'nodepool.spec.disruption', '--api-version=karpenter.sh/v1beta1']),
    ).toMatch(/WhenUnderutilized/)
  })
})

describe('old versions of NodeClaim', () => {
  const served = async () =>
    (await crdOf(world, 'nodeclaims')).spec.versions.filter((version) => version.served).map(({ name }) => name)
  const isGone = () =>
    world.operator.api('GET', claims('v1beta1')).then(
      () => false,
      (error: unknown) => String(error).includes(' 404 '),
    )

  it('are not served by default, those of NodePools are', async () => {
    expect(await served()).toEqual(['v1'])
    expect(await isGone()).toBe(true)
    const path = '/apis/karpenter.sh/v1beta1'
    const { resources } = await world.operator.api<{ resources: readonly { name: string }[] }>('GET', path)
    const names = resources.map(({ name }) => name.split('/')[0])
    expect(names).toContain('nodepools')
    expect(names).not.toContain('nodeclaims')
  })

  // API servers before 1.35 keep caches of versions that are not served.
  it.runIf(chosenKubernetes() === 'newest')('cost no call of the webhook then', async () => {
    const [before, poolsBefore] = [await callsFor(world, 'nodeclaims'), await callsFor(world, 'nodepools')]
    await writeClaims(world, 'plain', 50)
    // Shows that calls are counted, and that what the API server still had to do is done.
    await world.operator.api('POST', pathOf('nodepools', 'v1beta1'), oldPool('Never', { generateName: 'old-' }))
    await world.until('a NodePool is converted', async () => (await callsFor(world, 'nodepools')) > poolsBefore)
    expect((await callsFor(world, 'nodeclaims')) - before).toBe(0)
  })

  it('are served and converted with the value that asks for them, and no longer when the value is gone', async () => {
    await world.installation.applyRights(asked)
    const list = await world.until('v1beta1 is served', () =>
      world.operator.api<{ items: readonly { apiVersion: string; spec: Json }[] }>('GET', claims('v1beta1')),
    )
    expect(new Set(list.items.map(({ apiVersion }) => apiVersion))).toEqual(new Set(['karpenter.sh/v1beta1']))
    // By this, people find out whether somebody reads it (docs/karpenter-settings.md).
    const metrics = await world.operator.kubectl(['get', '--raw', '/metrics'])
    expect(metrics).toMatch(/^apiserver_requested_deprecated_apis\{.*resource="nodeclaims".*version="v1beta1"\} 1$/m)
    const before = await callsFor(world, 'nodeclaims')
    await writeClaims(world, 'converted', 10)
    await world.until('each write is converted', async () => (await callsFor(world, 'nodeclaims')) - before >= 30)

    // As an upgrade of the CRDs does.
    const { versions } = (await crdOf(world, 'nodeclaims')).spec
    await world.operator.api('PATCH', crdPath('nodeclaims'), {
      spec: { versions: versions.map((each) => ({ ...each, served: each.name === 'v1' })) },
    })
    await world.until('it is served again', async () => (await served()).includes('v1beta1'))
  })

  it('are listed with one call of the webhook for an object at most', async () => {
    await Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        for (let name = at; name < 300; name += 4) await world.operator.api('POST', claims('v1'), claim(`many-${name}`))
      }),
    )
    const list = () => world.operator.api<{ items: readonly Json[] }>('GET', claims('v1beta1'))
    let before = -1
    await world.until('the API server has converted for its cache what was created', async () => {
      const earlier = before
      before = await callsFor(world, 'nodeclaims')
      return before === earlier
    })
    const { items } = await list()
    const calls = (await callsFor(world, 'nodeclaims')) - before
    console.log(`${items.length} NodeClaims listed in v1beta1 with ${calls} calls of the webhook`)
    expect(items.filter(({ apiVersion }) => apiVersion === 'karpenter.sh/v1beta1')).toHaveLength(items.length)
    expect(items.length).toBeGreaterThanOrEqual(300)
    expect(calls).toBeLessThanOrEqual(items.length)

    await world.installation.applyRights()
    await world.until('v1beta1 is not served', isGone)
    expect(await served()).toEqual(['v1'])
  })

  const patched = (args: readonly string[]) =>
    world.operator.kubectl(['patch', 'crd', 'nodeclaims.karpenter.sh', ...args])
  const store = (stored: string) => {
    const change = ['v1', 'v1beta1'].map((name, at) => ({
      op: 'replace',
      path: `/spec/versions/${at}/storage`,
      value: name === stored,
    }))
    return patched(['--type=json', '-p', JSON.stringify(change)])
  }

  it('that are stored are read as v1 though v1beta1 is not served, and leave it when they are stored again', async () => {
    await store('v1beta1')
    await world.until('v1beta1 is stored', async () =>
      (await crdOf(world, 'nodeclaims')).status.storedVersions.includes('v1beta1'),
    )
    const before = await callsFor(world, 'nodeclaims')
    let written = 0
    await world.until('a NodeClaim is stored as v1beta1', async () => {
      await writeClaims(world, `stored-${++written}`, 1)
      return (await callsFor(world, 'nodeclaims')) > before
    })
    await store('v1')
    const read = async () => {
      const { items } = await world.operator.api<{ items: readonly { metadata: { name: string }; spec: Json }[] }>(
        'GET',
        claims('v1'),
      )
      return items.filter(({ metadata }) => metadata.name.startsWith('stored-'))
    }
    const found = await world.until('they are read', async () => {
      const items = await read()
      return items.length > 0 && items
    })
    for (const { spec } of found) expect(spec['nodeClassRef']).toEqual(claim('any').spec.nodeClassRef)
    expect(await served()).toEqual(['v1'])

    // What joiner doctor says to run, and what docs/karpenter-settings.md says of older API servers.
    const path = '/spec/versions/1'
    const operations = [
      { op: 'test', path: `${path}/name`, value: 'v1beta1' },
      { op: 'remove', path },
    ]
    const removed = ['--type=json', '-p', JSON.stringify(operations)]
    await expect(patched(removed)).rejects.toThrow(/storedVersions/)
    await world.operator.kubectl(
      ['replace', '-f', '-'],
      await world.operator.kubectl(['get', 'nodeclaims', '-o', 'json']),
    )
    await patched(['--subresource=status', '--type=merge', '-p', '{"status":{"storedVersions":["v1"]}}'])
    await patched(removed)
    await world.until('they are read without that version', async () => {
      const items = await read()
      return items.length === found.length && (await served()).length === 1
    })
    await writeClaims(world, 'later', 1)
  })
})

describe('a flood of the webhook', () => {
  it('ends no process, and pods get their nodes in it', async () => {
    for (const plural of plurals) await world.operator.api('DELETE', pathOf(plural, 'v1'))
    await world.crash('joiner')
    // One process with all roles: what reaches its webhook is as near to its planner as it can be.
    world.startJoiner()
    await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true }))
    await world.untilReady('general')
    const { restarts, podSeconds, conversionMs, peakRssMiB, done, ...rest } = await flood(world, ['joiner'], 5000)
    console.log(JSON.stringify({ restarts, podSeconds, conversions: conversionMs.length, peakRssMiB, done, ...rest }))
    expect(restarts).toBe(0)
    expect(podSeconds.length).toBeGreaterThanOrEqual(1)
    expect(conversionMs.length).toBeGreaterThanOrEqual(1)
    expect(peakRssMiB['joiner']).toBeLessThan(1536)
    // It was a flood: everything was tried, and refused for what it was.
    for (const refused of [
      '63 MB to a wrong path: ',
      'a wrong path: ',
      '63 MB to the right path: ',
      '600,000 objects: ',
    ])
      expect(Object.keys(done).filter((what) => what.startsWith(refused))).not.toEqual([])
    expect(done['idle connections closed']).toBeGreaterThan(100)
  })
})
