// How the processes of a local Kubernetes are started.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import type { LocalCluster } from './local-cluster.ts'
import type { ProcessSpec } from './supervisor.ts'

/** Who issues the tokens of ServiceAccounts. */
export const serviceAccountIssuer = 'https://kubernetes.default.svc'

export function etcdSpec({ binaries, ports, stateDir }: LocalCluster): ProcessSpec {
  const client = `http://127.0.0.1:${ports.etcd}`
  const peer = `http://127.0.0.1:${ports.etcdPeer}`
  return {
    name: 'etcd',
    command: binaries.etcd,
    args: [
      `--data-dir=${join(stateDir, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
  }
}

export function apiserverSpec(
  { binaries, host, ports, pki }: LocalCluster,
  tokens: string,
  more: readonly string[],
): ProcessSpec {
  return {
    name: 'kube-apiserver',
    command: binaries['kube-apiserver'],
    args: [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      `--secure-port=${ports.apiserver}`,
      `--bind-address=${host}`,
      `--tls-cert-file=${pki.serverCertFile}`,
      `--tls-private-key-file=${pki.serverKeyFile}`,
      `--client-ca-file=${pki.caFile}`,
      `--token-auth-file=${tokens}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement',
      '--enable-bootstrap-token-auth',
      `--service-account-key-file=${pki.serviceAccountPublicFile}`,
      `--service-account-signing-key-file=${pki.serviceAccountKeyFile}`,
      `--service-account-issuer=${serviceAccountIssuer}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--allow-privileged',
      '--max-requests-inflight=1200',
      '--max-mutating-requests-inflight=600',
      ...more,
    ],
  }
}

// Their own limits would be what a benchmark measures.
const raisedLimits = ['--kube-api-qps=500', '--kube-api-burst=1000'] as const

/** Checks the types of admission policies' expressions, which takes more processor time than all other controllers of a new cluster. */
export const policyTypesController = 'validatingadmissionpolicy-status-controller'

export function controllerManagerSpec(
  { binaries, pki, adminKubeconfig }: LocalCluster,
  controllers = `*,bootstrapsigner,tokencleaner,-${policyTypesController}`,
): ProcessSpec {
  return {
    name: 'kube-controller-manager',
    command: binaries['kube-controller-manager'],
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--leader-elect=false',
      `--service-account-private-key-file=${pki.serviceAccountKeyFile}`,
      `--root-ca-file=${pki.caFile}`,
      `--cluster-signing-cert-file=${pki.caFile}`,
      `--cluster-signing-key-file=${pki.caKeyFile}`,
      `--controllers=${controllers}`,
      '--secure-port=0',
      ...raisedLimits,
    ],
  }
}

export function schedulerSpec({ binaries, adminKubeconfig }: LocalCluster): ProcessSpec {
  return {
    name: 'kube-scheduler',
    command: binaries['kube-scheduler'],
    args: [`--kubeconfig=${adminKubeconfig}`, '--leader-elect=false', '--secure-port=0', ...raisedLimits],
  }
}

export function kwokSpec({ binaries, adminKubeconfig }: LocalCluster): ProcessSpec {
  return {
    name: 'kwok',
    command: binaries.kwok,
    args: [
      `--kubeconfig=${adminKubeconfig}`,
      '--manage-all-nodes=false',
      '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
      '--node-ip=127.0.0.1',
      '--cidr=10.64.0.0/12',
      '--node-lease-duration-seconds=40',
      `--config=${fileURLToPath(new URL('./kwok-stages.yaml', import.meta.url))}`,
    ],
  }
}

interface KubeconfigInput {
  readonly server: string
  readonly caFile: string
  readonly user:
    | { readonly token: string }
    | { readonly tokenFile: string }
    | { readonly 'client-certificate': string; readonly 'client-key': string }
}

/** A kubeconfig with one cluster and one user. */
export function kubeconfig({ server, caFile, user }: KubeconfigInput): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'local',
    clusters: [{ name: 'local', cluster: { server, 'certificate-authority': caFile } }],
    users: [{ name: 'local', user }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'local' } }],
  })
}

/** Where an API server records its requests. */
export const auditLogFile = (stateDir: string) => join(stateDir, 'audit.log')

/** Writes the policy, and returns the arguments of an API server that records each answered request but watches. */
export async function auditArgs(stateDir: string): Promise<readonly string[]> {
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
    rules: [{ level: 'None', verbs: ['watch'] }, { level: 'Metadata' }],
  }
  const policyFile = join(stateDir, 'audit-policy.yaml')
  await writeFile(policyFile, stringify(policy))
  return [
    `--audit-policy-file=${policyFile}`,
    `--audit-log-path=${auditLogFile(stateDir)}`,
    '--audit-log-mode=batch',
    '--audit-log-batch-max-wait=1s',
  ]
}
