// Where everything of a real node is: addresses that no other part of this machine may have.
export const addresses = {
  /** This machine, as its end of the cable. The API server and Azure listen here. */
  host: '10.200.0.1',
  node: '10.200.0.2',
  pods: '10.201.0.0/24',
  /** What the API server gives to Services. */
  services: '10.96.0.0/16',
  apiService: '10.96.0.1',
  dns: '10.96.0.10',
} as const

export const nodeName = 'real-1'
/** Of the network interface on this machine. */
export const cable = 'joiner-real'
/** The cgroup that everything of it is below. */
export const cgroup = 'joiner-real-nodes'
