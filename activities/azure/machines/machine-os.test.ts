import { describe, expect, it } from 'vitest'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { goldenNodeClass } from '../../../test/vectors/golden-cases.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { machineKubelet, osSku } from './machine-os.ts'

describe('the operating system of a machine', () => {
  it.each([
    ['Ubuntu2204', undefined, '1.28.0', 'Ubuntu2204'],
    ['Ubuntu2204', undefined, '1.29.0', 'Ubuntu2204'],
    ['AzureLinux', undefined, '1.28.0', 'AzureLinux'],
    ['AzureLinux', undefined, '1.32.0', 'AzureLinux'],
    ['AzureLinux', undefined, '', 'AzureLinux'],
    ['AzureLinux', 'FIPS', '1.28.0', 'AzureLinux'],
    ['Ubuntu', 'FIPS', '1.28.0', 'Ubuntu'],
    ['Ubuntu', undefined, '1.28.0', 'Ubuntu2204'],
    ['Ubuntu', undefined, '1.34.0', 'Ubuntu2404'],
    [undefined, undefined, '1.28.0', 'Ubuntu2204'],
  ])('of the family %s, with %s, of Kubernetes "%s", is %s', (imageFamily, fipsMode, version, expected) => {
    const spec = { ...(imageFamily && { imageFamily }), ...(fipsMode && { fipsMode }) }
    expect(osSku(nodeClassSettings(goldenNodeClass(spec), azureConfig), version)).toBe(expected)
  })
})

describe("the kubelet's settings of a machine", () => {
  it('have the names and units of AKS', () => {
    expect(
      machineKubelet({
        cpuManagerPolicy: 'static',
        cpuCFSQuota: true,
        topologyManagerPolicy: 'single-numa-node',
        imageGCHighThresholdPercent: 85,
        imageGCLowThresholdPercent: 80,
        allowedUnsafeSysctls: ['kernel.shm_rmid_forced', 'net.core.somaxconn'],
        containerLogMaxSize: '100Mi',
        containerLogMaxFiles: 5,
        podPidsLimit: 2048,
      }),
    ).toEqual({
      cpuManagerPolicy: 'static',
      cpuCfsQuota: true,
      topologyManagerPolicy: 'single-numa-node',
      imageGcHighThreshold: 85,
      imageGcLowThreshold: 80,
      allowedUnsafeSysctls: ['kernel.shm_rmid_forced', 'net.core.somaxconn'],
      containerLogMaxSizeMB: 100,
      containerLogMaxFiles: 5,
      podMaxPids: 2048,
    })
  })

  it('are what is set, also where that is false, and a quota period of zero is none', () => {
    expect(machineKubelet({})).toEqual({})
    expect(machineKubelet({ cpuCFSQuota: false, cpuCFSQuotaPeriod: '0s' })).toEqual({ cpuCfsQuota: false })
  })
})
