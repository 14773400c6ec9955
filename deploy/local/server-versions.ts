import type { Release } from './download.ts'

/** Kubernetes as the local cluster runs it by default, and the last patch of the oldest that the chart allows. */
export const kubernetesVersions = { newest: '1.36.3', oldest: '1.30.14' } as const
export type KubernetesAge = keyof typeof kubernetesVersions

export interface Server {
  readonly version: string
  /** Folder under `servers/` with the module that pins the source. */
  readonly family: string
  readonly package: string
  readonly ldflags?: string
  /** Build tags, comma-separated. */
  readonly tags?: string
  /** Arguments that make it print its version. Absent: it cannot, so none is looked for on the PATH. */
  readonly versionArgs?: readonly string[]
  /** Where its binary is published. Absent: nowhere, so it is built. */
  readonly release?: (platform: string) => Release
}

const kubernetes = (
  name: string,
  versionArgs: readonly string[] = ['--version'],
  age: KubernetesAge = 'newest',
): Server => {
  const version = kubernetesVersions[age]
  const [major, minor] = version.split('.')
  const flags = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor }
  return {
    version,
    family: age === 'newest' ? 'kubernetes' : 'kubernetes-oldest',
    package: `k8s.io/kubernetes/cmd/${name}`,
    ldflags: Object.entries(flags)
      .map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`)
      .join(' '),
    versionArgs,
    release: (platform) => {
      const url = `https://dl.k8s.io/release/v${version}/bin/${platform}/${name}`
      return { url, checksumUrl: `${url}.sha256` }
    },
  }
}

const temporalCli = (version: string, family: string): Server => ({
  version,
  family,
  package: 'github.com/temporalio/cli/cmd/temporal',
  versionArgs: ['--version'],
  release: (platform) => {
    const archive = `temporal_cli_${version}_${platform.replace('/', '_')}.tar.gz`
    const base = `https://github.com/temporalio/cli/releases/download/v${version}`
    return { url: `${base}/${archive}`, checksumUrl: `${base}/checksums.txt`, member: 'temporal' }
  },
})

const temporalServerRelease = (platform: string): Release => {
  const base = 'https://github.com/temporalio/temporal/releases/download/v1.31.2'
  const archive = `temporal_1.31.2_${platform.replace('/', '_')}.tar.gz`
  return { url: `${base}/${archive}`, checksumUrl: `${base}/checksums.txt` }
}

const prometheusVersion = '3.16.0'

/** Without service discovery, which would bring in the SDKs of all clouds; its Go module counts 3.16.0 as 0.316.0. */
const prometheus = (name: string): Server => ({
  version: prometheusVersion,
  family: 'prometheus',
  package: `github.com/prometheus/prometheus/cmd/${name}`,
  ldflags: `-X github.com/prometheus/common/version.Version=${prometheusVersion}`,
  tags: 'remove_all_sd',
  versionArgs: ['--version'],
  release: (platform) => {
    const archive = `prometheus-${prometheusVersion}.${platform.replace('/', '-')}`
    const base = `https://github.com/prometheus/prometheus/releases/download/v${prometheusVersion}`
    return { url: `${base}/${archive}.tar.gz`, checksumUrl: `${base}/sha256sums.txt`, member: `${archive}/${name}` }
  },
})

/** Of the container runtime of a real node. */
const containerd = (name: string): Server => ({
  version: '2.4.2',
  family: 'containerd',
  package: `github.com/containerd/containerd/v2/cmd/${name}`,
  tags: 'no_btrfs,no_zfs,no_devmapper',
})

/** What pods of a real node run and we have no image of, as static programs. */
const nodeImage = (name: string, version: string): Server => ({
  version,
  family: 'node-images',
  package: `joiner.sh/deploy/local/servers/node-images/${name}`,
})

/** The servers of the local cluster, Kubernetes' at the newest version. */
export const servers = {
  etcd: {
    version: '3.6.16',
    family: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const archive = `etcd-v3.6.16-${platform.replace('/', '-')}`
      const base = 'https://github.com/etcd-io/etcd/releases/download/v3.6.16'
      return { url: `${base}/${archive}.tar.gz`, checksumUrl: `${base}/SHA256SUMS`, member: `${archive}/etcd` }
    },
  },
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubectl: kubernetes('kubectl', ['version', '--client']),
  kubelet: kubernetes('kubelet'),
  'kube-proxy': kubernetes('kube-proxy'),
  containerd: containerd('containerd'),
  'containerd-shim-runc-v2': containerd('containerd-shim-runc-v2'),
  ctr: containerd('ctr'),
  coredns: nodeImage('coredns', '1.14.7'),
  pause: nodeImage('pause', '1.0.0'),
  kwok: {
    version: '0.8.0',
    family: 'kwok',
    package: 'sigs.k8s.io/kwok/cmd/kwok',
    versionArgs: ['--version'],
    release: (platform: string) => {
      const url = `https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0/kwok-${platform.replace('/', '-')}`
      return { url, checksumUrl: `${url}.sha256` }
    },
  },
  temporal: temporalCli('1.8.2', 'temporal'),
  /** Its development server is 1.29, the oldest that Joiner works with. */
  'temporal-oldest': temporalCli('1.5.1', 'temporal-oldest'),
  /** The whole server, which can demand client certificates and tokens. The development server in the CLI cannot. */
  'temporal-server': {
    version: '1.31.2',
    family: 'temporal-server',
    package: 'go.temporal.io/server/cmd/server',
    versionArgs: ['--version'],
    release: (platform: string) => ({ ...temporalServerRelease(platform), member: 'temporal-server' }),
  },
  /** Makes the tables of the whole server in a SQL database. */
  'temporal-sql-tool': {
    version: '1.31.2',
    family: 'temporal-server',
    package: 'go.temporal.io/server/cmd/tools/sql',
    release: (platform: string) => ({ ...temporalServerRelease(platform), member: 'temporal-sql-tool' }),
  },
  /** The operator of KEDA, which scales Deployments by events. It cannot print its version, and is published as an image alone. */
  'keda-operator': {
    version: '2.21.0',
    family: 'keda',
    package: 'github.com/kedacore/keda/v2/cmd/operator',
  },
  prometheus: prometheus('prometheus'),
  promtool: prometheus('promtool'),
  helm: {
    version: '4.3.1',
    family: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    versionArgs: ['version', '--short'],
    release: (platform: string) => {
      const archive = `helm-v4.3.1-${platform.replace('/', '-')}.tar.gz`
      return {
        url: `https://get.helm.sh/${archive}`,
        checksumUrl: `https://get.helm.sh/${archive}.sha256sum`,
        member: `${platform.replace('/', '-')}/helm`,
      }
    },
  },
} as const satisfies Record<string, Server>

export type ServerName = keyof typeof servers

/** A server, where it is one of Kubernetes' at the version that is asked for. */
export function serverOf(name: ServerName, age: KubernetesAge): Server {
  const server: Server = servers[name]
  return server.family === 'kubernetes' ? kubernetes(name, server.versionArgs, age) : server
}

/** What a real node consists of. */
export const nodeServers = [
  'kubelet',
  'kube-proxy',
  'containerd',
  'containerd-shim-runc-v2',
  'ctr',
  'coredns',
  'pause',
] as const satisfies readonly ServerName[]
