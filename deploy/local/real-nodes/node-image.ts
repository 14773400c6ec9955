// What a node image of AKS has, and does with what its controller hands to the provisioning scripts (docs/reference/bootstrap.md 4.3, 5).
import { stringify } from 'yaml'
import { kubeconfig } from '../kubernetes.ts'

type Environment = Readonly<Record<string, string>>

interface NodeFile {
  readonly text: string
  readonly mode?: number
}

const kubeletFolder = '/var/lib/kubelet'
const certs = '/etc/kubernetes/certs'

export const places = {
  cni: '/etc/cni/net.d',
  bootstrapKubeconfig: `${kubeletFolder}/bootstrap-kubeconfig`,
  kubeletFile: '/etc/default/kubeletconfig.json',
  volumePlugins: '/etc/kubernetes/volumeplugins',
  /** What the kubelet is told of this machine, which is no VM of Azure. */
  ofMachine: '/etc/kubernetes/kubelet-of-machine',
} as const

/** How images are pulled from a registry of Azure; there is none here. */
const credentialProvider = {
  apiVersion: 'kubelet.config.k8s.io/v1',
  kind: 'CredentialProviderConfig',
  providers: [
    {
      name: 'acr-credential-provider',
      matchImages: ['*.azurecr.io'],
      defaultCacheDuration: '10m',
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    },
  ],
} as const

/** A kubelet refuses cgroups of version 1 by itself; those of AKS have version 2. */
const ofMachine = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  failCgroupV1: false,
} as const

/** The files by their paths, of the image and of its scripts, that the kubelet reads. `serving`: the certificate that the node has signed for itself. */
export function imageFiles({
  environment,
  kubeletConfigFile,
  serving,
}: {
  readonly environment: Environment
  readonly kubeletConfigFile: object | undefined
  readonly serving: { readonly cert: string; readonly key: string }
}): Readonly<Record<string, NodeFile>> {
  const caFile = `${certs}/ca.crt`
  const server = `https://${environment['API_SERVER_NAME']}`
  const user = { token: environment['TLS_BOOTSTRAP_TOKEN'] ?? '' }
  return {
    [caFile]: { text: Buffer.from(environment['KUBE_CA_CRT'] ?? '', 'base64').toString() },
    [`${certs}/kubeletserver.crt`]: { text: serving.cert },
    [`${certs}/kubeletserver.key`]: { text: serving.key, mode: 0o600 },
    '/etc/kubernetes/manifests/.keep': { text: '' },
    [`${places.volumePlugins}/.keep`]: { text: '' },
    [`${places.cni}/.keep`]: { text: '' },
    [places.bootstrapKubeconfig]: { text: kubeconfig({ server, caFile, user }), mode: 0o600 },
    [places.kubeletFile]: { text: JSON.stringify(kubeletConfigFile ?? {}) },
    [`${places.ofMachine}/10-machine.conf`]: { text: stringify(ofMachine) },
    [`${kubeletFolder}/credential-provider-config.yaml`]: { text: stringify(credentialProvider) },
    [`${kubeletFolder}/credential-provider/acr-credential-provider`]: { text: '#!/bin/sh\nexit 1\n', mode: 0o755 },
    '/run/systemd/resolve/resolv.conf': { text: 'nameserver 168.63.129.16\n' },
    '/etc/machine-id': { text: `${crypto.randomUUID().replaceAll('-', '')}\n` },
  }
}

/** The kubelet's arguments as the image's unit has them: its own, then those of the environment. */
export function kubeletArguments(environment: Environment, address: string): readonly string[] {
  return [
    '--enable-server',
    `--node-labels=${environment['KUBELET_NODE_LABELS']}`,
    '--v=2',
    `--volume-plugin-dir=${places.volumePlugins}`,
    `--bootstrap-kubeconfig=${places.bootstrapKubeconfig}`,
    ...(environment['KUBELET_CONFIG_FILE_ENABLED'] === 'true' ? [`--config=${places.kubeletFile}`] : []),
    `--config-dir=${places.ofMachine}`,
    '--container-runtime-endpoint=unix:///run/containerd/containerd.sock',
    `--node-ip=${address}`,
    ...(environment['KUBELET_FLAGS'] ?? '').split(' ').filter(Boolean),
  ]
}
