import { connect } from 'node:net'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { type Connection, readConnection } from '../../../activities/kubernetes/client/client-config.ts'
import { CommandError } from '../../document/reported-error.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { kubeconfigSource } from './cluster.ts'
import { installedSettings } from './joiner-settings.ts'
import { forward, serviceOf } from './port-forward.ts'

/** A Service's address is unknown to other machines' DNS at once, or nobody answers there. */
const answerMs = 2000

/** The environment that Temporal is reached by. */
export interface Reach {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the address comes from a cluster. */
  readonly isForeign: boolean
  /** Why nothing leads to the address that the cluster names. */
  readonly problem?: string
  /** The cluster's name, as Joiner's settings there say. */
  readonly cluster?: string
  readonly dispose: () => void
}

/** Who names an address or a profile, or has a key or a header to send, says where it goes: no address that others may write gets it. */
function isTold(environment: Readonly<Record<string, string | undefined>>): boolean {
  const own = ['TEMPORAL_ADDRESS', 'TEMPORAL_CONFIG_FILE', 'TEMPORAL_PROFILE', 'TEMPORAL_API_KEY']
  return Object.entries(environment).some(
    ([name, value]) => Boolean(value) && (own.includes(name) || name.startsWith('TEMPORAL_GRPC_META_')),
  )
}

/**
 * Finds out how Temporal is reached from here: as the options or the environment say, else by Joiner's settings in the cluster, through the API server
 * where the address that they name does not answer here. Errors: `CommandError` where these settings cannot be read.
 */
export async function reachTemporal(
  options: TemporalOptions,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Reach> {
  if (options.temporalAddress !== undefined || isTold(environment))
    return { env: environment, isForeign: false, dispose: () => undefined }
  const connection = await connectionOf(options)
  const client = KubernetesClient.of(connection)
  try {
    const { settings, notes, dispose } = await installedSettings(client, {
      namespace: options.joinerNamespace,
      deployments: ['joiner'],
      wanted: (name) => name.startsWith('TEMPORAL_') || name.startsWith('JOINER_TEMPORAL_') || name === 'CLUSTER_NAME',
    })
    for (const note of notes) console.error(`note: ${note}`)
    const env: Record<string, string | undefined> = { ...settings, ...environment }
    const cluster = settings['CLUSTER_NAME']
    const reach = { env, isForeign: true, ...(cluster ? { cluster } : {}) }
    try {
      const closeForward = await forwarded(client, connection, env)
      const end = () => {
        closeForward()
        dispose()
      }
      return { ...reach, dispose: end }
    } catch (error) {
      if (error instanceof CommandError) return { ...reach, dispose, problem: error.message }
      dispose()
      throw error
    }
  } finally {
    await client.close()
  }
}

/** Leads the address in `env` through the API server where it does not answer from here. Returns what ends that. */
async function forwarded(
  client: KubernetesClient,
  connection: Connection,
  env: Record<string, string | undefined>,
): Promise<() => void> {
  const address = env['TEMPORAL_ADDRESS'] ?? ''
  const service = serviceOf(address)
  const { context } = connection
  if (service === undefined || context === undefined || (await answers(address))) return () => undefined
  const { port, close } = await forward(client, { ...connection, context }, service)
  env['TEMPORAL_ADDRESS'] = `127.0.0.1:${port}`
  // The certificate is the Service's, not this machine's.
  if (isTls(env)) env['TEMPORAL_TLS_SERVER_NAME'] ??= address.slice(0, address.lastIndexOf(':'))
  return close
}

async function connectionOf(options: TemporalOptions) {
  try {
    return await readConnection(kubeconfigSource(options))
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(
      (error as Error).message,
      "Without a cluster, name Temporal's frontend by --temporal-address or TEMPORAL_ADDRESS.",
    )
  }
}

function isTls(env: Readonly<Record<string, string | undefined>>): boolean {
  return ['true', '1'].includes(env['TEMPORAL_TLS'] ?? '') || Boolean(env['TEMPORAL_API_KEY'])
}

/** Whether something listens there. */
function answers(address: string): Promise<boolean> {
  const at = address.lastIndexOf(':')
  return new Promise((resolve) => {
    const socket = connect({ host: address.slice(0, at), port: Number(address.slice(at + 1)), timeout: answerMs })
    const end = (isThere: boolean) => {
      socket.destroy()
      resolve(isThere)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
