import { describe, expect, it } from 'vitest'
import { pathText } from '../values/field-error.ts'
import { type JudgedNodeClassSpec, nodeClassErrors } from './node-class-validation.ts'

const subnet = (name: string) =>
  `/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/MC_a(b)_ö/providers/Microsoft.Network/virtualNetworks/aks-vnet-1/subnets/${name}`

describe('an AKSNodeClass', () => {
  it.each<[string, JudgedNodeClassSpec]>([
    ['that says nothing', {}],
    [
      'with namespaced sysctls',
      { kubelet: { allowedUnsafeSysctls: ['net.core.somaxconn', 'kernel.msg*', 'kernel.sem'] } },
    ],
    ['with slashes in sysctls', { kubelet: { allowedUnsafeSysctls: ['net/ipv4/conf/eth0.100/forwarding', 'net.*'] } }],
    ['with a period', { kubelet: { cpuCFSQuotaPeriod: '50ms', containerLogMaxSize: '10Mi' } }],
    ["with kubelet's own period", { kubelet: { cpuCFSQuotaPeriod: '0s' } }],
    ['with swap', { linuxOSConfig: { swapFileSize: '1Mi' } }],
    ['with a subnet', { vnetSubnetID: subnet('a_b.c-1') }],
    ['with a subnet in other letters', { vnetSubnetID: subnet('s').toUpperCase() }],
    ['with DNS', { localDNS: { vnetDNSOverrides: [{ cacheDuration: '596523h', serveStaleDuration: '1h' }] } }],
  ])('%s is valid', (_, spec) => {
    expect(nodeClassErrors('default', spec)).toEqual([])
  })

  it.each<[JudgedNodeClassSpec, string, RegExp]>([
    [
      { kubelet: { allowedUnsafeSysctls: ['net.core.x', 'a b'] } },
      'spec.kubelet.allowedUnsafeSysctls[1]',
      /"a b" is no name/,
    ],
    [{ kubelet: { allowedUnsafeSysctls: ['net.a,--v=9'] } }, 'spec.kubelet.allowedUnsafeSysctls[0]', /is no name/],
    [
      { kubelet: { allowedUnsafeSysctls: ['net.a\nX=1'] } },
      'spec.kubelet.allowedUnsafeSysctls[0]',
      /"net\.a\\nX=1" is no/,
    ],
    [
      { kubelet: { allowedUnsafeSysctls: ['vm.swappiness'] } },
      'spec.kubelet.allowedUnsafeSysctls[0]',
      /not namespaced/,
    ],
    [{ kubelet: { allowedUnsafeSysctls: ['kernel.*'] } }, 'spec.kubelet.allowedUnsafeSysctls[0]', /not namespaced/],
    [{ kubelet: { allowedUnsafeSysctls: [`net.${'a'.repeat(250)}`] } }, 'spec.kubelet.allowedUnsafeSysctls[0]', /253/],
    [{ kubelet: { cpuCFSQuotaPeriod: 'banana' } }, 'spec.kubelet.cpuCFSQuotaPeriod', /"banana" is not a duration/],
    [{ kubelet: { cpuCFSQuotaPeriod: '2s' } }, 'spec.kubelet.cpuCFSQuotaPeriod', /from 1ms to 1s/],
    [{ kubelet: { cpuCFSQuotaPeriod: '-100ms' } }, 'spec.kubelet.cpuCFSQuotaPeriod', /from 1ms to 1s/],
    [{ kubelet: { containerLogMaxSize: '10K' } }, 'spec.kubelet.containerLogMaxSize', /"10K" is not a size/],
    [{ linuxOSConfig: { swapFileSize: '512Ki' } }, 'spec.linuxOSConfig.swapFileSize', /"512Ki" is not a size/],
    [{ linuxOSConfig: { swapFileSize: '9Ei' } }, 'spec.linuxOSConfig.swapFileSize', /is not a size/],
    [{ vnetSubnetID: subnet('s\nKUBELET_FLAGS=') }, 'spec.vnetSubnetID', /is not the id of a subnet/],
    [{ vnetSubnetID: subnet('$(reboot)') }, 'spec.vnetSubnetID', /is not the id of a subnet/],
    [
      { localDNS: { kubeDNSOverrides: [{}, { serveStaleDuration: '999999999h' }] } },
      'spec.localDNS.kubeDNSOverrides[1].serveStaleDuration',
      /longer than a node can count/,
    ],
  ])('with %j is refused at %s', (spec, path, message) => {
    const errors = nodeClassErrors('default', spec)
    expect(errors.map((error) => pathText(error.path))).toEqual([path])
    expect(errors[0]?.message).toMatch(message)
  })

  it('whose name is too long for a label is refused', () => {
    expect(nodeClassErrors('n'.repeat(64), {})).toMatchObject([{ path: ['metadata', 'name'] }])
  })
})
