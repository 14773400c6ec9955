import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { delimiter } from 'node:path'
import {
  asKubeconfig,
  type ChosenContext,
  impersonation,
  KubeconfigError,
  type KubeconfigSource,
  readKubeconfig,
} from './kubeconfig.ts'

/** Interval of reading a token again, from its file or its plugin: tokens are renewed well before they end. */
const tokenReadEveryMs = 5000
/** A plugin that opens a browser takes a while. */
const pluginMs = 60_000
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
  /** Sent with every request: whom it is made for. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** URL of a proxy that requests go through. */
  readonly proxy?: string
  /** The context's namespace. */
  readonly namespace?: string
  /** Undefined with the pod's own account. */
  readonly context?: ChosenContext
}

/**
 * Reads a kubeconfig, or the pod's own service account when nothing is named. Errors: a file that cannot be read, a context that names no cluster, a
 * plugin that fails, a process that is in no pod.
 */
export async function readConnection(source: string | KubeconfigSource | undefined): Promise<Connection> {
  if (source === undefined) return ownAccount(serviceAccountPath, process.env)
  const context = readKubeconfig(typeof source === 'string' ? { files: source.split(delimiter) } : source)
  const { cluster, user } = context
  const hasPlugin = user.exec !== undefined || user['auth-provider'] !== undefined
  const plugin = hasPlugin ? await credentialPlugin(context) : undefined
  const read = (file: string | undefined, data: string | undefined) => {
    if (data) return Buffer.from(data, 'base64')
    return file ? readFileSync(file) : undefined
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
    server: cluster.server,
    tls: { ...given, ...(isUnverified ? { rejectUnauthorized: false } : {}) },
    token: plugin?.token ?? tokenOf(user),
    headers: impersonation(user),
    ...(cluster['proxy-url'] ? { proxy: cluster['proxy-url'] } : {}),
    ...(context.namespace === undefined ? {} : { namespace: context.namespace }),
    context,
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

function tokenOf({ token, tokenFile }: ChosenContext['user']): Connection['token'] {
  return tokenFile ? fileToken(tokenFile) : () => token
}

function fileToken(file: string): Connection['token'] {
  let token: string | undefined
  // A clock that is set back would have it never read again.
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - readAt > tokenReadEveryMs) {
      token = readFileSync(file, 'utf8').trim()
      readAt = performance.now()
    }
    return token
  }
}

interface Plugin extends Pick<Connection, 'token'>, Pick<Connection['tls'], 'cert' | 'key'> {}

/**
 * The credentials of a kubeconfig that names a plugin, such as kubelogin. Only here the library is loaded: its models take 80 MiB, and no process in a
 * cluster needs them. It runs the plugin again when a token has expired. Errors: the plugin fails.
 */
async function credentialPlugin(context: ChosenContext): Promise<Plugin> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromString(asKubeconfig(context))
  const ask = async () => {
    const options: { cert?: string | Buffer; key?: string | Buffer; headers?: Record<string, string> } = {}
    await config.applyToHTTPSOptions(options)
    const token = /^Bearer (.*)$/.exec(options.headers?.['Authorization'] ?? '')?.[1]
    return { token, cert: options.cert, key: options.key }
  }
  const { token: first, cert, key } = await answered(context, ask())
  let token = first
  let askedAt = performance.now()
  const renewed = () => {
    if (performance.now() - askedAt > tokenReadEveryMs) {
      // A plugin that hangs is not started beside itself.
      askedAt = Number.POSITIVE_INFINITY
      // A failed plugin leaves the old token, which the API server then refuses with a message of its own.
      ask()
        .then(
          (answer) => {
            token = answer.token
          },
          () => undefined,
        )
        .finally(() => {
          askedAt = performance.now()
        })
    }
    return token
  }
  return { token: renewed, ...(cert && { cert }), ...(key && { key }) }
}

/** Waits for a plugin. The library keeps what it writes, so one that asks for a login would seem to hang. Errors: the plugin fails, or is silent. */
async function answered<T>({ name, user }: ChosenContext, asked: Promise<T>): Promise<T> {
  const what = `credential plugin ${user.exec?.command ?? user['auth-provider']?.name} of the context "${name}"`
  const run = 'run kubectl get nodes once, which shows what it asks for'
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const silent = new KubeconfigError(`the ${what} did not answer in ${pluginMs / 1000} s`, run)
    timer = setTimeout(() => reject(silent), pluginMs)
  })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    if (error instanceof KubeconfigError) throw error
    const message = (error as Error).message.trim()
    const hint = user.exec?.installHint?.trim() || 'install it (kubelogin: az aks install-cli), or put it on the PATH'
    throw message.endsWith('ENOENT')
      ? new KubeconfigError(`the ${what} is not installed: ${message}`, hint)
      : new KubeconfigError(`the ${what} failed: ${message}`, run)
  } finally {
    clearTimeout(timer)
  }
}
