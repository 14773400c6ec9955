import { describe, expect, it } from 'vitest'
import { goldenSuite } from '../../test/vectors/golden-suite.ts'
import { nodeClassHash, nodeClassHashVersion } from './node-class-hash.ts'

type Spec = Readonly<Record<string, unknown>>

interface HashCase {
  readonly name: string
  readonly spec: Spec
  readonly storedSpec: Spec
  readonly hashOfWritten: string
  readonly hashOfStored: string
}

interface HashFile {
  readonly cases: readonly HashCase[]
  readonly hashVersion: string
}

goldenSuite('azure/aksnodeclass-hash', 47, ({ cases, hashVersion }: HashFile) => {
  it('are of the version that runs in production', () => {
    expect(nodeClassHashVersion).toBe(hashVersion)
  })

  it.each(cases)('$name', ({ spec, storedSpec, hashOfWritten, hashOfStored }) => {
    expect({ stored: nodeClassHash(storedSpec), written: nodeClassHash(spec) }).toEqual({
      stored: hashOfStored,
      written: hashOfWritten,
    })
  })
})

describe('the hash of an AKSNodeClass', () => {
  const base: Spec = {
    vnetSubnetID: 'subnet-id',
    osDiskSizeGB: 30,
    imageFamily: 'Ubuntu2204',
    kubelet: {
      cpuManagerPolicy: 'static',
      cpuCFSQuota: true,
      cpuCFSQuotaPeriod: '100ms',
      imageGCHighThresholdPercent: 85,
      imageGCLowThresholdPercent: 80,
      topologyManagerPolicy: 'none',
      allowedUnsafeSysctls: ['net.core.somaxconn'],
      containerLogMaxSize: '10Mi',
      containerLogMaxFiles: 10,
    },
    maxPods: 100,
  }
  const zone = { zone: 'example.com' }

  // Golden values of reference/azure-provider.md 1.4.
  it.each<[string, Spec, string]>([
    ['the base', {}, '4108492229247269128'],
    ['another subnet', { vnetSubnetID: 'subnet-id-2' }, '13971920214979852468'],
    ['another disk', { osDiskSizeGB: 40 }, '7816855636861645563'],
    ['a managed disk', { osDiskType: 'Managed' }, '10944184826674581697'],
    ['another image family', { imageFamily: 'AzureLinux' }, '15616969746300892810'],
    ['more pods', { maxPods: 200 }, '15508761509963240710'],
    ['local DNS', { localDNS: { mode: 'Required' } }, '17805442572569734619'],
    [
      'a zone of the network',
      { localDNS: { vnetDNSOverrides: [{ ...zone, queryLogging: 'Log' }] } },
      '14608914734386108436',
    ],
    [
      'a zone of the cluster',
      { localDNS: { kubeDNSOverrides: [{ ...zone, protocol: 'ForceTCP' }] } },
      '4529827108104295737',
    ],
    ['artifact streaming', { artifactStreaming: { enabled: true } }, '15355387647114481444'],
    ['tags, which do not count', { tags: { team: 'a' } }, '4108492229247269128'],
  ])('with %s', (_, change, hash) => {
    expect(nodeClassHash({ ...base, ...change })).toBe(hash)
  })

  it('distinguishes an empty object from none, and a false from an unset field', () => {
    const hashes = [{}, { gpu: {} }, { security: {} }, { security: { encryptionAtHost: false } }].map(nodeClassHash)
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})
