// What containerd, the kubelet and kube-proxy of a real node are told.
import { join } from 'node:path'
import { addresses } from './addresses.ts'
import { groups } from './cgroups.ts'
import { imageNames } from './images.ts'

/** The network of a node's pods, from which they have their addresses: each has a cable to the node, which passes on what it sends with its own address. */
export function podNetwork(subnet: string): object {
  const ipam = { type: 'host-local', ranges: [[{ subnet }]], routes: [{ dst: '0.0.0.0/0' }] }
  return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp', ipMasq: false, ipam }] }
}

/** Where Debian's package has the plugins of the container network interface. */
export const cniFolder = '/usr/lib/cni'

/** `folder` holds {@link podNetwork}. */
export function containerdConfig(folder: string): string {
  return `version = 3
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${imageNames.pause}"
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  # Where a machine is itself in a container, it may not let its processes live longer.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["${cniFolder}"]
    conf_dir = ${JSON.stringify(folder)}
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

/** `keys`: folder of the certificates. */
export function kubeletConfig(keys: string, resolvConf: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: addresses.node,
    authentication: {
      x509: { clientCAFile: join(keys, 'ca.crt') },
      webhook: { enabled: true },
      anonymous: { enabled: false },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(keys, 'kubelet-serving.crt'),
    tlsPrivateKeyFile: join(keys, 'kubelet-serving.key'),
    clusterDNS: [addresses.dns],
    clusterDomain: 'cluster.local',
    resolvConf,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${groups.pods}`,
    failCgroupV1: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    // The disk is the machine's, which may be nearly full.
    imageGCHighThresholdPercent: 100,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '100Mi',
      'imagefs.available': '100Mi',
    },
    registerWithTaints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }],
  }
}

/** `node`: the name of its Node. */
export function proxyConfig(kubeconfig: string, node: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clusterCIDR: addresses.pods,
    hostnameOverride: node,
    clientConnection: { kubeconfig },
    // Limits of the machine, not of the node.
    conntrack: { maxPerCore: 0, min: 0 },
  }
}
