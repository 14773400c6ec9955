import { createServer, type Socket } from 'node:net'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Connection } from '../../../activities/kubernetes/client/client-config.ts'
import { asKubeconfig, type ChosenContext } from '../../../activities/kubernetes/client/kubeconfig.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { CommandError } from '../../document/reported-error.ts'

/** A port of a Service. */
export interface ServicePort {
  readonly namespace: string
  readonly service: string
  readonly port: number
}

/** A port of this machine that leads elsewhere. */
interface Forwarded {
  readonly port: number
  /** Lets no more connections through. */
  readonly close: () => void
}

interface Target {
  readonly pod: string
  readonly port: number
}

interface Slice {
  readonly ports?: readonly { readonly name?: string | null; readonly port?: number }[]
  readonly endpoints?: readonly {
    readonly conditions?: { readonly ready?: boolean }
    readonly targetRef?: { readonly kind?: string; readonly name?: string; readonly namespace?: string }
  }[]
}

/**
 * The Service that an address in the cluster names: NAME.NAMESPACE, NAME.NAMESPACE.svc or NAME.NAMESPACE.svc.DOMAIN, with a port. Undefined for all
 * other addresses.
 */
export function serviceOf(address: string): ServicePort | undefined {
  const parts = /^([a-z0-9-]+)\.([a-z0-9-]+)(\.svc(\.[a-z0-9.-]+)?)?:(\d+)$/.exec(address)
  if (parts === null) return undefined
  return { service: parts[1] ?? '', namespace: parts[2] ?? '', port: Number(parts[5]) }
}

/**
 * Opens a port of this machine whose connections lead through the API server to a ready pod of the Service, as kubectl port-forward does. The process
 * ends without closing it. Errors: `CommandError` when the Service has no ready pod, or the caller lacks a right.
 */
export async function forward(
  client: KubernetesClient,
  { context, token, headers }: Pick<Connection, 'token' | 'headers'> & { readonly context: ChosenContext },
  to: ServicePort,
): Promise<Forwarded> {
  const target = await targetOf(client, to)
  const { KubeConfig, PortForward } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  // What a plugin or a file gave is known already; the library reads no token files.
  const { exec: _exec, 'auth-provider': _provider, tokenFile: _file, ...user } = context.user
  const known = token()
  config.loadFromString(asKubeconfig({ ...context, user: { ...user, ...(known !== undefined && { token: known }) } }))
  const apply = config.applyToHTTPSOptions.bind(config)
  config.applyToHTTPSOptions = async (options) => {
    await apply(options)
    // The library knows of an impersonated user, and of no groups.
    options.headers = { ...options.headers, ...headers }
  }
  const forwarding = new PortForward(config, false)
  let isTold = false
  const failed = (error: unknown) => {
    // Temporal's client tries again and again.
    if (!isTold) console.error(`note: port-forward to pod ${to.namespace}/${target.pod} failed: ${textOf(error)}`)
    isTold = true
  }
  const open = (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    forwarding.portForward(to.namespace, target.pod, [target.port], socket, null, socket).then(
      (connection) => {
        const ws = typeof connection === 'function' ? connection() : connection
        ws?.on('close', () => socket.destroy())
        ws?.on('error', (error: unknown) => {
          socket.destroy()
          failed(error)
        })
        socket.on('close', () => ws?.close())
      },
      (error: unknown) => {
        socket.destroy()
        failed(error)
      },
    )
  }
  const server = createServer(open)
  await new Promise<void>((listening, refused) => {
    server.once('error', refused)
    server.listen(0, '127.0.0.1', listening)
  })
  server.unref()
  const { port } = server.address() as { readonly port: number }
  return { port, close: () => server.close() }
}

/** The library rejects with events of its WebSocket. */
function textOf(error: unknown): string {
  const { message } = error as { readonly message?: string }
  return message ?? String(error)
}

async function targetOf(client: KubernetesClient, { namespace, service, port }: ServicePort): Promise<Target> {
  const found = (await readable(client.get(resourcePath('services', service, namespace)))) as {
    readonly spec?: { readonly ports?: readonly { readonly name?: string; readonly port: number }[] }
  }
  const named = found.spec?.ports?.find((one) => one.port === port)
  if (named === undefined)
    throw new CommandError(`Service ${namespace}/${service} has no port ${port}; correct temporal.address`)
  const path = `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices`
  const { items } = await readable(client.list(path, { labelSelector: `kubernetes.io/service-name=${service}` }))
  for (const { ports, endpoints } of items as readonly Slice[]) {
    const own = ports?.find(({ name }) => (name ?? '') === (named.name ?? ''))?.port
    const ready = endpoints?.find(
      ({ conditions, targetRef }) => conditions?.ready !== false && targetRef?.kind === 'Pod',
    )
    if (own !== undefined && ready?.targetRef?.name !== undefined) return { pod: ready.targetRef.name, port: own }
  }
  throw new CommandError(
    `Service ${namespace}/${service} has no ready pod, so Temporal cannot be reached; kubectl get pods --namespace ${namespace}`,
  )
}

async function readable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    throw new CommandError(
      `Temporal's Service cannot be looked up, so it cannot be reached through the API server: ${(error as Error).message}. The rights that this needs are in docs/command-line.md; or name an address that answers from here by --temporal-address`,
    )
  }
}
