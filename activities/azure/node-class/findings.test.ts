import { RestError } from '@azure/core-rest-pipeline'
import { describe, expect, it } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import type { AzureConfig } from '../azure-config.ts'
import { unread } from './finding.ts'
import { findImages, imagesFinding, pinnedImages } from './images-status.ts'
import { localDnsDecision } from './local-dns.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { waitingMessage } from './node-class-status.ts'
import { encryptionSetFinding, validate } from './validation.ts'

const config = goldenConfig('westus2', {
  nodeResourceGroup: 'rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
})
const image = { id: '/CommunityGalleries/g/images/i/versions/1', requirements: [] }

describe('findings (reference/azure-provider.md 1.6)', () => {
  it.each([
    ['images', [image], 'True', undefined, [image]],
    ['no images: those of before go', [], 'False', 'ImagesNotFound', []],
  ])('%s', (_, images, status, reason, left) => {
    const settings = nodeClassSettings(goldenNodeClass({}), config)
    const finding = imagesFinding(settings, { existing: [image], newest: images }, { kind: 'open' })
    expect(finding.conditions?.map((c) => [c.type, c.status, c.reason])).toEqual([['ImagesReady', status, reason]])
    expect(finding.status?.images).toEqual(left)
  })

  it.each<[string, 'open' | 'held', string]>([
    ['open', 'open', '2'],
    ['held by an annotation', 'held', '1'],
  ])('newer images, %s', (_, kind, version) => {
    const settings = nodeClassSettings(goldenNodeClass({}), config)
    const newest = [{ ...image, id: image.id.replace('1', '2') }]
    const finding = imagesFinding(settings, { existing: [image], newest }, { kind })
    expect(finding.status?.images?.map(({ id }) => id)).toEqual([image.id.replace('1', version)])
    expect(finding.conditions?.[0]?.message).toEqual(
      kind === 'held' ? expect.stringContaining('joiner.sh/hold-images') : undefined,
    )
  })

  it.each<[string, string | undefined, string | undefined]>([
    ['202512.18.0', 'True', '/CommunityGalleries/g/images/i/versions/202512.18.0'],
    ['latest', 'False', undefined],
    ['../../x', 'False', undefined],
  ])('the version %j of an annotation', (version, status, id) => {
    const plain = goldenNodeClass({})
    const pinned = { ...plain, metadata: { ...plain.metadata, annotations: { 'joiner.sh/image-version': version } } }
    const finding = pinnedImages(pinned, [image])
    expect(finding?.conditions?.[0]?.status).toBe(status)
    expect(finding?.status?.images?.[0]?.id).toBe(id)
    expect(pinnedImages(plain, [image])).toBeUndefined()
  })

  it('upstream: should reject FIPS without SIG access', async () => {
    const deps = { config } as never
    const finding = await findImages(deps, goldenNodeClass({ fipsMode: 'FIPS' }), { version: '1.34.2', isNew: false })
    expect(finding).toEqual({
      conditions: [
        {
          type: 'ImagesReady',
          status: 'False',
          reason: 'SIGRequiredForFIPS',
          message: expect.stringMatching(
            /spec\.fipsMode "FIPS" needs images from shared galleries; set USE_SIG/,
          ) as string,
        },
      ],
      status: { images: [] },
    })
  })

  it('after a failed read an earlier result for the same spec stays, and it is Unknown otherwise', () => {
    const error = new Error('no answer')
    const of = (observedGeneration: number): NodeClass => {
      const base = goldenNodeClass({}, { conditions: [{ type: 'SubnetsReady', status: 'True', observedGeneration }] })
      return { ...base, metadata: { ...base.metadata, generation: 2 } }
    }
    const part = { type: 'SubnetsReady', reason: 'SubnetUnknownError', what: 'subnet "s"' }
    expect(unread(of(2), part, error)).toEqual({ error })
    expect(unread(of(1), part, error)).toMatchObject({
      conditions: [{ type: 'SubnetsReady', status: 'Unknown', reason: 'SubnetUnknownError' }],
      error,
    })
  })

  const subnet = (name: string) => goldenSubnet.replace('aks-subnet', name)
  const withoutLabel = { ...config, networkPluginMode: '' as const }
  it.each<[Readonly<Record<string, unknown>>, AzureConfig, RegExp | undefined]>([
    [{}, config, undefined],
    [{ kubelet: { allowedUnsafeSysctls: ['net.core.somaxconn'] } }, config, undefined],
    [
      { kubelet: { allowedUnsafeSysctls: ['a b'] } },
      config,
      /^AKSNodeClass default: spec\.kubelet\.allowedUnsafe.*"a b"/,
    ],
    [{ linuxOSConfig: { swapFileSize: '10K' } }, config, /swapFileSize "10K" is not a size/],
    [{ vnetSubnetID: subnet('s'.repeat(64)) }, config, /network-subnet of its nodes.*at most 63/],
    [{ vnetSubnetID: subnet('s_') }, config, /network-subnet of its nodes/],
    [{ vnetSubnetID: subnet('s'.repeat(64)) }, withoutLabel, undefined],
  ])('an AKSNodeClass with %j is validated', async (spec, own, message) => {
    const nodeClass = goldenNodeClass(spec)
    const deps = { azure: undefined as never, config: own }
    const { conditions = [], error } = await validate(deps, nodeClass, nodeClassSettings(nodeClass, own))
    expect([conditions.length, error]).toEqual([1, undefined])
    if (message === undefined) expect(conditions[0]?.status).toBe('True')
    else
      expect(conditions[0]).toMatchObject({
        status: 'False',
        reason: 'NodeClassValidationFailed',
        message: expect.stringMatching(message),
      })
  })

  it.each<[string, Readonly<Record<string, unknown>>, Readonly<Record<string, string>>, RegExp]>([
    [
      'with each other',
      { tags: { Owner: 'a', owner: 'b' } },
      {},
      /^AKSNodeClass default: spec\.tags .*"Owner", "owner"/,
    ],
    ['with the settings', { tags: { owner: 'b' } }, { Owner: 'a' }, /"Owner" of azure\.additionalTags/],
    ['beside other errors', { tags: { a: 'v'.repeat(257) }, linuxOSConfig: { swapFileSize: '10K' } }, {}, /257.*10K/],
  ])('an AKSNodeClass whose tags are wrong %s says so', async (_how, spec, additionalTags, message) => {
    const own = { ...config, additionalTags }
    const nodeClass = goldenNodeClass(spec)
    const { conditions } = await validate(
      { azure: undefined as never, config: own },
      nodeClass,
      nodeClassSettings(nodeClass, own),
    )
    expect(conditions).toEqual([
      {
        type: 'ValidationSucceeded',
        status: 'False',
        reason: 'TagsInvalid',
        message: expect.stringMatching(message) as string,
      },
    ])
  })

  it.each([
    [401, 'DiskEncryptionSetRBACMissing'],
    [403, 'DiskEncryptionSetRBACMissing'],
    [404, undefined],
    [500, undefined],
  ])('a disk encryption set that answers %i', (statusCode, reason) => {
    const error = new RestError('refused', { statusCode, code: 'Code' })
    const finding = encryptionSetFinding('default', '/des', error)
    expect(finding.conditions?.[0]?.reason).toBe(reason)
    expect(finding.error).toBe(reason === undefined ? error : undefined)
  })

  it.each([
    [undefined, undefined, 'Disabled'],
    ['Disabled', 'Enabled', 'Disabled'],
    ['Required', undefined, 'Enabled'],
    ['Preferred', undefined, 'Disabled'],
    ['Preferred', 'Disabled', 'Disabled'],
    ['Preferred', 'Enabled', 'Enabled'],
  ] as const)('local DNS %s after %s is %s', (mode, before, state) => {
    const nodeClass = goldenNodeClass(
      mode === undefined ? {} : { localDNS: { mode } },
      before === undefined ? {} : { localDnsState: before },
    )
    expect(localDnsDecision(nodeClass, config, '1.36.0')).toBe(state)
    // The effect on launches.
    const stored = { ...nodeClass, status: { ...nodeClass.status, localDnsState: state } }
    expect(nodeClassSettings(stored, config).localDnsEnabled).toBe(state === 'Enabled')
  })
})

describe('what a deletion waits for (reference/azure-provider.md 1.5)', () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => `c${i + 1}`).toReversed()

  it.each([
    [1, 'c1'],
    [5, 'c1, c2, c3, c4, c5'],
    [7, 'c1, c2, c3, c4, c5 and 2 other(s)'],
  ])('%i claims', (count, reported) => {
    expect(waitingMessage(names(count))).toBe(`Waiting on NodeClaim termination for ${reported}`)
  })
})
