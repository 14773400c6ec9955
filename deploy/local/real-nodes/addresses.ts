// Where everything of a real node is: addresses that no other part of this machine may have.
export const addresses = {
  /** This machine, as its end of the cable. The API server and Azure listen here. */
  host: '10.200.0.1',
  node: '10.200.0.2',
  /** All pods; those of the node are in the first of its ranges of 256. */
  pods: '10.201.0.0/16',
  /** The simulator's subnet, in which VMs have their addresses. */
  vms: '10.224.0.0/16',
  /** What the API server gives to Services. */
  services: '10.96.0.0/16',
  apiService: '10.96.0.1',
  dns: '10.96.0.10',
} as const

export const nodeName = 'real-1'
/** Of the network interface on this machine; those of VMs have a number behind it. */
export const cable = 'joiner-real'
/** The cable of a VM, by its number from 1 on. */
export const vmCable = (number: number) => `${cable}-${number}`
/** The range of one node's pods. 0: of the node; others are VMs'. */
export const podsOf = (number: number) => addresses.pods.replace('.0.0/16', `.${number}.0/24`)
/** The cgroup that everything of it is below. */
export const cgroup = 'joiner-real-nodes'
