import { fileURLToPath } from 'node:url'
import { Client, Connection, type ConnectionLike } from '@temporalio/client'
import type { DataConverter } from '@temporalio/common'
import type { ConnectOptions } from './credentials.ts'
import { withDeadlines } from './deadlines.ts'
import { EncryptionCodec, type WhenUnreadable } from './encryption.ts'
import type { TemporalSettings } from './settings.ts'

/** One cluster's Joiner in Temporal. */
export interface TemporalAccess {
  readonly client: Client
  readonly connection: Connection
  readonly address: string
  readonly namespace: string
  readonly cluster: string
  /** Whether nothing is to be asked for. */
  readonly isDry?: true
}

export const connectMs = 5000

const failureConverterPath = fileURLToPath(new URL('./failure-converter.ts', import.meta.url))

/**
 * Connects for a command, a test or a first look. Each call has a deadline. The connection is closed by the caller. Errors: `TemporalFileError`, and what gRPC says
 * (`explainTemporal` says what is behind it).
 */
export async function connectClient(settings: Pick<TemporalSettings, 'load'>): Promise<Connection> {
  return connectWith(settings.load())
}

/** As `connectClient`, with what was loaded already. */
export async function connectWith({ address, tls, apiKey, metadata }: ConnectOptions): Promise<Connection> {
  const connection = Connection.lazy({
    address,
    tls,
    ...(apiKey === undefined ? {} : { apiKey }),
    metadata: { ...metadata },
    connectTimeout: connectMs,
    // Connections of one process would share a socket that got no answer, or that was made with other certificates.
    channelArgs: { 'grpc.use_local_subchannel_pool': 1 },
  })
  try {
    await connection.ensureConnected()
    return withDeadlines(() => connection)
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** A client of Joiner's namespace, which encrypts and decrypts as the settings say. */
export function temporalClient(connection: ConnectionLike, settings: TemporalSettings, identity?: string): Client {
  return new Client({
    connection,
    namespace: settings.namespace,
    dataConverter: dataConverter(settings),
    ...(identity === undefined ? {} : { identity }),
  })
}

/** How payloads and failures are written to Temporal: as they are, or encrypted where there are keys. */
export function dataConverter(
  { keys }: Pick<TemporalSettings, 'keys'>,
  whenUnreadable: WhenUnreadable = 'throw',
): DataConverter {
  const payloadCodecs = [new EncryptionCodec(keys ?? new Map(), whenUnreadable)]
  return keys === undefined ? { payloadCodecs } : { payloadCodecs, failureConverterPath }
}

/**
 * Checks that the caller may use the namespace: Temporal's library has each worker describe it at its start, so who may not has no use for more. Errors:
 * what gRPC says.
 */
export async function checkNamespace(
  connection: Pick<ConnectionLike, 'workflowService' | 'withDeadline'>,
  namespace: string,
): Promise<void> {
  await connection.withDeadline(Date.now() + connectMs, () =>
    connection.workflowService.describeNamespace({ namespace }),
  )
}
