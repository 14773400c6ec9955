import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node'
import { parse } from 'yaml'

/** Interval of reading a token file again: tokens are renewed well before they end. */
const tokenReadEveryMs = 5000

/** Certificates of a connection, as client-node gives them. */
interface Certificates {
  ca?: string | Buffer
  cert?: string | Buffer
  key?: string | Buffer
}

/** Address and credentials of a cluster. */
interface Connection {
  readonly server: string
  readonly tls: Certificates & { readonly rejectUnauthorized?: boolean }
  readonly token: () => string | undefined
}

/** Reads a kubeconfig, or the pod's own service account when no file is named. Errors: a kubeconfig whose context names no cluster. */
export async function readConnection(kubeconfig: string | undefined): Promise<Connection> {
  const config = new KubeConfig()
  if (kubeconfig === undefined) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  const cluster = config.getCurrentCluster()
  if (cluster === null)
    throw new Error(`kubeconfig ${kubeconfig ?? '(in cluster)'}: current-context names no cluster; set current-context`)
  const certificates: Certificates = {}
  await config.applyToHTTPSOptions(certificates)
  return {
    server: cluster.server.replace(/\/$/, ''),
    tls: tlsOptions(certificates, cluster),
    token: tokenSource(config.getCurrentUser(), kubeconfig),
  }
}

/** Returns the certificates that a connection presents and trusts. */
function tlsOptions(tls: Certificates, cluster: Cluster): Connection['tls'] {
  return {
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(cluster.skipTLSVerify ? { rejectUnauthorized: false } : {}),
  }
}

/** client-node knows token files only in the cluster's own form, so a kubeconfig's `tokenFile` is read from the file itself. */
function tokenSource(user: User | null, kubeconfig: string | undefined): () => string | undefined {
  const file = tokenFile(user, kubeconfig)
  if (file === undefined) return () => user?.token
  let token: string | undefined
  let readAt = 0
  return () => {
    if (Date.now() - readAt > tokenReadEveryMs) {
      token = readFileSync(file, 'utf8').trim()
      readAt = Date.now()
    }
    return token
  }
}

function tokenFile(user: User | null, kubeconfig: string | undefined): string | undefined {
  const provided = (user?.authProvider as { config?: { tokenFile?: string } } | undefined)?.config?.tokenFile
  if (provided !== undefined || kubeconfig === undefined) return provided
  const raw = parse(readFileSync(kubeconfig, 'utf8')) as { users?: { name: string; user?: { tokenFile?: string } }[] }
  const named = raw.users?.find((entry) => entry.name === user?.name)?.user?.tokenFile
  return named === undefined ? undefined : resolve(dirname(kubeconfig), named)
}
