import { z } from 'zod'
import { type Checked, list, map, numberFrom, record, strictRecord, text } from '../../../../api/shapes/shape.ts'

const prefixRemedy = 'write a prefix such as 10.224.0.0/16, from /8 to /29'

const subnet = strictRecord(
  {
    name: text,
    /** Azure keeps five of its addresses. */
    prefix: z.string(prefixRemedy).regex(/^\d+\.\d+\.\d+\.\d+\/([89]|[12]\d)$/, prefixRemedy),
    /** Addresses that others than the simulator's VMs hold. Default 0. */
    othersHold: numberFrom(0),
    /** Name of its NSG, in the node resource group. */
    networkSecurityGroup: text,
  },
  ['name', 'prefix'],
)

const virtualNetwork = strictRecord(
  {
    name: text,
    /** Default: the node resource group. */
    resourceGroup: text,
    resourceGuid: text,
    subnets: list(subnet),
  },
  ['name', 'subnets'],
)

const networkSecurityGroup = strictRecord(
  {
    name: text,
    tags: map(text),
    /** Bodies of security rules as ARM shows them. */
    securityRules: list(record({ name: text }, ['name']).loose()),
  },
  ['name'],
)

const loadBalancer = strictRecord({ name: text, backendPools: list(text) }, ['name', 'backendPools'])

/** The networks around the VMs. What is given of a kind replaces the default of that kind. */
export const networkShape = strictRecord({
  /** Default: the one of the configured subnet, `10.224.0.0/16`. */
  virtualNetworks: list(virtualNetwork),
  /** Default: one, named as AKS names it. */
  networkSecurityGroups: list(networkSecurityGroup),
  /** Default: `kubernetes` and `kubernetes-internal`. */
  loadBalancers: list(loadBalancer),
})

export type VirtualNetwork = Checked<typeof virtualNetwork>
export type Subnet = Checked<typeof subnet>
export type NetworkSecurityGroup = Checked<typeof networkSecurityGroup>
export type LoadBalancer = Checked<typeof loadBalancer>
