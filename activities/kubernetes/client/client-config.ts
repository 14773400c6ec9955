import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'

/** Interval of reading a token again, from its file or its plugin: tokens are renewed well before they end. */
const tokenReadEveryMs = 5000
/** Where a pod finds its service account. */
const serviceAccountPath = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Address and credentials of a cluster. */
export interface Connection {
  readonly server: string
  /** Options of `tls.connect`. */
  readonly tls: {
    readonly ca?: string | Buffer
    readonly cert?: string | Buffer
    readonly key?: string | Buffer
    readonly servername?: string
    readonly rejectUnauthorized?: false
  }
  readonly token: () => string | undefined
}

/** The parts of a kubeconfig that are read here (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/). */
interface Kubeconfig {
  readonly 'current-context'?: string
  readonly contexts?: readonly { readonly name: string; readonly context?: { cluster?: string; user?: string } }[]
  readonly clusters?: readonly { readonly name: string; readonly cluster?: ClusterEntry }[]
  readonly users?: readonly { readonly name: string; readonly user?: UserEntry }[]
}

interface ClusterEntry {
  readonly server?: string
  readonly 'certificate-authority'?: string
  readonly 'certificate-authority-data'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'tls-server-name'?: string
}

interface UserEntry {
  readonly token?: string
  readonly tokenFile?: string
  readonly 'client-certificate'?: string
  readonly 'client-certificate-data'?: string
  readonly 'client-key'?: string
  readonly 'client-key-data'?: string
  readonly exec?: unknown
  readonly 'auth-provider'?: unknown
}

/**
 * Reads a kubeconfig, or the pod's own service account when no file is named. Errors: a file that cannot be read, a kubeconfig whose context names no
 * cluster, a process that is in no pod.
 */
export async function readConnection(kubeconfig: string | undefined): Promise<Connection> {
  if (kubeconfig === undefined) return ownAccount(serviceAccountPath, process.env)
  const { cluster, user } = currentEntries((parse(readFileSync(kubeconfig, 'utf8')) ?? {}) as Kubeconfig)
  if (cluster?.server === undefined)
    throw new Error(`kubeconfig ${kubeconfig}: current-context names no cluster; set current-context`)
  const hasPlugin = user.exec !== undefined || user['auth-provider'] !== undefined
  const plugin = hasPlugin ? await credentialPlugin(kubeconfig) : undefined
  const read = (file: string | undefined, data: string | undefined) => {
    if (data) return Buffer.from(data, 'base64')
    return file ? readFileSync(resolve(dirname(kubeconfig), file)) : undefined
  }
  const { 'tls-server-name': servername, 'insecure-skip-tls-verify': isUnverified = false } = cluster
  const tls = {
    ca: read(cluster['certificate-authority'], cluster['certificate-authority-data']),
    cert: plugin?.cert ?? read(user['client-certificate'], user['client-certificate-data']),
    key: plugin?.key ?? read(user['client-key'], user['client-key-data']),
    servername,
  }
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined))
  return {
    server: cluster.server.replace(/\/$/, ''),
    tls: { ...given, ...(isUnverified ? { rejectUnauthorized: false } : {}) },
    token: plugin?.token ?? tokenOf(user, kubeconfig),
  }
}

function currentEntries(config: Kubeconfig): { readonly cluster: ClusterEntry | undefined; readonly user: UserEntry } {
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context
  return {
    cluster: config.clusters?.find(({ name }) => name === context?.cluster)?.cluster,
    user: config.users?.find(({ name }) => name === context?.user)?.user ?? {},
  }
}

/** Returns the connection of a pod's own service account, whose token the kubelet renews. */
export function ownAccount(folder: string, environment: Readonly<Record<string, string | undefined>>): Connection {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment
  if (!host || !port)
    throw new Error(
      'KUBECONFIG is not set, and neither are KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, so this process is in no pod: set KUBECONFIG to a kubeconfig',
    )
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    tls: { ca: readFileSync(`${folder}/ca.crt`) },
    token: fileToken(`${folder}/token`),
  }
}

function tokenOf({ token, tokenFile }: UserEntry, kubeconfig: string): Connection['token'] {
  return tokenFile ? fileToken(resolve(dirname(kubeconfig), tokenFile)) : () => token
}

function fileToken(file: string): Connection['token'] {
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

interface Plugin extends Pick<Connection, 'token'>, Pick<Connection['tls'], 'cert' | 'key'> {}

/**
 * The credentials of a kubeconfig that names a plugin, such as kubelogin. Only here the library is loaded: its models take 80 MiB, and no process in a
 * cluster needs them. It runs the plugin again when a token has expired. Errors: the plugin fails.
 */
async function credentialPlugin(kubeconfig: string): Promise<Plugin> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const ask = async () => {
    const options: { cert?: string | Buffer; key?: string | Buffer; headers?: Record<string, string> } = {}
    await config.applyToHTTPSOptions(options)
    const token = /^Bearer (.*)$/.exec(options.headers?.['Authorization'] ?? '')?.[1]
    return { token, cert: options.cert, key: options.key }
  }
  const { token: first, cert, key } = await ask()
  let token = first
  let askedAt = Date.now()
  const renewed = () => {
    if (Date.now() - askedAt > tokenReadEveryMs) {
      askedAt = Date.now()
      // A failed plugin leaves the old token, which the API server then refuses with a message of its own.
      ask().then(
        (answer) => {
          token = answer.token
        },
        () => undefined,
      )
    }
    return token
  }
  return { token: renewed, ...(cert && { cert }), ...(key && { key }) }
}
