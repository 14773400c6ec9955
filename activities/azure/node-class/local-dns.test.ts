import { describe, expect, it } from 'vitest'
import { goldenConfig, goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { findLocalDns, type LocalDnsDeps, localDnsDecision } from './local-dns.ts'

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  networkPolicy: 'cilium',
  vmMemoryOverheadPercent: 0.075,
})
const preferred = (spec: Readonly<Record<string, unknown>> = {}) =>
  goldenNodeClass({ localDNS: { mode: 'Preferred' }, ...spec })

describe('local DNS that is preferred (reference/azure-provider.md 1.6)', () => {
  const decide = (version: string | undefined, plugin: 'azure' | 'none' = 'azure', spec = {}) =>
    localDnsDecision(preferred(spec), { ...config, networkPlugin: plugin }, version)

  it.each([
    ['a version before 1.99', decide('1.98.7'), 'Disabled'],
    ['one that comes before 1.99.0', decide('1.99.0-rc.1'), 'Disabled'],
    ['no version', decide(undefined), 'Disabled'],
    ['1.99.0', decide('1.99.0'), 'ask'],
    ['no network plugin', decide('1.99.0', 'none'), 'Disabled'],
    ['images of Ubuntu 20.04', decide('1.99.0', 'azure', { imageFamily: 'Ubuntu', fipsMode: 'FIPS' }), 'Disabled'],
    ['other images with FIPS', decide('1.99.0', 'azure', { imageFamily: 'AzureLinux', fipsMode: 'FIPS' }), 'ask'],
  ])('%s', (_, decision, expected) => {
    expect(decision).toBe(expected)
  })
})

describe('objects in the cluster that prevent local DNS', () => {
  const policies = '/apis/networking.k8s.io/v1/networkpolicies'
  const own = { metadata: { namespace: 'kube-system', name: 'konnectivity-agent' } }
  const policy = { metadata: { namespace: 'default', name: 'deny' } }

  /** Evaluates a cluster with these objects by path; other kinds do not exist in it. */
  async function look(
    objects: Readonly<Record<string, readonly object[] | number>>,
    change: { readonly daemonSet?: boolean; readonly networkPolicy?: string } = {},
  ) {
    const asked: string[] = []
    const list = async (path: string) => {
      asked.push(path)
      const found = objects[path] ?? 404
      if (typeof found === 'number') throw new ApiError(found, 'Reason', `${path}: ${found}`)
      return { items: found, resourceVersion: '1' }
    }
    const daemonSet = '/apis/apps/v1/namespaces/kube-system/daemonsets/node-local-dns'
    const get = (path: string) =>
      change.daemonSet && path === daemonSet ? Promise.resolve({}) : Promise.reject(new ApiError(404, 'NotFound', path))
    const deps = {
      client: { list, get },
      config: { ...config, networkPolicy: change.networkPolicy ?? 'cilium' },
    } as unknown as LocalDnsDeps
    const finding = await findLocalDns(deps, preferred(), '1.99.0')
    return { finding, asked }
  }

  it.each<[string, Parameters<typeof look>, string]>([
    ['nothing', [{ [policies]: [] }], 'Enabled'],
    ["AKS' own policy alone", [{ [policies]: [own] }], 'Enabled'],
    ['another policy', [{ [policies]: [own, policy] }], 'Disabled'],
    ['a policy of Cilium', [{ [policies]: [], '/apis/cilium.io/v2/ciliumnetworkpolicies': [policy] }], 'Disabled'],
    [
      'one of Cilium for all',
      [{ [policies]: [], '/apis/cilium.io/v2/ciliumclusterwidenetworkpolicies': [policy] }],
      'Disabled',
    ],
    [
      'a policy of Calico',
      [{ [policies]: [], '/apis/crd.projectcalico.org/v1/networkpolicies': [policy] }, { networkPolicy: 'calico' }],
      'Disabled',
    ],
    [
      'one of Calico for all',
      [{ [policies]: [], '/apis/crd.projectcalico.org/v1/globalnetworkpolicies': [policy] }],
      'Disabled',
    ],
    ['kinds without objects', [{ [policies]: [], '/apis/cilium.io/v2/ciliumnetworkpolicies': [] }], 'Enabled'],
    ['a DaemonSet that does it', [{ [policies]: [] }, { daemonSet: true }], 'Disabled'],
  ])('%s', async (_, input, state) => {
    const { finding } = await look(...input)
    expect(finding.status?.localDnsState).toBe(state)
    expect(finding.conditions).toEqual([{ type: 'LocalDNSReady', status: 'True' }])
  })

  it('are not read where policies are not enforced', async () => {
    const { finding, asked } = await look({ [policies]: [policy] }, { networkPolicy: '' })
    expect(finding.status?.localDnsState).toBe('Enabled')
    expect(asked).toEqual([])
  })

  it.each([[{ [policies]: 403 }], [{ [policies]: [], '/apis/cilium.io/v2/ciliumnetworkpolicies': 500 }]])(
    'that cannot be read leaves the state, and says so: %j',
    async (objects) => {
      const { finding } = await look(objects)
      expect(finding.status).toBeUndefined()
      expect(finding.conditions).toMatchObject([{ status: 'False', reason: 'CheckingClusterRequirementsFailed' }])
      expect(finding.error).toBeInstanceOf(ApiError)
    },
  )
})
