import { describe, expect, it } from 'vitest'
import { parseNodeConfig } from '../../../api/node-config/parse.ts'
import type { KubeletSettings } from '../node-class/node-class-settings.ts'
import { kubeletConfigFile, linuxOsConfig } from './node-os.ts'

describe('the operating system of a node', () => {
  it("is the image's where nothing is set", () => {
    expect(linuxOsConfig(undefined)).toBeUndefined()
    expect(linuxOsConfig({})).toBeUndefined()
  })

  it('has kernel settings, swap in whole mebibytes and huge pages as configured', () => {
    expect(
      linuxOsConfig({
        swapFileSize: '1500Mi',
        transparentHugePageEnabled: 'madvise',
        transparentHugePageDefrag: 'defer+madvise',
        sysctls: { netCoreSomaxconn: 32768, netIPv4TCPTwReuse: true, netIPv4IPLocalPortRange: '32768 60999' },
      }),
    ).toEqual({
      sysctl_config: {
        net_core_somaxconn: 32768,
        net_ipv4_tcp_tw_reuse: true,
        net_ipv4_ip_local_port_range: '32768 60999',
      },
      enable_swap_config: true,
      swap_file_size: 1500,
      transparent_hugepage_support: 'madvise',
      transparent_defrag: 'defer+madvise',
    })
  })

  it.each([
    ['2Gi', 2048],
    ['2G', 1907],
  ])('has a swap file of %s as %i MB', (swapFileSize, megabytes) => {
    expect(linuxOsConfig({ swapFileSize })?.swap_file_size).toBe(megabytes)
  })
})

describe("kubelet's configuration file", () => {
  it.each<[KubeletSettings]>([
    [{}],
    [{ cpuCFSQuotaPeriod: '100ms', cpuCFSQuota: true }],
    [{ cpuCFSQuotaPeriod: '0s' }],
    [{ cpuManagerPolicy: 'static', containerLogMaxSize: '50Mi' }],
  ])('is not written for %j, which flags or kubelet itself take care of', (kubelet) => {
    expect(kubeletConfigFile(kubelet)).toBeUndefined()
  })

  it.each([
    [{ failSwapOn: false }, { fail_swap_on: false }],
    [{ failSwapOn: true }, { fail_swap_on: true }],
    [
      { cpuCFSQuotaPeriod: '200ms' },
      { cpu_cfs_quota_period: '200ms', feature_gates: { CustomCPUCFSQuotaPeriod: true } },
    ],
  ])('holds of %j what kubelet has no flag for, and nothing else', (kubelet, expected) => {
    expect(kubeletConfigFile({ ...kubelet, cpuManagerPolicy: 'static' })).toEqual({
      enable_kubelet_config_file: true,
      kubelet_config_file_config: {
        kind: 'KubeletConfiguration',
        api_version: 'kubelet.config.k8s.io/v1beta1',
        ...expected,
      },
    })
    expect(parseNodeConfig({ kubelet_config: kubeletConfigFile(kubelet) }).problems).toEqual([])
  })
})
