import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The file that commands read the cluster's address from, as kubectl takes it: KUBECONFIG, else the pod's own (undefined), else the user's. */
export function kubeconfig(): string | undefined {
  const named = process.env['KUBECONFIG']
  if (named !== undefined && named !== '') return named
  const isInCluster = existsSync('/var/run/secrets/kubernetes.io/serviceaccount/token')
  return isInCluster ? undefined : join(homedir(), '.kube', 'config')
}
