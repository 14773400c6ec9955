import { describe, expect, it } from 'vitest'
import { checkSubnet, scarcityOf } from './subnet-status.ts'

const id = (vnet: string, name: string, group = 'rg', subscription = 's') =>
  `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network/virtualNetworks/${vnet}/subnets/${name}`
const own = { subnetId: id('net', 'nodes'), nodeResourceGroup: 'MC_rg' }
const managed = { subnetId: id('aks-vnet-12345678', 'aks-subnet', 'MC_rg'), nodeResourceGroup: 'mc_RG' }

describe('the id of the subnet of nodes (reference/azure-provider.md 1.6)', () => {
  it.each([
    ['that of the cluster', own.subnetId, own],
    ['that of the cluster in the network of AKS', managed.subnetId, managed],
    ["another one of the cluster's network", id('net', 'more'), own],
  ])('%s is good', (_, subnet, config) => {
    expect(checkSubnet(subnet, config).kind).toBe('subnet')
  })

  it.each([
    ['no id', 'nodes', own, /is not the id of a subnet/],
    ['an id with more in it', `${own.subnetId}/x/y`, own, /is not the id of a subnet/],
    ['another network', id('other', 'nodes'), own, /virtual network "other" is not "net"/],
    ['the network in other letters', id('NET', 'nodes'), own, /virtual network "NET" is not "net"/],
    ['another resource group', id('net', 'nodes', 'RG'), own, /resource group "RG" is not "rg"/],
    ['another subscription', id('net', 'nodes', 'rg', 'S'), own, /subscription "S" is not "s"/],
    ['another subnet in the network of AKS', id('aks-vnet-12345678', 'more', 'MC_rg'), managed, /AKS manages/],
    ['a cluster subnet that is none', own.subnetId, { ...own, subnetId: 'nodes' }, /VNET_SUBNET_ID "nodes"/],
  ])('%s is refused', (_, subnet, config, why) => {
    const checked = checkSubnet(subnet, config)
    expect(checked.kind === 'invalid' && checked.message).toMatch(why)
  })
})

describe('a subnet that is nearly full', () => {
  const used = (count: number) => Array.from({ length: count }, () => ({}))

  it.each([
    ['plenty', { addressPrefix: '10.0.0.0/24', ipConfigurations: used(246) }, 1, undefined],
    ['little', { addressPrefix: '10.0.0.0/24', ipConfigurations: used(247) }, 1, /fewer than 5 more nodes/],
    ['none', { addressPrefix: '10.0.0.0/29', ipConfigurations: used(3) }, 1, /no more node /],
    ['more than there is', { addressPrefix: '10.0.0.0/29', ipConfigurations: used(9) }, 1, /no more node /],
    [
      'little where each pod has an address',
      { addressPrefix: '10.0.0.0/24' },
      60,
      /fewer than 5 more nodes \(60 each\)/,
    ],
    [
      'two prefixes',
      { addressPrefixes: ['10.0.0.0/28', '10.1.0.0/28', 'fd00::/64'], ipConfigurations: used(17) },
      1,
      undefined,
    ],
    ['nothing that ARM says', {}, 1, undefined],
  ])('%s', (_, subnet, perNode, message) => {
    const reported = scarcityOf(subnet, perNode)
    if (message === undefined) expect(reported).toBeUndefined()
    else expect(reported).toMatch(message)
  })
})
